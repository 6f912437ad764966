"""From what a model said to what it reads from a goal (C9, C12): beside the steps of a plan, or alone. Total.

Known fields only, in any dialect. Whether the quotes are in the goal is for the chain to say.
"""

from collections.abc import Iterator
from typing import Any, Final, TypeGuard

import msgspec

from haltpoint.contracts.base import MAX_BODY
from haltpoint.contracts.work.intent import Intent, IntentEntry, IntentOrigin
from haltpoint_planner.drafting import take_apart
from haltpoint_planner.parsing.dialects import bare_name, fields, listed
from haltpoint_planner.parsing.json_text import without_surrogates
from haltpoint_planner.parsing.replies import Reply, dicts

_LISTS: Final = ("effectsasked", "askbefore", "forbidden")
_QUOTES: Final = (("words", "quote"), ("when", "condition"))
_MOST: Final = 20  # entries of a list, and tools of an entry
_WORDS: Final = 1000  # characters of a quote
_SIZE: Final = 64 * 1024  # characters: the message that carries it, with a plan, stays under MAX_BODY


def draft_intent(reply: Reply) -> Intent | None:
    """The intent in a reply; None when it holds none."""
    content = without_surrogates(reply.content)
    if len(content) > MAX_BODY:
        return None
    values = (found.value for found in take_apart(content).values if not found.repaired)
    lists = next(filter(None, map(_lists_in, values)), None)
    if lists is None:
        return None
    asked, before, forbidden = (tuple(_entries(lists.get(name))) for name in _LISTS)
    intent = Intent(effects_asked=asked, ask_before=before, forbidden=forbidden)
    return intent if len(msgspec.json.encode(intent)) <= _SIZE else None


def _lists_in(value: object) -> dict[str, Any] | None:
    """The fields of the object that has one of the lists: the value itself, or its `intent`."""
    named = fields(value) if isinstance(value, dict) else {}
    if not named.keys().isdisjoint(_LISTS):
        return named
    return _lists_in(named.get("intent")) if "intent" in named else None


def _entries(value: object) -> Iterator[IntentEntry]:
    for named in map(fields, dicts(value)[:_MOST]):
        given = filter(_says, listed(named.get("tools") or named.get("tool")))
        names = tuple(bare_name(each)[:128] for each in given)[:_MOST]
        words, when = (next(filter(_says, map(named.get, keys)), "")[:_WORDS] for keys in _QUOTES)
        if names and words:
            yield IntentEntry(tools=names, words=words, when=when or None, origin=IntentOrigin.GOAL)


def _says(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip())
