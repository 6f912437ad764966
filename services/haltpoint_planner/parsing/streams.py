"""A message that comes in the pieces of a stream, put together, with all that its provider put
beside words and calls.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from haltpoint.contracts.base import JsonObject

_NONE: Final = (None, "")
_PLACES: Final = ("id", "index")
_LABELS: Final = frozenset({"role", "type", "id", "format", "model", "name"})
"""Fields that some servers repeat in each piece."""


def put_together(chunks: Sequence[JsonObject], *, is_done: bool) -> JsonObject:
    """The completion whose chunks these are; `is_done`: the last event of its stream is there.
    An error behind the first words breaks the reply off; raises LookupError for one before them,
    and when there is no choice.
    """
    message: JsonObject = {"role": "assistant", "content": ""}
    choices: list[JsonObject] = []
    why = "" if is_done else "aborted"
    used: object = None
    for chunk in chunks:
        used = chunk.get("usage") or used
        choices += chunk.get("choices") or ()
    for choice in choices:
        why = choice.get("finish_reason") or why
        _add(message, choice.get("message") or choice.get("delta") or {})
    has_begun = any(message[part] for part in message.keys() - {"role"})
    is_error = bool(errors_in(chunks))
    if not choices or (is_error and not has_begun):
        raise LookupError
    whole = {"message": message, "finish_reason": "error" if is_error else why}
    return {"choices": [whole], "usage": used}


def errors_in(objects: Sequence[JsonObject]) -> list[JsonObject]:
    """Those that say that something is wrong, whatever the status says."""
    return [each for each in objects if each.get("error") or each.get("object") == "error"]


def _add(whole: JsonObject, piece: JsonObject) -> None:
    """Add a piece to what is there: texts continue, lists and objects are joined."""
    for name, value in piece.items():
        before = whole.get(name)
        if value in _NONE:
            whole.setdefault(name, value)
        elif isinstance(before, list) or isinstance(value, list):
            whole[name] = _with_items(_blocks(before), _blocks(value))
        elif isinstance(before, dict) and isinstance(value, dict):
            _add(before, value)
        elif isinstance(before, str) and isinstance(value, str):
            is_repeated = name == "id" or (name in _LABELS and value == before)
            whole[name] = before + ("" if is_repeated else value)
        else:
            whole[name] = value


def _blocks(value: Any) -> list[Any]:
    """A list as it is; words that come beside blocks are one."""
    return [{"type": "text", "text": value}] if isinstance(value, str) and value else value or []


def _with_items(items: list[Any], pieces: list[Any]) -> list[Any]:
    """A list with the next pieces of its items; what continues none is an item of its own."""
    for piece in pieces:
        begun = [item for item in items if _may_continue(piece, item)]
        begun.sort(key=lambda item: [piece.get(label) == item.get(label) for label in _PLACES])
        if begun:
            item = begun[-1]
            _add(item, piece)
        elif not any(_says_again(piece, item) for item in items):
            items = [*items, piece]
    return items


def _may_continue(piece: Any, item: Any) -> bool:
    """Whether a piece may be one of this item. Some servers give all items one index or id, or
    none, or each piece another: a piece with another type, or one that names a function behind a
    whole call, begins another; one that has arguments alone begins none.
    """
    if not (isinstance(piece, dict) and isinstance(item, dict)):
        return False
    function = piece.get("function") or {}
    name = function.get("name")
    if function.get("arguments") and not name:
        return True
    for label in (*_PLACES, "type"):
        known = item.get(label)
        if known not in _NONE and piece.get(label) not in (*_NONE, known):
            return False
    return not (name and _arguments(item) is not None and item["function"].get("name"))


def _says_again(piece: Any, item: Any) -> bool:
    """Whether a piece says a call with an id again, as the last chunk of some servers does: with
    its arguments, or without any.
    """
    whole = _arguments(item)
    if whole is None or not item.get("id") or item["id"] != piece.get("id"):
        return False
    return not piece["function"].get("arguments") or _arguments(piece) == whole


def _arguments(call: Any) -> JsonObject | None:
    """The arguments of a call, once they are whole; they may be JSON in JSON."""
    function = call.get("function") if isinstance(call, dict) else None
    value = (function or {}).get("arguments")
    with suppress(ValueError, RecursionError):
        while isinstance(value, str):
            value = json.loads(value)
    if isinstance(value, dict):
        return value
    return None
