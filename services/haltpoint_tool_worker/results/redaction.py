"""Words of a tool that a model or a person will read: one line, no secrets, no broken characters,
not too long.
"""

import re
from typing import Final

from haltpoint.contracts.secrets import without_secrets
from haltpoint.runtime.observability import logs

_REPLACED: Final = re.compile("[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f]")


def clean(text: str, limit: int) -> str:
    """`text` without what is private, without secrets and with lone surrogates and control
    characters replaced; at most `limit` characters, the last one an ellipsis when something was
    left out.
    """
    readable = _REPLACED.sub("\N{REPLACEMENT CHARACTER}", text[: 8 * limit])
    text = without_secrets(readable, logs.HIDDEN.get()())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def in_one_line(text: str, limit: int) -> str:
    """All words in one line, cleaned, up to a stack trace that they quote: models read none
    (E1).
    """
    words = without_secrets(text[: 8 * limit], logs.HIDDEN.get()())
    words = words.partition("Traceback (most recent call last)")[0]
    return clean(" ".join(words.split()), limit)
