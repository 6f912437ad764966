"""Which replies of the server mean "not now": one table, and one exception for everything above it.

    OOM  NOREPLICAS  READONLY  UNBLOCKED  MISCONF  LOADING  BUSY  CLUSTERDOWN  MASTERDOWN  TRYAGAIN
    MOVED  ASK  Function not found

The server has done nothing then, and does it later under the same words. So such a reply ends no
process: each connection (`connection.py`) raises RefusedForNow for it, and what can wait for a
server that is away can wait for a server that refuses. A function of the library is refused whole,
before its first line: the server asks its flags (lua/base.lua), and once a function has written it
refuses nothing more.
"""

from typing import Final

from redis.asyncio import Redis
from redis.exceptions import (
    AskError,
    BusyLoadingError,
    ClusterDownError,
    MasterDownError,
    MovedError,
    OutOfMemoryError,
    ReadOnlyError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as RedisConnectionError

from haltpoint.runtime.streams.topology import Topology

MISSING: Final = "NOFUNCTION"
"""Our own code: the server has no word for it."""

_REPLIES: Final = {
    "OOM": (
        "its memory is full",
        "Raise maxmemory on the server, or cancel chains: finished ones make room in time",
    ),
    "NOREPLICAS": (
        "fewer replicas are connected than min-replicas-to-write asks for",
        "Start its replicas again, or lower min-replicas-to-write",
    ),
    "READONLY": (
        "it is a read-only replica",
        "Wait for the failover to end; or give the address of the primary",
    ),
    "UNBLOCKED": (
        "it has become a replica",
        "Wait for the failover to end; or give the address of the primary",
    ),
    "MISCONF": (
        "it cannot save its data to disk",
        "Make room on the server's disk; its own log says what failed",
    ),
    "LOADING": ("it is loading its data", "Wait until it has loaded them"),
    "BUSY": (
        "a script on it does not end",
        "Wait; or end it on the server: FUNCTION KILL, SCRIPT KILL",
    ),
    "CLUSTERDOWN": ("its cluster is down", "Bring the nodes of the cluster up again"),
    "MASTERDOWN": (
        "it has lost its primary",
        "Wait for the failover to end; or start the primary again",
    ),
    "TRYAGAIN": ("its cluster moves keys", "Wait until they are moved"),
    "ASK": ("its cluster moves keys", "Wait until they are moved"),
    "MOVED": (
        "another node of its cluster has the keys",
        "Wait for a moment; or give the address as redis+cluster://HOST,HOST",
    ),
    MISSING: (
        "the function library is not loaded",
        "Wait until a service has loaded it; or run: haltpoint init",
    ),
}
"""Why a server refuses, in words, and what to do."""

CODES: Final = tuple(_REPLIES)
"""The codes of all refusals."""

_CODES: Final[dict[type[Exception], str]] = {
    OutOfMemoryError: "OOM",
    ReadOnlyError: "READONLY",
    BusyLoadingError: "LOADING",
    ClusterDownError: "CLUSTERDOWN",
    MasterDownError: "MASTERDOWN",
    TryAgainError: "TRYAGAIN",
    AskError: "ASK",
    MovedError: "MOVED",
}
"""redis-py takes the code out of the words of these."""


class RefusedForNow(RedisConnectionError):  # noqa: N818 - it is no error but an outcome: ask again later
    """The server is there and refuses: `code` is its own, `why` and `fix` are for people."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.why, self.fix = _REPLIES[code]
        super().__init__(f"the server refuses writes for now: {self.why} ({code})")


def refused_for_now(error: Exception) -> RefusedForNow | None:
    """The reply as RefusedForNow, when it is one of the table."""
    words = str(error)
    code = _CODES.get(type(error)) or words.partition(" ")[0]
    if words.endswith("Function not found"):
        code = MISSING
    if code not in _REPLIES:
        return None
    from haltpoint.runtime.observability import metrics  # it takes long, and no command counts

    metrics.REFUSALS.labels(code).inc()
    return RefusedForNow(code)


async def try_to_write(redis: Redis, topology: Topology) -> None:
    """A write that changes nothing, in each partition. Raises RefusedForNow, and redis-py's
    errors.
    """
    pipeline = redis.pipeline(transaction=False)
    for partition in range(topology.partitions):
        pipeline.setrange(topology.key(partition, "nothing"), 0, "")
    await pipeline.execute()
