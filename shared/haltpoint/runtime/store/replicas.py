"""Waiting for replicas: what a process goes by, so many of them have (HALTPOINT_DURABILITY, R0)."""

import asyncio
from typing import Final

from haltpoint.contracts.base import value
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.topology import Topology

_PATIENCE: Final = 200
"""Milliseconds that a call waits for replicas at a time; others of the connection wait with it."""


@value
class Replicas:
    """The replicas of each partition's server; `wanted` of them have to have a write, 0: none."""

    calls: AutoPipeline
    topology: Topology
    wanted: int

    def have_all(self, partition: int) -> "asyncio.Future[bool]":
        """Ask now whether enough replicas have all that was called before on this partition; await
        the answer. A connection that breaks says no.
        """
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        if not self.wanted:
            answer.set_result(True)
            return answer

        def hear(replicas: "asyncio.Future[int]") -> None:
            if not answer.done():
                is_known = replicas.exception() is None
                answer.set_result(is_known and replicas.result() >= self.wanted)

        key = self.topology.key(partition, "events")
        asked = self.calls.on_replicas(key, self.wanted, _PATIENCE)
        asked.add_done_callback(hear)
        return answer
