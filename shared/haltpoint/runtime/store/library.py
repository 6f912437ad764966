"""The function library: every change of state that must be whole is one function of it.

The library's name carries its version, and so do the names of its functions, so that N and N+1 live
side by side while the services are replaced. Loaded by `haltpoint init`; a normal service only
checks.
"""

from functools import cache
from importlib.resources import files
from typing import Final

from redis.asyncio import Redis

from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.store.rows import ActionState, Data, Head, Key, Kind, Part
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
    """Load the library, over an older text of the same version if there is one. Safe to repeat: the
    same text is left alone, since a new one begins a term (lua/base.lua).
    """
    if await _loaded(redis) != source().encode():
        await redis.function_load(source(), replace=True)


async def check(redis: Redis) -> str:
    """What was seen: exactly this library is loaded. Raises HaltpointError HP-014."""
    loaded = await _loaded(redis)
    if loaded is None:
        raise _unfit("is not loaded")
    if loaded != source().encode():
        raise _unfit("is of another build")
    return f"the function library {NAME} is loaded"


async def _loaded(redis: Redis) -> bytes | None:
    """The text of the library on the server, if there is one."""
    reply = await redis.function_list(NAME, withcode=True)
    return reply[0][b"library_code"] if reply else None


def _unfit(problem: str) -> HaltpointError:
    why = "it was never loaded, or another version of Haltpoint loaded it"
    return HaltpointError(
        "HP-014", f"the function library {NAME} {problem}", why, "Run: haltpoint init"
    )


def _names() -> str:
    """The names of `rows` as Lua: PREFIX, KEY.CHAIN, HEAD.VERSION, ..."""
    lines = [f"local PREFIX = '{PREFIX}'"]
    for table, members in _NAMES.items():
        fields = ", ".join(f"{member.name} = '{member.value}'" for member in members)
        lines.append(f"local {table} = {{ {fields} }}")
    return "\n".join(lines)
