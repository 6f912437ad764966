"""What a reply says: without what the model only thinks, and without calls that it only shows (C9), which are words: in
quotes or backticks, behind `>`, or with words behind them.

What a model makes up behind its call, as ReAct's or as a tool's response, counts as no words, nor do the marks around
a call. One in a broken text is a guess and not looked at. Linear, and never raises.
"""

import re
from typing import Final

from haltpoint_planner.parsing.only_calls import MARKERS, called_in
from haltpoint_planner.parsing.tagged import pieces

_THOUGHTS: Final = re.compile(
    r"<(think(?:ing)?|reasoning)>.*?(?:</\1>|\Z)|<\|channel\|>analysis<\|message\|>.*?(?:<\|end\|>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_THOUGHTS_BEFORE: Final = re.compile(r"\A.*</(?:think(?:ing)?|reasoning)>", re.DOTALL | re.IGNORECASE)
_TAG: Final = rf"(?:(?:`{{3,}}|~{{3,}})[\w-]*[ \t]*|{MARKERS}|</?[\w:.-]{{1,48}}>)"
_OPENING: Final = re.compile(rf"(?:{_TAG}\s*)*\Z")
_CLOSING: Final = re.compile(rf"(?:\s*{_TAG})*")
_NO_WORDS: Final = re.compile(rf"(?:{_TAG}|[\W_])*+")
_MADE_UP: Final = re.compile(r"<tool_response>.*", re.DOTALL)
_REACT: Final = re.compile(r"\s*\**Action\b")
_QUOTES: Final = frozenset("\"'`“”„«»‘‚")
_WINDOW: Final = 128  # characters before a call in which its tags are


def without_thoughts(text: str) -> str:
    """The text without what the model only thinks, also when an opening or closing tag is missing."""
    return _THOUGHTS_BEFORE.sub("", _THOUGHTS.sub("", text))


def without_shown(text: str) -> str:
    """The text without the calls that it only shows, and without the tags around them."""
    found = list(pieces(text))
    calls = [number for number, (_, _, one) in enumerate(found) if called_in(one) and not one.repaired]
    if not calls:
        return text
    ends, starts = [end for _, end, _ in found], [*(start for start, _, _ in found[1:]), len(text)]
    behind = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    end = _MADE_UP.sub("", "\n".join(behind[calls[-1] :]))
    all_shown = _has_words(end) and not _REACT.match(text, found[calls[-1]][0])
    kept, last = list[str](), 0
    for number in calls:
        start = found[number][0]
        tags = _OPENING.search(text, max(last, start - _WINDOW), start)
        start = tags.start() if tags else start
        line = text[text.rfind("\n", 0, start) + 1 : start].lstrip()
        if all_shown or line.startswith(">") or line[-1:] in _QUOTES or _has_words(behind[number].partition("\n")[0]):
            kept.append(text[last:start])
            last = _end_of(_CLOSING, text, ends[number])
    return "".join((*kept, text[last:]))


def _has_words(text: str) -> bool:
    return _end_of(_NO_WORDS, text) < len(text)


def _end_of(form: re.Pattern[str], text: str, position: int = 0) -> int:
    found = form.match(text, position)
    return found.end() if found else position
