"""How verbs reach the server of the settings: those that look below the gateway."""

from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from haltpoint.cli.shell import Shell

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from haltpoint.runtime.streams.connection import AutoPipeline
    from haltpoint.runtime.streams.topology import Topology

T = TypeVar("T")


def wait(work: "Coroutine[Any, Any, T]") -> T:
    """The result; its module is slow to import."""
    import asyncio

    return asyncio.run(work)


@asynccontextmanager
async def opened(
    shell: Shell, patience: float = 0
) -> "AsyncGenerator[tuple[Redis, Topology, AutoPipeline]]":
    """A connection to it. Raises HaltpointError where it is out of reach."""
    from haltpoint.runtime.service.address import redis_url
    from haltpoint.runtime.streams.broker import UNREACHABLE
    from haltpoint.runtime.streams.connection import AutoPipeline, connect, unusable
    from haltpoint.runtime.streams.topology import Topology

    url = redis_url(shell.settings)
    try:
        async with connect(url) as redis, AutoPipeline(redis, patience=patience) as calls:
            yield redis, Topology(shell.settings.partitions), calls
    except UNREACHABLE as error:
        raise unusable(error, url) from error
