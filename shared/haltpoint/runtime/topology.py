"""Where everything lies: partitions, keys, streams and consumer groups.

Redis Cluster runs a function on one slot only, so all keys of a chain bear the hash tag of its partition. The number
of partitions is chosen once per deployment and kept in Redis: a process that disagrees would look for chains where
they are not, so it is refused.
"""

import re
from binascii import crc_hqx
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Self

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from haltpoint.contracts.base import root_of, value
from haltpoint.contracts.catalogue import GROUP, Stream

_DEPLOYMENT: Final = "hp:{0}:deployment"
_STREAM_KEY: Final = re.compile(r"hp:\{(\d+)\}:((?:events|plans|humans|tools:.+))", re.DOTALL)


class TopologyError(Exception):
    """The deployment in Redis is not the one that this process was set up for; the message says what to do."""


@value
class Topology:
    """The names of all keys for one number of partitions (1 or more)."""

    partitions: int

    def partition(self, any_id: str) -> int:
        """The partition of a chain, action, request or thought: CRC16 of the root chain's id, mod P."""
        return crc_hqx(root_of(any_id).encode(errors="replace"), 0) % self.partitions

    def key(self, partition: int, *parts: str) -> str:
        """`hp:{partition}:` and the parts, joined by colons."""
        return f"hp:{{{partition}}}:{':'.join(parts)}"

    def key_of(self, kind: str, any_id: str) -> str:
        """The key of something by its id, as `key_of("chain", chain_id)`, in its own partition."""
        return f"hp:{{{self.partition(any_id)}}}:{kind}:{any_id}"

    def stream(self, partition: int, stream: Stream, queue: str = "") -> str:
        """The key of a work stream; `queue` names one of the tool workers' streams."""
        return self.key(partition, stream_name(stream, queue))

    async def ensure(self, redis: Redis, queues: Iterable[str] = ()) -> None:
        """Write P on the first call ever, then create all streams and groups at 0. Safe to repeat.

        Raises TopologyError when the deployment has another P.
        """
        await redis.hsetnx(_DEPLOYMENT, "partitions", str(self.partitions))
        await self.check(redis)
        names = [stream for stream in Stream if stream is not Stream.TOOLS]
        pipeline = redis.pipeline(transaction=False)
        for partition in range(self.partitions):
            for stream in names:
                key = self.stream(partition, stream)
                pipeline.xgroup_create(key, GROUP[stream], id="0", mkstream=True)
            for queue in queues:
                key = self.stream(partition, Stream.TOOLS, queue)
                pipeline.xgroup_create(key, GROUP[Stream.TOOLS], id="0", mkstream=True)
        for reply in await pipeline.execute(raise_on_error=False):
            if isinstance(reply, Exception) and not _exists_already(reply):
                raise reply

    async def check(self, redis: Redis) -> None:
        """Compare P with that of the deployment. Raises TopologyError when it differs or was never written."""
        found = await redis.hget(_DEPLOYMENT, "partitions")
        if found is None:
            raise TopologyError("nothing was set up on this Redis yet; run: haltpoint init")
        if int(found) != self.partitions:
            raise TopologyError(
                f"this deployment has {int(found)} partitions and this process was told {self.partitions}; "
                f"set HALTPOINT_PARTITIONS={int(found)} (the number can never change)"
            )


@value
class Place:
    """Where one entry of a work stream lies: partition, the stream's name inside it, the entry's id."""

    partition: int
    stream: str
    entry: str

    @classmethod
    def of(cls, key: str, entry: str) -> Self:
        """From a stream's key, as `hp:{3}:tools:contacts`, and an entry's id. Raises ValueError for other keys."""
        return cls(*_stream_of(key), entry)


@lru_cache(maxsize=4096)
def _stream_of(key: str) -> tuple[int, str]:
    match = _STREAM_KEY.fullmatch(key)
    if match is None:
        raise ValueError(f"{key!r} is not the key of a work stream")
    return int(match[1]), match[2]


def stream_name(stream: Stream, queue: str = "") -> str:
    """The name of a work stream inside its partition: `events`, `plans`, `humans` or `tools:<queue>`."""
    return f"{stream.value}:{queue}" if queue else stream.value


def _exists_already(reply: Exception) -> bool:
    return isinstance(reply, ResponseError) and str(reply).startswith("BUSYGROUP")
