"""What JSON says: calls, and words that a model wraps in it, `{"content": "It is done."}`. A person
reads these words.

Of an answer they are taken out only where nothing else of meaning would be lost: who asks for JSON
gets JSON.
"""

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any, Final

from haltpoint_planner.parsing.dialects import (
    CALLS,
    CONTENT,
    FINAL,
    as_call,
    fields,
    is_call,
    listed,
    plain,
    says_twice,
)
from haltpoint_planner.parsing.replies import message_in

_DEPTH: Final = 4
_SAYS_NOTHING: Final = (
    "nextstepdecision",
    "decision",
    "role",
    "type",
    "format",
    "language",
    "status",
    "success",
    "done",
    "final",
    "complete",
    "completed",
    "confidence",
    "thought",
    "thoughts",
    "thinking",
    "reasoning",
    "analysis",
)
"""Fields beside the words that a person does not miss."""


@dataclass(frozen=True, slots=True)
class Said:
    """What one JSON value says: words, calls as they are written, and whether it gives the step up.

    `twice`: one of the fields that matter is written twice.
    """

    words: list[str] = field(default_factory=list)
    calls: list[Any] = field(default_factory=list)
    gives_up: bool = False
    twice: bool = False


def said_in(value: object, tools: Container[str], *, alone: bool) -> Said | None:
    """What JSON says as a proposal or a call, or because it is all that is said; None when it is
    just data.
    """
    if is_call(value, tools):
        return Said(calls=[value])
    message = message_in(value)
    if message is not None and (message.content or isinstance(value, dict)):
        called = [{"tool": call.name, "arguments": call.arguments} for call in message.calls]
        return Said([message.content], called)
    if isinstance(value, list):
        return Said(calls=value) if any(is_call(item, tools) for item in value) else None
    if not isinstance(value, dict):
        return None
    named = fields(value)
    proposes = any(name in named for name in (*CALLS, "nextstepdecision")) or isinstance(
        named.get("content"), str
    )
    if (
        not proposes
        and plain(named.get("action")) != FINAL
        and not (alone and words_in(value) is not None)
    ):
        return None
    lists = [listed(named[name]) for name in CALLS if name in named]
    gives_up = str(named.get("nextstepdecision")).strip().lower() == "fail"
    twice = says_twice(value) or sum(map(bool, lists)) > 1
    return Said(_told(named, _DEPTH), [item for items in lists for item in items], gives_up, twice)


def words_in(value: object) -> str | None:
    """What a JSON object or list says, when it holds words and nothing else of meaning; None for
    data and calls.
    """
    return None if isinstance(value, str) else _words(value, _DEPTH)


def _told(named: dict[str, Any], depth: int) -> list[str]:
    """What the fields of an object say that hold words by their names, the likeliest first."""
    said = (_words(named[name], depth - 1) for name in _worded(named))
    return [words for words in said if words]


def _words(value: object, depth: int) -> str | None:
    if isinstance(value, str):
        return value
    if not depth or as_call(value) is not None:
        return None
    if (message := message_in(value)) is not None:
        return None if message.calls else message.content
    if not isinstance(value, dict):
        return None
    named = fields(value)
    full = {
        name
        for name, item in named.items()
        if item not in (None, "", [], {}) and name not in _SAYS_NOTHING
    }
    full -= {"action"} if plain(named.get("action")) == FINAL else set()
    told = _told(named, depth)
    return (
        "\n".join(told)
        if told and len(told) == len(full) and full.issubset(_worded(named))
        else None
    )


def _worded(named: dict[str, Any]) -> tuple[str, ...]:
    final = ("actioninput",) if plain(named.get("action")) == FINAL else ()
    return tuple(name for name in (*final, *CONTENT) if name in named)
