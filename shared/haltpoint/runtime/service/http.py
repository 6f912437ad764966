"""HTTP as all services serve it: uvicorn inside our event loop, without its signal handlers; and
the health routes.
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Generator
from typing import Any, Final

import uvicorn
from faststream.asgi import AsgiFastStream, AsgiResponse, get
from prometheus_client import make_asgi_app

from haltpoint.runtime.config.addresses import url_of
from haltpoint.runtime.observability import metrics
from haltpoint.runtime.service.address import listen
from haltpoint.runtime.service.door import Door, for_own_names
from haltpoint.runtime.streams import refused

_OPEN_CONNECTIONS_MAY_TAKE: Final = 5
"""Seconds that answers under way have when the server stops."""


class HttpServer:
    """An ASGI application on a port. Port 0 takes a free one; `port` is the real one after `start`.

    `names` are those under which others reach it.
    """

    def __init__(
        self,
        app: Any,
        host: str,
        port: int,
        *,
        names: Collection[str] = (),
    ) -> None:
        self.host = host
        self.port = port
        self._server = _Server(
            uvicorn.Config(
                for_own_names(app, names),
                http=Door,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                timeout_graceful_shutdown=_OPEN_CONNECTIONS_MAY_TAKE,
                server_header=False,
                proxy_headers=False,
            )
        )
        self._task: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Its address for programs on this machine."""
        return url_of(self.host, self.port)

    async def start(self) -> None:
        """Listen. Raises HaltpointError HP-003 when the address cannot be used."""
        # From here on no client is refused: a connection before uvicorn is ready waits in the
        # queue.
        listener = listen(self.host, self.port)
        self.port = int(listener.getsockname()[1])
        self._task = asyncio.create_task(self._server.serve([listener]), name=f"http {self.port}")

    async def stop(self) -> None:
        """Take no new connections, finish the open answers, end. May be repeated."""
        task = self._task
        self._task = None
        if task is not None:
            self._server.should_exit = True
            await task


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """The service's own lifecycle handles signals."""
        yield


def health_app(is_ready: Callable[[], bool]) -> AsgiFastStream:
    """GET /livez: the event loop turns. /readyz: 200 when `is_ready`, else 503. /metrics:
    Prometheus text.
    """

    @get
    async def livez(_: Any) -> AsgiResponse:
        return AsgiResponse(b"alive\n", 200)

    @get
    async def readyz(_: Any) -> AsgiResponse:
        return AsgiResponse(b"ready\n", 200) if is_ready() else AsgiResponse(b"not ready\n", 503)

    # 0 of each: Prometheus sees a counter grow only from a sample before.
    for code in refused.CODES:
        metrics.REFUSALS.labels(code)
    return AsgiFastStream(
        asgi_routes=[("/livez", livez), ("/readyz", readyz), ("/metrics", make_asgi_app())],
        logger=None,
    )
