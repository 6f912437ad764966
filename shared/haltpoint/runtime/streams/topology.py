"""Where everything is: partitions, keys, streams and consumer groups.

Redis Cluster runs a function on one slot only, so all keys of a chain have the hash tag of its
partition. The number of partitions is chosen once per deployment and kept in Redis: a process that
disagrees would look for chains where they are not, so it is refused.
"""

import asyncio
import re
from binascii import crc_hqx
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from typing import Final, Self

from msgspec import Struct
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.base import root_of, value
from haltpoint.contracts.catalogue import GROUP, Stream
from haltpoint.contracts.people.phrases import count
from haltpoint.runtime.config.errors import HaltpointError

FORM: Final = "11"
"""The form of the rows (`store/rows.py`). A release that stores chains in another form refuses to
start while chains of this form are under way (HP-022).
"""


def _digest() -> str:
    """Of the texts that the function library is made of (`store/library.py`)."""
    store = files("haltpoint.runtime.store")
    functions = sorted(store.joinpath("lua").iterdir(), key=str)
    texts = [part.read_bytes() for part in (store / "rows.py", *functions)]
    return sha256(b"".join(texts)).hexdigest()[:8]


_BUILD: Final = f"{FORM}_{_digest()}"
LIBRARY: Final = f"haltpoint_{_BUILD}"
PREFIX: Final = f"hp{_BUILD}_"
"""The function library, and what the names of its functions begin with: of another text, another
name. So two releases live side by side while the services are replaced.
"""

_DEPLOYMENT: Final = "hp:{0}:deployment"
_STREAM_KEY: Final = re.compile(r"hp:\{(\d+)\}:((?:events|plans|humans|tools:.+))", re.DOTALL)


@value
class Topology:
    """The names of all keys for one number of partitions (1 or more)."""

    partitions: int

    def partition(self, any_id: str) -> int:
        """The partition of a chain, action, request or thought: CRC16 of the root chain's id, mod
        P.
        """
        return crc_hqx(root_of(any_id).encode(errors="replace"), 0) % self.partitions

    def key(self, partition: int, *parts: str) -> str:
        """`hp:{partition}:` and the parts, joined by colons."""
        return f"hp:{{{partition}}}:{':'.join(parts)}"

    def keys(self, *parts: str) -> list[str]:
        """The keys of these parts, one in each partition."""
        return [self.key(partition, *parts) for partition in range(self.partitions)]

    def key_of(self, kind: str, any_id: str) -> str:
        """The key of something by its id, as `key_of("chain", chain_id)`, in its own partition."""
        return f"hp:{{{self.partition(any_id)}}}:{kind}:{any_id}"

    def stream(self, partition: int, stream: Stream, queue: str = "") -> str:
        """The key of a work stream, `events` or `tools:<queue>` in its partition."""
        name = (stream.value, queue) if queue else (stream.value,)
        return self.key(partition, *name)

    async def ensure(self, redis: Redis, queues: Iterable[str] = ()) -> None:
        """Write P on the first call ever, then create all streams and groups at 0. Safe to repeat.

        Raises HaltpointError: HP-016 when the deployment has another P, HP-022 when chains are
        under way whose rows another release wrote.
        """
        await self.fits(redis)
        await redis.hsetnx(_DEPLOYMENT, "partitions", str(self.partitions))
        await self.check(redis)
        streams: list[tuple[Stream, str]] = [(Stream.TOOLS, queue) for queue in queues]
        streams += [(stream, "") for stream in Stream if stream is not Stream.TOOLS]
        groups = {
            self.stream(partition, *each): GROUP[each[0]]
            for each in streams
            for partition in range(self.partitions)
        }
        await asyncio.gather(redis.hset(_DEPLOYMENT, "rows", FORM), make_groups(redis, groups))

    async def restore(self, redis: Redis) -> None:
        """Write down again that the deployment is ours, whose server has lost it while we ran."""
        await redis.hsetnx(_DEPLOYMENT, "rows", FORM)
        await self.ensure(redis)

    async def check(self, redis: Redis) -> None:
        """Compare P with that of the deployment.

        Raises HaltpointError: HP-016 it differs, HP-015 there is none.
        """
        stored = await redis.hget(_DEPLOYMENT, "partitions")
        if stored is None:
            raise HaltpointError(
                "HP-015",
                "nothing was set up on this Redis",
                "it has no streams of Haltpoint",
                "Run: haltpoint init (haltpoint up does it for the embedded server); or "
                "correct the address",
            )
        self._compare(int(stored))

    async def fits(self, redis: Redis) -> str:
        """What was seen: the deployment is ours, or the server has no deployment yet. Raises
        HaltpointError as `ensure` does.
        """
        stored, form = await redis.hmget(_DEPLOYMENT, "partitions", "rows")
        self._compare(int(stored or self.partitions))
        # Where all of it is lost (R10), chains that are there have been begun again.
        is_ours = stored is None or form == FORM.encode()
        under_way = 0 if is_ours else await self._under_way(redis)
        if under_way:
            raise HaltpointError(
                "HP-022",
                f"this Redis has {count(under_way, 'chain')} of another release under way",
                "this release stores chains in another form and cannot continue them",
                "Run that release until they have ended, or cancel them; then start this one",
            )
        return f"it has {self.partitions} partitions, and no chain of another release is under way"

    def _compare(self, partitions: int) -> None:
        """We would look for chains in the wrong places."""
        if partitions != self.partitions:
            raise HaltpointError(
                "HP-016",
                f"the deployment has {partitions} partitions, this process {self.partitions}",
                "the number is chosen once: another one would look for chains in the wrong places",
                f"Set HALTPOINT_PARTITIONS={partitions}",
            )

    async def _under_way(self, redis: Redis) -> int:
        """How many chains are under way."""
        living = [status for status in ChainStatus if not status.final]
        pipeline = redis.pipeline(transaction=False)
        for partition in range(self.partitions):
            for status in living:
                pipeline.zcard(self.key(partition, "index", "status", status))
        return sum(await pipeline.execute())


async def make_groups(redis: Redis, groups: Mapping[str, str]) -> None:
    """The consumer group of each stream, which begins with it, unless it is there."""
    pipeline = redis.pipeline(transaction=False)
    for stream, group in groups.items():
        pipeline.xgroup_create(stream, group, id="0", mkstream=True)
    for reply in await pipeline.execute(raise_on_error=False):
        if isinstance(reply, ResponseError) and not str(reply).startswith("BUSYGROUP"):
            raise reply


class EntryRef(Struct, frozen=True, gc=False):
    """One entry of a work stream: partition, the stream's name inside it, the entry's id."""

    partition: int
    stream: str
    entry: str

    @classmethod
    def of(cls, key: str, entry: str) -> Self:
        """From a stream's key, as `hp:{3}:tools:contacts`, and an entry's id.

        Raises ValueError for other keys.
        """
        return cls(*_stream_of(key), entry)


@lru_cache(maxsize=4096)
def _stream_of(key: str) -> tuple[int, str]:
    match = _STREAM_KEY.fullmatch(key)
    if match is None:
        raise ValueError(f"{key!r} is not the key of a work stream")
    return int(match[1]), match[2]
