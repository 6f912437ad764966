"""A streamed chat completion (server-sent events), put together into the body of one that was not
streamed, with all that the provider put beside words and calls.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

DONE: Final = re.compile(rb"^data: ?\[DONE\]", re.MULTILINE)
"""The last event. Some servers keep the connection open behind it."""

_EVENTS: Final = re.compile(r"\ufeff?\s*(?:data|event|id|retry)?:")
_REPEATED: Final = frozenset({"role", "type", "id", "index", "format", "model"})
"""Fields of which each piece says all."""


def is_stream(text: str) -> bool:
    """Whether a body is a row of events, whatever its content type says."""
    return _EVENTS.match(text) is not None


def whole(text: str) -> dict[str, Any] | None:
    """The chat completion that the events make, or the `error` among them; None when they are none
    or break off.
    """
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    usage: Any = None
    finished: Any = None
    done = False
    for event in _events(text):
        done = event == "[DONE]"
        if done:
            break
        chunk = _object_in(event)
        if chunk is None:
            return None
        if chunk.get("error") or chunk.get("object") == "error":
            return chunk
        usage = chunk.get("usage") or usage
        for choice in chunk.get("choices") or ():
            if not choice.get("index"):
                finished = choice.get("finish_reason") or finished
                message = _joined(message, choice.get("delta") or choice.get("message") or {})
    if not done and finished is None:
        return None
    return {"choices": [{"message": message, "finish_reason": finished}], "usage": usage}


def _object_in(event: str) -> dict[str, Any] | None:
    try:
        value = json.loads(event)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _events(text: str) -> Iterator[str]:
    """The data of each event; its lines are joined."""
    text = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    for block in text.split("\n\n"):
        lines = [line[5:] for line in block.split("\n") if line.startswith("data:")]
        if lines:
            yield "\n".join(line.removeprefix(" ") for line in lines)


def _joined(before: Any, piece: Any, field: str = "") -> Any:
    """A value with the next piece of it: texts continue, lists and objects are joined."""
    if piece is None or piece == "":
        return before
    if isinstance(before, list) or isinstance(piece, list):
        return _with_items(_blocks(before), _blocks(piece))
    if isinstance(before, dict) and isinstance(piece, dict):
        names = dict.fromkeys((*before, *piece))
        return {name: _joined(before.get(name), piece.get(name), name) for name in names}
    if isinstance(before, str) and isinstance(piece, str) and field not in _REPEATED:
        is_again = field == "name" and before == piece
        return before if is_again else before + piece
    return piece


def _blocks(value: Any) -> list[Any]:
    """A list as it is; words that come beside blocks are one."""
    if isinstance(value, list):
        return value
    return [{"type": "text", "text": value}] if value else []


def _with_items(items: list[Any], pieces: list[Any]) -> list[Any]:
    """A list with the next pieces of its items; what continues none is an item of its own."""
    joined = list(items)
    for piece in pieces:
        place = _continued(joined, piece)
        if place is None:
            joined.append(piece)
        else:
            joined[place] = _joined(joined[place], piece)
    return joined


def _continued(items: list[Any], piece: Any) -> int | None:
    """The item that a piece continues: the last one of its index."""
    if not isinstance(piece, dict):
        return None
    for place in reversed(range(len(items))):
        item = items[place]
        if isinstance(item, dict) and item.get("index") == piece.get("index"):
            return None if _begins_another(item, piece) else place
    return None


def _begins_another(item: dict[str, Any], piece: dict[str, Any]) -> bool:
    """Whether a piece under the index of this item is no part of it: some servers give all items
    one index, or none.
    """
    if any(piece.get(name) not in (None, "", item.get(name)) for name in ("id", "type")):
        return bool(item.get("id") or item.get("type"))
    function = piece.get("function")
    is_named = isinstance(function, dict) and bool(function.get("name"))
    return is_named and (piece.get("index") is None or _is_whole(item))


def _is_whole(item: dict[str, Any]) -> bool:
    """Whether the arguments of a call have come to their end."""
    function = item.get("function")
    arguments = function.get("arguments") if isinstance(function, dict) else None
    return isinstance(arguments, str) and _object_in(arguments) is not None
