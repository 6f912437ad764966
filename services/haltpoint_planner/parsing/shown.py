"""What a reply says: without what the model only thinks, and without calls that it only shows (C9), which are words: in
quotes or backticks, behind `>`, or with words behind them. Its own calls are the last ones, with no words behind them.

What a model makes up behind its call, as ReAct's or as a tool's response, counts as no words, nor do the marks around
a call. One in a broken text is a guess and not looked at. Linear, and never raises.
"""

import re
from collections import Counter
from typing import Final

from haltpoint_planner.parsing.only_calls import MARKERS, called_in
from haltpoint_planner.parsing.tagged import Piece, pieces

_THOUGHTS: Final = re.compile(
    r"<(think(?:ing)?|reasoning)>.*?(?:</\1>|\Z)|<\|channel\|>analysis<\|message\|>.*?(?:<\|end\|>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_THOUGHTS_BEFORE: Final = re.compile(r"\A.*</(?:think(?:ing)?|reasoning)>", re.DOTALL | re.IGNORECASE)
_TAG: Final = rf"(?:(?:`{{3,}}|~{{3,}})[\w-]*[ \t]*|{MARKERS}|</?[\w:.-]{{1,48}}>)"
_OPENING: Final = re.compile(rf"(?:{_TAG}\s*)*\Z")
_CLOSING: Final = re.compile(rf"(?:\s*{_TAG})*")
_NO_WORDS: Final = re.compile(rf"(?:{_TAG}|[\W\d_])*+")
_MADE_UP: Final = re.compile(r"<tool_response>.*", re.DOTALL)
_REACT: Final = re.compile(r"\s*\**Action\b")
_QUOTES: Final = frozenset("\"'`“”„«»‘’‚")
_PAIRS: Final = ("“”", "„“", "„”", "«»", "»«", "‘’", "‚‘", "‚’")
_FENCE: Final = re.compile(r"`{3,}")
_WINDOW: Final = 128  # characters before a call in which its tags are

IN_DOUBT: Final = "the text shows a call: write a call that you make last, and one that you only show in quotes"
"""What the model hears where a call of a known tool is shown and may have been meant."""


def without_thoughts(text: str) -> str:
    """The text without what the model only thinks, also when an opening or closing tag is missing."""
    return _THOUGHTS_BEFORE.sub("", _THOUGHTS.sub("", text))


def without_shown(text: str) -> tuple[str, list[str]]:
    """The text without the calls that it only shows and the tags around them, and the tools of those in doubt.

    In doubt is whether a call is shown that stands outside of quotes, or in quotes beside which nothing is said.
    """
    found = list(pieces(text))
    calls = [number for number, (_, _, one) in enumerate(found) if called_in(one) and not one.repaired]
    if not calls:
        return text, []
    ends, starts = [end for _, end, _ in found], [*(start for start, _, _ in found[1:]), len(text)]
    behind = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    own = _first_own(text, found, calls, behind)
    in_quotes = _in_quotes([text[: found[0][0]], *behind])
    kept, last, bare, marked = list[str](), 0, list[str](), list[str]()
    for number in calls:
        start = found[number][0]
        tags = _OPENING.search(text, max(last, start - _WINDOW), start)
        start = tags.start() if tags else start
        line = text[text.rfind("\n", 0, start) + 1 : start].lstrip()
        quoted = in_quotes[number] or line.startswith(">") or line[-1:] in _QUOTES
        if quoted or number < own or _has_words(behind[number].partition("\n")[0]):
            (marked if quoted else bare).extend(called_in(found[number][2]))
            kept.append(text[last:start])
            last = _end_of(_CLOSING, text, ends[number])
    rest = "".join((*kept, text[last:]))
    return rest, bare if _has_words(rest) else bare + marked


def _first_own(text: str, found: list[Piece], calls: list[int], behind: list[str]) -> int:
    """The number of the first of the calls with no words between or behind them; without one, that of no call."""
    own = following = len(found)
    for number in reversed(calls):
        words = _has_words(_MADE_UP.sub("", "\n".join(behind[number:following])))
        if words and not _REACT.match(text, found[number][0]):
            return own
        own = following = number
    return own


def _in_quotes(prose: list[str]) -> list[bool]:
    """Of each piece between these texts: whether quotes are open before it that are closed behind it."""
    counts = [Counter(sign for sign in _FENCE.sub("", part) if sign in _QUOTES) for part in prose]
    total, before, found = sum(counts, Counter[str]()), Counter[str](), list[bool]()
    for count, behind in zip(counts, prose[1:], strict=False):
        before += count
        alike = any(before[sign] % 2 and total[sign] > before[sign] for sign in '"`')
        pairs = any(before[opening] > before[end] < total[end] for opening, end in _PAIRS)
        single = before["'"] > 0 and behind[_end_of(_CLOSING, behind) :].lstrip().startswith("'")
        found.append(alike or pairs or single)
    return found


def _has_words(text: str) -> bool:
    return _end_of(_NO_WORDS, text) < len(text)


def _end_of(form: re.Pattern[str], text: str, position: int = 0) -> int:
    found = form.match(text, position)
    return found.end() if found else position
