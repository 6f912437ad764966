"""Words that a model wraps as JSON: `{"content": "It is done."}`. A person reads the words, and so does F1.

They are taken out only where nothing else of meaning would be lost: who asks for JSON gets JSON.
"""

from typing import Any, Final

from haltpoint_planner.parsing.dialects import CONTENT, FINAL, as_call, fields, plain
from haltpoint_planner.parsing.replies import message_in

_DEPTH: Final = 4
_SAYS_NOTHING: Final = (
    "nextstepdecision", "decision", "role", "type", "format", "language", "status", "success", "done", "final",
    "complete", "completed", "confidence", "thought", "thoughts", "thinking", "reasoning", "analysis",
)  # fmt: skip
"""Fields beside the words that a person does not miss."""


def words_in(value: object) -> str | None:
    """What a JSON object or list says, when it holds words and nothing else of meaning; None for data and calls."""
    return None if isinstance(value, str) else _words(value, _DEPTH)


def told_in(named: dict[str, Any], depth: int = _DEPTH) -> list[str]:
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
    full = {name for name, item in named.items() if item not in (None, "", [], {}) and name not in _SAYS_NOTHING}
    full -= {"action"} if plain(named.get("action")) == FINAL else set()
    told = told_in(named, depth)
    return "\n".join(told) if told and len(told) == len(full) and full.issubset(_worded(named)) else None


def _worded(named: dict[str, Any]) -> tuple[str, ...]:
    final = ("actioninput",) if plain(named.get("action")) == FINAL else ()
    return tuple(name for name in (*final, *CONTENT) if name in named)
