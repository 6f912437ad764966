"""One reading of a reply, or none (C7, C9): its calls are made when nothing else is in it, or when they end it.

Calls that end a reply are one block: between them is nothing but what a dialect of calls writes around them, behind
them nothing but tokens that models write next. A block behind words begins on a line of its own, or is on the line
of the words. All other calls beside words are shown, and then none of the reply is made. Linear, and never raises.
"""

import re
from collections.abc import Container
from itertools import pairwise
from typing import Final

from haltpoint_planner.parsing.dialects import bare_name
from haltpoint_planner.parsing.only_calls import MARKERS, called_in
from haltpoint_planner.parsing.python_calls import begun_call
from haltpoint_planner.parsing.tagged import pieces

_THOUGHTS: Final = re.compile(
    r"<(think(?:ing)?|reasoning)>.*?(?:</\1>|\Z)|<\|channel\|>analysis<\|message\|>.*?(?:<\|end\|>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_THOUGHTS_BEFORE: Final = re.compile(r"\A.*</(?:think(?:ing)?|reasoning)>", re.DOTALL | re.IGNORECASE)

_CALL_TAG: Final = r"</?(?:\w+:)?(?:tool|function|action|invoke|call|answer)(?:_?calls?|s)?\b[^<>\n]{0,64}>"
_TAG: Final = rf"(?:(?:`{{3,}}|~{{3,}})[\w-]*[ \t]*|{MARKERS}|{_CALL_TAG}|\bfunctools\b)"
_MARK: Final = r"(?<![^\n])[ ]{0,3}(?:[-*•✅]|\d{1,2}[.)])[ \t]"
_OPENING: Final = re.compile(rf"(?:{_MARK})?(?:(?:{_TAG}|-{{3}}\s*JSON_OUTPUT_START\s*-{{3}})\s*)*\Z", re.IGNORECASE)
_BETWEEN: Final = re.compile(rf"(?:{_TAG}|{_MARK}|[\s,;\]\[)(])*+", re.IGNORECASE)
_TOKEN: Final = rf"(?:(?!<\|im_start)(?:{_TAG}|\s))"
_BEHIND: Final = re.compile(
    rf"""{_TOKEN}*+ (?:Expected:[^\n]*+)?
      ( (?: {_TOKEN} | \b(?:END|OK|None|null)\b | \[/?INST\] | <!--[^>]*+> | </?s>
          | (?!-{{3}}\s*JSON_OUTPUT_END)[^\w\s"'`“”„«»‘’‚|<>*] )*+
        (?: (?:Observation: | <tool_response> | <\|im_start\|> | -{{3}}\s*JSON_OUTPUT_END).* )? )""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_OWN_LINE: Final = re.compile(r"(?:\A|\n)[ ]{0,3}\Z")
_SAME_LINE: Final = re.compile(r"[\w:.,;!?…)][ \t]*\Z")
_CODE: Final = re.compile(r"(?:`{3,}|~{3,})(?!\s*+[`~])(?!json|tool|function|xml)", re.IGNORECASE)
"""The fence of an answer in code, or of what is cited; those of a dialect of calls have its name."""

_PYTHON: Final = re.compile(r"^[ \t]*\[?(?:print\()?([A-Za-z_][\w.]*)\(", re.MULTILINE)
_WINDOW: Final = 128  # characters before a call in which its tags are

IN_DOUBT: Final = "it shows a call beside words; reply with nothing but the call to make it, or without a call"
"""What the model hears where a call of a known tool is shown and may have been meant."""


def without_thoughts(text: str) -> str:
    """The text without what the model only thinks, also when an opening or closing tag is missing."""
    return _THOUGHTS_BEFORE.sub("", _THOUGHTS.sub("", text))


def read_calls(text: str, tools: Container[str]) -> tuple[str, list[str]]:
    """The text without the tokens behind its calls, and the tools of the calls that it only shows.

    Calls in a broken text are guesses and not looked at, when all are.
    """
    found = [(start, end, one, names) for start, end, one in pieces(text) if (names := called_in(one, tools))]
    if not found or all(one.repaired for _, _, one, _ in found):
        return text, []
    first, last = found[0][0], found[-1][1]
    opening = _OPENING.search(text, max(0, first - _WINDOW), first)
    before = text[: opening.start() if opening else first]
    between = [text[end:start] for (_, end, *_), (start, *_) in pairwise(found)]
    behind = _BEHIND.fullmatch(text, last)
    own = _OWN_LINE.search(before) or (_SAME_LINE.search(before) and not any("\n" in gap for gap in between))
    begins = not before.strip() or (own and not _CODE.search(text, len(before), first))
    if begins and behind and all(map(_BETWEEN.fullmatch, between)):
        return text[: behind.start(1)], []
    return text, [name for *_, names in found for name in names]


def ends_in_python(text: str, tools: Container[str]) -> str | None:
    """The known tool that Python at the end of a text calls (C9); None in code, or when the text ends otherwise."""
    text = "" if "```py" in text else text.rstrip("`\n ")
    starts = [line.start() for line in _PYTHON.finditer(text) if bare_name(line[1]) in tools]
    return begun_call(text[starts[-1] :], tools) if starts else None
