"""Which JSON object is a call, and by which names models call its fields (C9).

Names are compared without case and punctuation. A result, a declaration and plain data are no
calls, whatever they name; what can be read in two ways is marked as ambiguous.
"""

import re
from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Any, Final

CALLS: Final = ("toolcalls", "calls", "functioncalls", "tooluses")
_NAMES: Final = ("toolname", "tool", "function", "recipientname")
_NAMES_BESIDE_ARGUMENTS: Final = ("action", "name")  # of themselves they may be anything
_ARGUMENTS: Final = (
    "arguments",
    "parameters",
    "args",
    "input",
    "params",
    "toolinput",
    "actioninput",
)
_WRAPPERS: Final = ("functioncall", "function", "tooluse", "toolcall")
_PREFIXES: Final = re.compile(
    r"\A(?:functions|default_api)\."
)  # names as OpenAI's and Google's models write them
FINAL: Final = "finalanswer"  # LangChain's action that is none: its input is the answer to the user
_TYPES: Final = ("function", "tool_use", "tool_call", "function_call")
_BESIDE: Final = (
    "type",
    "id",
    "callid",
    "toolcallid",
    "content",
    "reasoning",
    "thought",
    "nextstepdecision",
    "stepid",
)
_OF_RESULTS: Final = (
    "success",
    "nextaction",
)  # a result that a model repeats is no call, whatever else it names
_KNOWN: Final = frozenset((*CALLS, *_NAMES, *_NAMES_BESIDE_ARGUMENTS, *_ARGUMENTS, *_WRAPPERS))
CONTENT: Final = (
    "content",
    "response",
    "answer",
    "finalanswer",
    "reply",
    "summary",
    "message",
    "text",
    "output",
    "result",
)
"""Fields that hold words by their names, the likeliest first."""


def plain(name: object) -> str:
    """A field's name as it is compared: `toolCalls`, `tool_calls` and `Tool-Calls` are the same."""
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


def fields(value: dict[str, Any]) -> dict[str, Any]:
    """The object with plain names; of two that become the same the first counts."""
    plainly: dict[str, Any] = {}
    for key, item in value.items():
        plainly.setdefault(plain(key), item)
    return plainly


def listed(value: object) -> list[object]:
    """A list of what may be given alone, or not at all."""
    return value if isinstance(value, list) else [] if value is None else [value]


def bare_name(name: str) -> str:
    """The tool's name without blanks around it and without the prefix that some models write."""
    return _PREFIXES.sub("", name.strip())


@dataclass(frozen=True, slots=True)
class WishedCall:
    """Tool and arguments as they are written. `ambiguous`: they are written twice and differ.
    `expected`: what the call is to bring. `bare`: it has no field for arguments.
    """

    name: str
    arguments: object
    ambiguous: bool
    expected: object = None
    bare: bool = False


def as_call(value: object, *, wrapped: bool = False) -> WishedCall | None:
    """The call that this object is in any known dialect; None when it is none."""
    if not isinstance(value, dict):
        return None
    named = fields(value)
    inner = (
        [] if wrapped else [named[name] for name in _WRAPPERS if isinstance(named.get(name), dict)]
    )
    if inner:
        call = as_call(inner[0], wrapped=True)
        beside = (
            len(inner) > 1
            or any(isinstance(named.get(name), str) for name in _NAMES)
            or _more_calls(named)
        )
        return replace(call, ambiguous=call.ambiguous or beside) if call else None
    arguments = [named[name] for name in _ARGUMENTS if name in named]
    names = [named[name] for name in _NAMES if isinstance(named.get(name), str)]
    if (
        names
        or wrapped
        or isinstance(next(iter(arguments), None), dict | str)
        or named.get("type") in _TYPES
    ):
        names += [
            named[name] for name in _NAMES_BESIDE_ARGUMENTS if isinstance(named.get(name), str)
        ]
    if not names or plain(names[0]) == FINAL or _is_no_call(named, wrapped=wrapped):
        return None
    twice = len(arguments) > 1 or any(name != names[0] for name in names) or says_twice(value)
    given, expected = arguments[0] if arguments else None, named.get("expected")
    return WishedCall(names[0], given, twice or _more_calls(named), expected, bare=not arguments)


def is_call(value: object, tools: Container[str]) -> bool:
    """Whether this object is a call: without a field for arguments only when its tool is known."""
    call = as_call(value)
    return call is not None and (not call.bare or bare_name(call.name) in tools)


def names_no_tool(value: object) -> bool:
    """Whether this object has the two keys of a call, and where its tool should stand is no name
    (C6).
    """
    named = fields(value) if isinstance(value, dict) else {}
    nameless = any(name in named and not isinstance(named[name], str | dict) for name in _NAMES)
    return nameless and any(name in named for name in _ARGUMENTS)


def _more_calls(named: dict[str, Any]) -> bool:
    return any(named.get(name) for name in CALLS)


def _is_no_call(named: dict[str, Any], *, wrapped: bool) -> bool:
    """Whether this is a result, a tool's declaration, an entry of a list (of hammers), or by its
    own word no call.
    """
    schema = named.get("parameters")
    declares = "description" in named and isinstance(schema, dict) and "properties" in schema
    listed = (
        not wrapped
        and not any(name in named for name in (*_ARGUMENTS, *_BESIDE, *CALLS))
        and len(named) > 1
    )
    return (
        declares
        or listed
        or any(name in named for name in _OF_RESULTS)
        or named.get("shouldcalltool") is False
    )


def says_twice(value: dict[str, Any]) -> bool:
    """Whether the object has one of the fields that matter under two spellings."""
    known = [name for name in map(plain, value) if name in _KNOWN]
    return len(set(known)) != len(known)
