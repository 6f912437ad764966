"""From what a model said to what it reads from a goal (C9, C12): beside the steps of a plan, or
alone. Total.
"""

from typing import Any, Final

from haltpoint.contracts.base import MAX_BODY
from haltpoint.contracts.work.bounds import Bounds
from haltpoint_planner.drafting import take_apart
from haltpoint_planner.exchange import Reply
from haltpoint_planner.parsing.dialects import bare_name, fields, listed
from haltpoint_planner.parsing.json_text import without_surrogates

_LISTS: Final = {
    "requiredtools": "required_tools",
    "optionaltools": "optional_tools",
    "askbefore": "ask_before",
    "forbidden": "forbidden",
}
_CONDITIONS: Final = "conditions"
_MOST: Final = 100  # entries of a list
_NAME: Final = 128  # characters
_WORDS: Final = 500  # characters of a condition


def draft_bounds(reply: Reply) -> Bounds | None:
    """The bounds in a reply; None when it holds none."""
    content = without_surrogates(reply.content)
    if len(content) > MAX_BODY:
        return None
    for found in take_apart(content).values:
        named = None if found.repaired else _bounds_in(found.value)
        if named is not None:
            return _read(named)
    return None


def _bounds_in(value: object) -> dict[str, Any] | None:
    """The object that has one of the lists: the value itself, or its `bounds`."""
    named = fields(value) if isinstance(value, dict) else {}
    if not named.keys().isdisjoint((*_LISTS, _CONDITIONS)):
        return named
    return _bounds_in(named["bounds"]) if "bounds" in named else None


def _read(named: dict[str, Any]) -> Bounds:
    lists = {name: tuple(_texts(named.get(key), _NAME)) for key, name in _LISTS.items()}
    tools = {name: tuple(map(bare_name, names)) for name, names in lists.items()}
    return Bounds(**tools, conditions=tuple(_texts(named.get(_CONDITIONS), _WORDS)))


def _texts(value: object, longest: int) -> list[str]:
    texts = [entry.strip() for entry in listed(value)[:_MOST] if isinstance(entry, str)]
    return [text[:longest] for text in texts if text]
