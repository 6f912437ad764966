"""Marks in words (CONTRACT F2): `[[send.1]]` stands for what the first action of step `send` did.

A mark names a step of the chain and a number, outside of code. Anything else in brackets is text: `if [[ -f x ]]`,
`[[1.5]]`, `[[Wiki]]`.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Container, Iterator
from typing import Final

from haltpoint.contracts.base import value

MOST_MARKS: Final = 100
"""Marks of one text that are looked at; what is behind them stays as it is."""

_MARK: Final = re.compile(r"\[\[([A-Za-z0-9_-]{1,64})\.([0-9]{1,6})\]\]")
_FENCED: Final = re.compile(r"(?ms)^ {0,3}(`{3,}|~{3,})[^\n]*(?:\n|\Z).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)")
# Within a paragraph, and bounded, so that no text takes more than a moment.
_SPAN: Final = re.compile(r"(?s)(?<!`)(`+)(?!`)(?:(?!\n[ \t]*\n).){1,2000}?(?<!`)\1(?!`)")
_END: Final = re.compile(r"[.!?…](?=\s)|[。！？]|\n")


@value
class Mark:
    """One mark and its place in the text."""

    step: str
    number: int
    start: int
    end: int

    @property
    def name(self) -> str:
        """What is between the brackets."""
        return f"{self.step}.{self.number}"


def marks_in(text: str, steps: Container[str]) -> list[Mark]:
    """The marks of a text, in their order."""
    if "[[" not in text:
        return []
    found = (Mark(one[1], int(one[2]), *one.span()) for one in _MARK.finditer(_without_code(text)))
    return [mark for mark in found if mark.step in steps][:MOST_MARKS]


def rendered(
    text: str, steps: Container[str], line_of: Callable[[Mark], str | None], unproven: str
) -> tuple[str, tuple[str, ...]]:
    """The text with the line of each mark in its place, and the sentences with a mark for which there is none.

    Such a mark is shown as `[send.1: unproven]`; the last word is `unproven`.
    """
    parts, done, length, false = [], 0, 0, []
    for mark in marks_in(text, steps):
        line = line_of(mark)
        before, shown = text[done : mark.start], f"[{mark.name}: {unproven}]" if line is None else line
        if line is None:
            false.append(length + len(before))
        parts += [before, shown]
        done, length = mark.end, length + len(before) + len(shown)
    whole = "".join((*parts, text[done:]))
    return whole, tuple(dict.fromkeys(_sentences_at(whole, false)))


def _sentences_at(text: str, places: list[int]) -> Iterator[str]:
    ends = [one.end() for one in _END.finditer(text)] if places else []
    for place in places:
        after = bisect_right(ends, place)
        start, end = ends[after - 1] if after else 0, ends[after] if after < len(ends) else len(text)
        yield text[start:end].strip()


def _without_code(text: str) -> str:
    """The text with its code blanked out, so that all else keeps its place: fenced blocks and spans in backticks."""
    return _SPAN.sub(_blank, _FENCED.sub(_blank, text))


def _blank(code: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", code[0])
