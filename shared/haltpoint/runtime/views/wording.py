"""Values and calls in a line of words."""

from json import JSONEncoder
from typing import Any, Final

_written: Final = JSONEncoder(ensure_ascii=False).encode


def call(tool: str, arguments: dict[str, Any], width: int = 48) -> str:
    """A call as one would write it; long values are cut."""
    written = []
    for name, value in arguments.items():
        text = value_text(value, width)
        written.append(f"{name}={text}")
    inside = ", ".join(written)
    return f"{tool}({inside})"


def value_text(value: Any, width: int) -> str:
    """A value as JSON, cut."""
    return cut(_written(value), width)


def cut(text: str, width: int) -> str:
    """At most so many characters of a text, with … where there were more."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def joined(*words: str | None) -> str:
    """The words that there are, with commas."""
    return ", ".join(filter(None, words))


def about(form: str, value: object) -> str:
    """A form filled in with a value, if there is one."""
    return form.format(value) if value else ""


def spaced(word: str) -> str:
    """A word of ours as people write it."""
    return word.replace("_", " ")
