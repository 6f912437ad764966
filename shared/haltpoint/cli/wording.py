"""Words for terminals: nothing that a model or a tool wrote can do more there than be read."""

from collections.abc import Iterator
from textwrap import TextWrapper
from typing import Any

from haltpoint.chain.model.canonical import spelt_out
from haltpoint.contracts.base import JsonObject


def wrapped(text: str, width: int, indent: str) -> list[str]:
    """Lines of at most `width` columns, later ones behind `indent`; only between words, a longer
    word stays whole.
    """
    whole = TextWrapper(
        width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return whole.wrap(spelt_out(text))


def outline(value: Any, indent: str = "  ") -> Iterator[str]:
    """Each field that says something, under its name; what is inside of it below."""
    for name, inner in value.items():
        says_nothing = inner is None or inner is False
        if says_nothing or inner in ("", [], {}):
            continue
        below = _numbered(inner)
        if below:
            yield f"{indent}{name}:"
            yield from outline(below, f"{indent}  ")
        else:
            yield f"{indent}{name}: {_plain(inner)}"


def _numbered(value: Any) -> JsonObject:
    """An object as it is, and the objects of a list by their numbers; of anything else nothing."""
    if isinstance(value, list) and isinstance(value[0], dict):
        return {str(number): item for number, item in enumerate(value, 1)}
    return value if isinstance(value, dict) else {}


def _plain(value: Any) -> str:
    """A list with commas, and a number without the point of a whole one."""
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    if isinstance(value, dict):
        said = {name: inner for name, inner in value.items() if inner}
        return " ".join(f"{name}={_plain(inner)}" for name, inner in said.items())
    return " ".join(str(value).split()).removesuffix(".0")
