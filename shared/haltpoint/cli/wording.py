"""Words for terminals: nothing that a model or a tool wrote can do more there than be read."""

import json
import unicodedata
from textwrap import TextWrapper
from typing import Any


def call(tool: str, arguments: dict[str, Any], width: int = 48) -> str:
    """A call as one would write it; long values are cut, invisible characters made visible."""
    written = [f"{visible(name)}={value_text(value, width)}" for name, value in arguments.items()]
    return f"{visible(tool)}({', '.join(written)})"


def visible(text: str) -> str:
    """The same text with everything that a terminal would obey or hide written out."""
    return "".join(
        f"\\u{{{ord(c):x}}}"
        if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
        else c
        for c in text
    )


def wrapped(text: str, width: int, indent: str) -> list[str]:
    """Lines of at most `width` columns, later ones behind `indent`; only between words, a longer
    word stays whole.
    """
    whole = TextWrapper(
        width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return whole.wrap(text)


def value_text(value: Any, width: int) -> str:
    """A value as JSON, cut."""
    text = visible(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= width else f"{text[: width - 1]}…"
