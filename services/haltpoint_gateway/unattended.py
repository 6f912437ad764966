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
    """What was told of which queue."""

    def __init__(self, redis: Redis, topology: Topology, catalogue: ToolCatalogue) -> None:
        self._redis = redis
        self._topology = topology
        self._catalogue = catalogue
        self._told: dict[str, float] = {}

    async def look(self) -> None:
        """Look once. Raises redis-py's errors."""
        now = time.monotonic()
        found = await unserved(self._redis, self._topology, (await self._catalogue.read()).values())
        for one in found:
            if now - self._told.get(one.queue, -_AGAIN_AFTER) >= _AGAIN_AFTER:
                self._told[one.queue] = now
                _log.warning(str(one.error), code=one.error.code, queue=one.queue, steps=one.steps)
        for queue in self._told.keys() - {one.queue for one in found}:
            del self._told[queue]
            _log.info("the queue is served again", queue=queue)
