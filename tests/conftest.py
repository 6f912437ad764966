"""One real server for each test process, empty before each test that asks for it."""

import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings
from redis import Redis as SyncRedis
from redis.asyncio import Redis

from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.store import library
from haltpoint.runtime.streams.connection import connect
from tests.support import empty, leftovers
from tests.support.reports import pytest_report_to_serializable

__all__ = ["pytest_report_to_serializable"]

leftovers.end_with_this_process()

# A shell starts what it runs in the background with Ctrl-C ignored, and children inherit that; our
# tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# structlog draws each traceback with all values of its frames, which takes a second.
_PLAIN = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
structlog.configure(processors=[*structlog.get_config()["processors"][:-1], _PLAIN])

# The gate draws the same examples each time, so it judges the change and not the draw; `make chaos`
# draws new ones. A slow machine, or the first draw of a text in a fresh clone, fails no test.
_ANY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", _ANY, derandomize=True)
settings.register_profile("new", _ANY, max_examples=400)
settings.load_profile("same")

# The tests say themselves what they want; only P is taken from whoever runs them.
for _name in [
    name
    for name in os.environ
    if name.startswith(("HALTPOINT_", "OTEL_")) and name != "HALTPOINT_PARTITIONS"
]:
    del os.environ[_name]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of an `xdist_group` share a process: pytest-xdist 3.8 puts the group's name into
    `_nodeid`, which pytest 9.2 does not read any more.
    """
    for item in items:
        named = getattr(item, "_nodeid", item.nodeid)
        item._id = type(item._id).parse(named)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """An embedded server with the function library, for the whole session of this process."""
    data: Path = tmp_path_factory.mktemp("server")
    with EmbeddedServer(data) as running:
        with SyncRedis.from_url(running.url) as client:
            client.function_load(library.source(), replace=True)
        yield running


@pytest.fixture
async def redis(server: EmbeddedServer) -> AsyncIterator[Redis]:
    """A client of the emptied server; replies are bytes."""
    async with connect(server.url) as client:
        await empty(client)
        yield client
