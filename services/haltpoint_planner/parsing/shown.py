"""One reading of a reply, or none (C7, C9): its calls are made when nothing else is in it, or when
they end it, marked.

They are one block: between them is nothing but what a dialect of calls writes around them, behind
them nothing but tokens that models write next. Behind words they are made only with a dialect's own
marks, never as JSON in a fence. All other calls beside words are shown, as are those behind what
quotes: a sign, a line or a fence; and then none of the reply is made. Linear, and never raises.
"""

import re
from collections.abc import Callable, Container
from itertools import pairwise
from typing import Final

from haltpoint_planner.parsing.dialects import bare_name
from haltpoint_planner.parsing.json_text import Found
from haltpoint_planner.parsing.only_calls import MARKERS, QUOTES, called_in
from haltpoint_planner.parsing.python_calls import begun_call
from haltpoint_planner.parsing.tagged import pieces

_THOUGHTS: Final = re.compile(
    r"<(think(?:ing)?|reasoning)>.*?(?:</\1>|\Z)|<\|channel\|>analysis<\|message\|>.*?(?:<\|end\|>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_THOUGHTS_BEFORE: Final = re.compile(
    r"\A.*</(?:think(?:ing)?|reasoning)>", re.DOTALL | re.IGNORECASE
)

_CALL_TAG: Final = (
    r"</?(?:\w+:)?(?:tool|function|action|invoke|call|answer)(?:_?calls?|s)?\b[^<>\n]{0,64}>"
)
_TAG: Final = (
    rf"(?:(?:`{{3,}}|~{{3,}})[\w-]*[ \t]*|{MARKERS}|{_CALL_TAG}|\bfunctools\b|\**Action\**:\**)"
)
_QUOTE: Final = rf"{QUOTES}|<"
_LEAD: Final = rf"{_QUOTE}#=/\\(\[{{（［｛【〔〖〘〚⟨⟪❬❮❰≪＜〈《"
_CLOSING: Final = "⟩⟫❭❯❱≫＞〉》"
"""Brackets that quote: labels are closed before a call, and an angle that is not opened is a
prompt.
"""
_MARK: Final = rf"(?<![^\n])[ ]{{0,3}}(?:\d{{1,2}}[.)]|->|[^\w\s{_LEAD}>]{{1,8}})[ \t]"
_OPENING: Final = re.compile(
    rf"(?:{_MARK})?((?:(?:{_TAG}|-{{3}}\s*JSON_OUTPUT_START\s*-{{3}})\s*)*)\Z", re.IGNORECASE
)
_BETWEEN: Final = re.compile(rf"(?:{_TAG}|{_MARK}|[\s,;\]\[)(])*+", re.IGNORECASE)
_TOKEN: Final = rf"(?:(?!<\|im_start)(?:{_TAG}|\s))"
_BEHIND: Final = re.compile(
    rf"""{_TOKEN}*+ (?:Expected:[^\n]*+)?
      ( (?: {_TOKEN} | \b(?:END|OK|None|null)\b | \[/?INST\] | <!--[^>]*+> | </?s>
          | (?!-{{3}}\s*JSON_OUTPUT_END)[^\w\s{_QUOTE}{_CLOSING}>*] )*+
        (?: (?:Observation: | <tool_response> | <\|im_start\|>
            | -{{3}}\s*JSON_OUTPUT_END).* )? )""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_QUOTING: Final = re.compile(rf"\A(?:[ ]{{4}}|[ ]*[\t>|])|[{_LEAD}>][ \t]*\Z|\*\Z")
"""A line before a call that shows it: indented or marked as a citation, or with a sign at its end
that quotes.
"""

_FENCE: Final = re.compile(
    r"(`{3,}+|~{3,}+)(?!\s*+\1\w)(?:(?!\s*+\1).*?\1(?!\w)|(?:json|tool|function|xml).*|(.*))",
    re.DOTALL | re.IGNORECASE,
)
"""A fence up to its end, if it has one; else what it shows, unless it has the name of a dialect of
calls.
"""

_ACTION: Final = re.compile(r"[\s*]*Action[ \t*]*:", re.IGNORECASE)
_THOUGHT: Final = re.compile(r"\W*Thought\W{0,4}:", re.IGNORECASE)
"""ReAct's "Action:" is a common word: behind words it is a mark only where they begin as a
"Thought:".
"""

_REMARKS: Final = re.compile(r"(?<=[)\]])(?:\s*+#[^\n]*+)++")
_PYTHON: Final = re.compile(r"^[ \t]*\[?(?:print\(|await[ ])*+([A-Za-z_][\w.]*)\(", re.MULTILINE)
_WINDOW: Final = 128  # characters before a call in which its tags are

BESIDE_WORDS: Final = "it shows a call beside words"
MEANT: Final = (
    "if a call was meant, reply with nothing but the call; if not, send the same reply again"
)
"""What the model hears where its words show a call."""


def without_thoughts(text: str) -> str:
    """The text without what the model only thinks, also when an opening or closing tag is
    missing.
    """
    return _THOUGHTS_BEFORE.sub("", _THOUGHTS.sub("", text))


def read_calls(text: str, tools: Container[str]) -> tuple[str, list[str]]:
    """The text without the tokens behind its calls, and the tools of the calls that it only
    shows.
    """
    return read_pieces(text, lambda found: called_in(found, tools), marked=True)


def read_pieces(
    text: str, names_in: Callable[[Found], list[str]], *, marked: bool = False
) -> tuple[str, list[str]]:
    """The same of all pieces of a text in which names are; `marked`: behind words they need a
    dialect's marks. Those in a broken text are guesses and not looked at, when all are.
    """
    found = [
        (start, end, one, names) for start, end, one in pieces(text) if (names := names_in(one))
    ]
    if not found or all(one.repaired for _, _, one, _ in found):
        return text, []
    first, last = found[0][0], found[-1][1]
    opening = _OPENING.search(text, max(0, first - _WINDOW), first)
    before, marks = (text[: opening.start()], opening[1]) if opening else (text[:first], "")
    between = [text[end:start] for (_, end, *_), (start, *_) in pairwise(found)]
    behind = _BEHIND.fullmatch(text, last)
    line = before[before.rfind("\n") + 1 :]
    torn = line.strip() and any("\n" in gap for gap in between)
    cited = _QUOTING.search(line) or any(
        fence[2] is not None for fence in _FENCE.finditer(text, 0, first)
    )
    plain = _ACTION.match(text, first) is not None and _THOUGHT.match(before) is None
    bare = marked and (plain or not (found[0][2].tool or marks[:1].strip("`~")))
    shown = (bare and any(map(str.isalnum, before))) or (before.strip() and (torn or cited))
    if not shown and behind and all(map(_BETWEEN.fullmatch, between)):
        return text[: behind.start(1)], []
    return text, [name for *_, names in found for name in names]


def ends_in_python(text: str, tools: Container[str]) -> str | None:
    """The known tool that Python at the end of a text calls (C9), comments aside; None when it ends
    otherwise.

    A text that begins as code is an answer in code.
    """
    text = "" if text.startswith("```py") else text.rstrip("`\n ")
    starts = [line.start() for line in _PYTHON.finditer(text) if bare_name(line[1]) in tools]
    return begun_call(_REMARKS.sub("", text[starts[-1] :]), tools) if starts else None
