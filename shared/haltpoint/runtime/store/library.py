"""The function library: every change of state that must be whole is one function of it.

The library's name carries its version, and so do the names of its functions, so that N and N+1 live
side by side while the services are replaced. Loaded by `haltpoint init`; a service loads it again
where it has gone, if it may: on a node that has joined a cluster, or after FUNCTION FLUSH.
"""

from functools import cache
from importlib.resources import files
from typing import Final

from redis.asyncio import Redis

from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.store.rows import ActionState, Data, Head, Key, Kind, Part
from haltpoint.runtime.streams.servers.cluster import place_of, primaries
from haltpoint.runtime.streams.topology import FORM, PREFIX

NAME: Final = f"haltpoint_{FORM}"

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
    "dead_letters",
    "consumers",
    "parked",
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
    return "\n".join((f"#!lua name={NAME}", _names(), *parts))


async def load(redis: Redis) -> None:
    """Load the library on each server, over an older text of the same version if there is one. Safe
    to repeat: the same text is left alone, since a new one begins a term (lua/base.lua).
    """
    for server in await primaries(redis):
        if await _loaded(server) != source().encode():
            await server.function_load(source(), replace=True)


async def load_where_missing(redis: Redis) -> None:
    """Load the library on each server that has none of this version. Raises redis-py's
    NoPermissionError, and ResponseError when another service was quicker.
    """
    for server in await primaries(redis):
        if await _loaded(server) is None:
            await server.function_load(source())


async def check(redis: Redis) -> str:
    """What was seen: exactly this library is loaded, on each server. Raises HaltpointError
    HP-014.
    """
    for server in await primaries(redis):
        loaded = await _loaded(server)
        if loaded is None:
            raise _unfit("is not loaded", server)
        if loaded != source().encode():
            raise _unfit("is of another build", server)
    return f"the function library {NAME} is loaded"


async def _loaded(server: Redis) -> bytes | None:
    """The text of the library on a server, if there is one."""
    reply = await server.function_list(NAME, withcode=True)
    return reply[0][b"library_code"] if reply else None


def _unfit(problem: str, server: Redis) -> HaltpointError:
    what = f"the function library {NAME} {problem} on {place_of(server)}"
    why = "it was never loaded, or another version of Haltpoint loaded it"
    return HaltpointError("HP-014", what, why, "Run: haltpoint init")


def _names() -> str:
    """The names of `rows` as Lua: PREFIX, KEY.CHAIN, HEAD.VERSION, ..."""
    lines = [f"local PREFIX = '{PREFIX}'"]
    for table, members in _NAMES.items():
        fields = ", ".join(f"{member.name} = '{member.value}'" for member in members)
        lines.append(f"local {table} = {{ {fields} }}")
    return "\n".join(lines)
