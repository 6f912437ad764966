"""How the planner reaches the servers of models: this machine directly, others as the proxies of
its shell say.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final, Self
from urllib.parse import urlsplit

import httpx

from haltpoint.runtime.config.addresses import is_this_machine
from haltpoint.runtime.config.errors import HaltpointError

_UNUSABLE: Final = "the proxy in front of the model's server cannot be used"
_INSTALL: Final = "Run: pip install 'httpx[socks]', or take it out of ALL_PROXY and HTTPS_PROXY"
_CORRECT: Final = "Correct HTTPS_PROXY, HTTP_PROXY or ALL_PROXY of the planner's environment"


class Connections:
    """The HTTP clients of a planner, open between `async with` and its end."""

    def __init__(self) -> None:
        self._direct = httpx.AsyncClient(transport=httpx.AsyncHTTPTransport())

        self._by_proxies: httpx.AsyncClient | None = None
        """Made for the first server that is not on this machine: a proxy that cannot be used stops
        nothing else.
        """

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._direct.aclose()
        if self._by_proxies is not None:
            await self._by_proxies.aclose()

    def to(self, base_url: str | None) -> httpx.AsyncClient:
        """The client for a server. Raises HaltpointError HP-302 when the shell names a proxy that
        cannot be used.
        """
        if goes_directly(base_url):
            return self._direct
        try:
            self._by_proxies = self._by_proxies or httpx.AsyncClient()
        except (ImportError, ValueError, httpx.InvalidURL) as error:
            fix = _INSTALL if isinstance(error, ImportError) else _CORRECT
            raise HaltpointError("HP-302", _UNUSABLE, str(error), fix) from error
        return self._by_proxies


def goes_directly(base_url: str | None) -> bool:
    """Whether no proxy leads to a server: it is on this machine, or there is none."""
    try:
        return base_url is None or is_this_machine(urlsplit(base_url).hostname or "")
    except ValueError:
        return False


@contextmanager
def without_proxies() -> Generator[None]:
    """For clients of others that read the environment when they are made: it names no proxies
    meanwhile.
    """
    names = [name for name in os.environ if name.lower().endswith("_proxy")]
    hidden = {name: os.environ.pop(name) for name in names}
    try:
        yield
    finally:
        os.environ.update(hidden)
