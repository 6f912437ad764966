"""Words of a tool that a model or a person will read: one line, no secrets, no broken characters,
not too long.
"""

import re
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Final

from haltpoint.contracts.secrets import STARS, without_secrets

PRIVATE: Final[ContextVar[Mapping[str, Any]]] = ContextVar("private", default=MappingProxyType({}))
"""What the task of the call gave to its tools alone (C15): in no words."""

_SHORTEST: Final = 6
"""Characters of a private text: a shorter one, such as `de` or a PIN, is in other words and numbers
by chance.
"""

_REPLACED: Final = re.compile("[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f]")


def clean(text: str, limit: int) -> str:
    """`text` without what is private, without secrets of known forms and with lone surrogates and
    control characters replaced; at most `limit` characters, the last one an ellipsis when something
    was left out.
    """
    text = without_secrets(
        _REPLACED.sub("\N{REPLACEMENT CHARACTER}", _without_private(text[: 8 * limit]))
    )
    return text if len(text) <= limit else text[: limit - 1] + "…"


def in_one_line(text: str, limit: int) -> str:
    """All words in one line, cleaned, up to a stack trace that they quote: models read none
    (E1).
    """
    words = _without_private(text[: 8 * limit]).partition("Traceback (most recent call last)")[0]
    return clean(" ".join(words.split()), limit)


def _without_private(text: str) -> str:
    """The text with stars in place of each line of a private text."""
    lines = {line for value in _texts(PRIVATE.get()) for line in map(str.strip, value.splitlines())}
    for line in sorted((line for line in lines if len(line) >= _SHORTEST), key=len, reverse=True):
        text = text.replace(line, STARS)
    return text


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(one)
