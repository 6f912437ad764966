"""Logs the queues that no worker serves: at once, and again while that stays true."""

import time
from typing import Final

from redis.asyncio import Redis

from haltpoint.runtime.observability import logs
from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
from haltpoint.runtime.streams.topology import Topology
from haltpoint.runtime.views.queues import unserved

EVERY: Final = 5.0
_AGAIN_AFTER: Final = 60.0
"""Seconds between two looks, and between two lines about the same queue."""

_log = logs.get(__name__)


class Unattended:
    """When people hear again of which queue."""

    def __init__(self, redis: Redis, topology: Topology, catalogue: ToolCatalogue) -> None:
        self._redis = redis
        self._topology = topology
        self._catalogue = catalogue
        self._again: dict[str, float] = {}

    async def look(self) -> None:
        """Look once. Raises redis-py's errors."""
        now = time.monotonic()
        tools = await self._catalogue.read()
        queues = {
            found.queue: found
            for found in await unserved(self._redis, self._topology, tools.values())
        }
        for queue, found in queues.items():
            if now >= self._again.get(queue, 0):
                self._again[queue] = now + _AGAIN_AFTER
                _log.warning(str(found.error), code="HP-102", queue=queue)
        for queue in self._again.keys() - queues:
            del self._again[queue]
            _log.info("the queue is served again", queue=queue)
