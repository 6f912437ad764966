"""What a reply of the server means that is no answer: one table, for everything above it.

    OOM  NOREPLICAS  READONLY  UNBLOCKED  MISCONF  LOADING  BUSY  CLUSTERDOWN  MASTERDOWN  TRYAGAIN
    MOVED  ASK  Function not found  NOPERM  unknown command

The server has done nothing then, and does it later under the same words. So such a reply ends no
process: each connection (`connection.py`) raises RefusedForNow for it, and what can wait for a
server that is away can wait for a server that refuses. A function of the library is refused whole,
before its first line: the server asks its flags (lua/base.lua), and once a function has written it
refuses nothing more. Only a right that its user lacks ends it in its middle, so each service looks
for its rights before (service/rights.py).

docs/reference/refusals.md has what each caller does then.
"""

import re
from typing import Final

from redis.asyncio import Redis
from redis.exceptions import (
    AskError,
    BusyLoadingError,
    ClusterDownError,
    MasterDownError,
    MovedError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as RedisConnectionError

from haltpoint.runtime.streams.topology import Topology

MISSING: Final = "NOFUNCTION"
"""Our own code, as NOCOMMAND: the server has no word for it."""

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
    "NOPERM": ("its user lacks a right", "Load the users of deploy/acl"),
    "NOCOMMAND": (
        "it lacks a command",
        "Use Redis 7.0 or Valkey 7.2 or newer, and give no command another name",
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
    NoPermissionError: "NOPERM",
}
"""redis-py takes the code out of the words of these."""

_FOR_PEOPLE: Final = {
    "NOPERM": ("HP-025", "the user of this address lacks a right on the server"),
    "NOCOMMAND": ("HP-011", "the server lacks a command"),
}
"""What waiting does not end: a service does not start then."""

_CUT_SHORT: Final = re.compile(r"(ERR )?(ACL failure in script|The user executing the script)")
_UNKNOWN: Final = re.compile(r"(ERR )?unknown command")
_USER: Final = re.compile(r"User (\S+)")
_COMMAND: Final = re.compile(r"run the '(.+?)'")


class RefusedForNow(RedisConnectionError):  # noqa: N818 - it is no error but an outcome: ask again later
    """The server is there and refuses: `code` is its own, `why` and `fix` are for people. `lasts`:
    until a person changes something. `of_catalogue` and `what` are those of a HaltpointError.
    """

    def __init__(self, code: str, why: str = "", fix: str = "") -> None:
        usual = "HP-021", "the server refuses writes for now"
        usual_why, usual_fix = _REPLIES[code]
        self.code = code
        self.lasts = code in _FOR_PEOPLE
        self.of_catalogue, self.what = _FOR_PEOPLE.get(code, usual)
        self.why, self.fix = why or usual_why, fix or usual_fix
        super().__init__(f"{self.what}: {self.why} ({code})")


class CutShort(RedisConnectionError):  # noqa: N818 - as above
    """A function was refused in its middle: whether it did anything is not known."""


def lacking(user: str, why: str, right: str) -> RefusedForNow:
    """NOPERM: what the user may not do, and what would give it to them."""
    fix = f"A user of deploy/acl: load that file again; another: ACL SETUSER {user} {right}"
    return RefusedForNow("NOPERM", why, fix)


def meaning_of(error: Exception) -> Exception:
    """RefusedForNow or CutShort when the reply is of the table; else the error itself."""
    words = str(error)
    if _CUT_SHORT.match(words):
        return CutShort(words)
    code = _CODES.get(type(error)) or words.partition(" ")[0]
    if words.endswith("Function not found"):
        code = MISSING
    elif _UNKNOWN.match(words):
        code = "NOCOMMAND"
    if code not in _REPLIES:
        return error
    from haltpoint.runtime.observability import metrics  # it takes long, and no command counts

    metrics.REFUSALS.labels(code).inc()
    if code == "NOPERM":
        user, command = _USER.match(words), _COMMAND.search(words)
        right = f"+{command[1]} ~hp:*" if command else "~hp:*"
        return lacking(user[1] if user else "USER", words, right)
    return RefusedForNow(code, words.partition(",")[0] if code == "NOCOMMAND" else "")


async def try_to_write(redis: Redis, topology: Topology) -> None:
    """A write that changes nothing, in each partition. Raises RefusedForNow, and redis-py's
    errors.
    """
    pipeline = redis.pipeline(transaction=False)
    for key in topology.keys("nothing"):
        pipeline.setrange(key, 0, "")
    await pipeline.execute()
