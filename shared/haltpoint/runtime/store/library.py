"""The function library: every change of state that must be whole is one function of it.

The library's name has the digest of its text, and so have the names of its functions: that of
another release lives beside it while the services are replaced. Loaded by `haltpoint init`; a
service loads it again where it has gone, if it may: on a node that has joined a cluster, or after
FUNCTION FLUSH.
"""

from functools import cache
from importlib.resources import files
from typing import Final

from redis.asyncio import Redis

from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.store.rows import ActionState, Data, Head, Key, Kind, Part
from haltpoint.runtime.streams.presence import alive
from haltpoint.runtime.streams.servers.cluster import place_of, primaries
from haltpoint.runtime.streams.topology import LIBRARY, PREFIX, Topology

_DAY: Final = 86_400

_PARTS: Final = (
    "base",
    "actions",
    "recovery",
    "submit",
    "commit",
    "receipts",
    "thoughts",
    "inbox",
    "timers",
    "parked",
    "dead_letters",
    "consumers",
    "leases",
    "agents",
    "feedback",
    "limits",
    "effects",
)
"""Files in the order in which they are joined: a file uses the definitions of those before it."""

_NAMES: Final = {
    "KEY": Key,
    "HEAD": Head,
    "DATA": Data,
    "PART": Part,
    "STATE": ActionState,
    "KIND": Kind,
}
"""Tables of `rows` that stand before the files."""


@cache
def source() -> str:
    """The whole library as one Lua script, beginning with its `#!lua name=` line."""
    folder = files("haltpoint.runtime.store") / "lua"
    parts = [(folder / f"{part}.lua").read_text("utf-8") for part in _PARTS]
    return "\n".join((f"#!lua name={LIBRARY}", _names(), *parts))


async def install(redis: Redis, topology: Topology) -> None:
    """Load the library, create streams and groups, write the number of partitions, and remove
    libraries that no service uses. Raises HaltpointError as `Topology.ensure` does.
    """
    await load(redis)
    await topology.ensure(redis)
    await remove_unused(redis, topology)


async def load(redis: Redis) -> None:
    """Load the library on each server that has it not. Safe to repeat. Raises redis-py's
    NoPermissionError.
    """
    for server in await primaries(redis):
        if not await server.function_list(LIBRARY):
            await server.function_load(source(), replace=True)  # of two at once, none fails


async def check(redis: Redis) -> str:
    """What was seen: the library is loaded, on each server. Raises HaltpointError HP-014."""
    for server in await primaries(redis):
        if not await server.function_list(LIBRARY):
            what = f"the function library {LIBRARY} is not loaded on {place_of(server)}"
            why = "it was never loaded, or has been removed"
            raise HaltpointError("HP-014", what, why, "Run: haltpoint init")
    return f"the function library {LIBRARY} is loaded"


async def remove_unused(redis: Redis, topology: Topology) -> None:
    """Remove the libraries of releases of which no service is alive. None where one is that does
    not say what it uses.
    """
    used = {LIBRARY, *(service.get("library") for service in await alive(redis, topology))}
    if None in used:
        return
    for server in await primaries(redis):
        for library in await server.function_list("haltpoint_*"):
            name = library[b"library_name"].decode()
            if name not in used:
                await server.function_delete(name)
                await _forget(redis, topology, name)


async def _forget(redis: Redis, topology: Topology, library: str) -> None:
    """Let what it has counted go in a day, unless it is loaded again (`begin_term`)."""
    prefix = library.replace("haltpoint_", "hp") + "_"
    for key in (*topology.keys("seq", prefix), *topology.keys("terms", prefix)):
        await redis.expire(key, _DAY)


def _names() -> str:
    """The names of `rows` as Lua: PREFIX, KEY.CHAIN, HEAD.VERSION, ..."""
    lines = [f"local PREFIX = '{PREFIX}'"]
    for table, members in _NAMES.items():
        fields = ", ".join(f"{member.name} = '{member.value}'" for member in members)
        lines.append(f"local {table} = {{ {fields} }}")
    return "\n".join(lines)
