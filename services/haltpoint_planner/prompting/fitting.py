"""Values that are too long for a prompt, made shorter between their parts, with a mark that says
how much is missing. Pure.
"""

import json
import re
from typing import Any, Final

import msgspec

_LEAST: Final = 200
"""Characters of a text that is never cut: an id, a name, an address."""
_CUT_BEFORE: Final = re.compile(r" ?\[cut: (\d+) characters more\]\Z")
"""The mark of a worker, at the end of a text that was too long for it."""


def pretty(value: object) -> str:
    """JSON for a model to read, which cannot break out of its place in a chat template."""
    try:
        text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except ValueError:  # a lone surrogate
        text = json.dumps(value, ensure_ascii=False, indent=2)
    return text.replace("<|", "\\u003c|").replace("</", "\\u003c/")


def shortened(value: Any, room: int) -> Any:
    """The value in at most about so many characters as JSON; without marks when it fits."""
    if isinstance(value, str):
        return cut_text(value, room)
    if not isinstance(value, list | dict) or len(pretty(value)) <= room:
        return value
    names = value if isinstance(value, dict) else range(len(value))
    kept: dict[Any, Any] = {}
    for name in names:
        size = len(pretty(value[name]))
        if size <= room or min(size, room) > _LEAST:
            kept[name] = shortened(value[name], room)
        room -= size
        if room < 0:
            break
    missing = len(value) - len(kept)
    if isinstance(value, list):
        mark = [f"[cut: {missing} more items]"] if missing else []
        return [*kept.values(), *mark]
    if missing:
        kept["[cut]"] = f"{missing} more fields"
    return kept


def cut_text(text: str, room: int) -> str:
    """The beginning of a text, up to a blank where there is one, and how much more there was."""
    if len(text) <= max(room, _LEAST):
        return text
    whole, *before = _CUT_BEFORE.split(text)[:2]
    room = max(room, _LEAST)
    blank = whole.rfind(" ", room // 2, room)
    if blank > 0:
        room = blank
    kept = whole[:room]
    missing = len(whole) - len(kept) + sum(map(int, before))
    return f"{kept} [cut: {missing} more characters]"
