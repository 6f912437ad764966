"""Marks in words (CONTRACT F2): `[[send.1]]` stands for what the first action of step `send` did.

They are checked when a model's words come, and rendered when these are delivered.

A mark names a step of the chain and a number, outside of code. Anything else in brackets is text: `if [[ -f x ]]`,
`[[1.5]]`, `[[Wiki]]`.
"""

import re
from collections.abc import Callable, Container
from typing import Final

from haltpoint.chain import policy
from haltpoint.chain.deeds import deed_line
from haltpoint.chain.work import Work
from haltpoint.contracts.base import action_id, value
from haltpoint.contracts.phrases import phrases
from haltpoint.contracts.tasks import Mode
from haltpoint.contracts.thoughts import Correction, Violation
from haltpoint.contracts.tools import ToolSpec

MOST_MARKS: Final = 100
"""Marks of one text that are looked at; what is behind them stays as it is."""

_MARK: Final = re.compile(r"\[\[([A-Za-z0-9_-]{1,64})\.([0-9]{1,6})\]\]")
_FENCED: Final = re.compile(r"(?ms)^ {0,3}(`{3,}|~{3,})[^\n]*(?:\n|\Z).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)")
# Within a paragraph, and bounded, so that no text takes more than a moment.
_SPAN: Final = re.compile(r"(?s)(?<!`)(`+)(?!`)(?:(?!\n[ \t]*\n).){1,2000}?(?<!`)\1(?!`)")
_ENDS: Final = re.compile(r"(?<=[.!?…])(?=\s)|(?<=[。！？\n])")


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
    bare = _SPAN.sub(_blank, _FENCED.sub(_blank, text))  # code is blanked out, so that all else keeps its place
    found = (Mark(one[1], int(one[2]), *one.span()) for one in _MARK.finditer(bare))
    return [mark for mark in found if mark.step in steps][:MOST_MARKS]


def rendered(
    text: str, steps: Container[str], line_of: Callable[[Mark], str | None], unproven: str
) -> tuple[str, tuple[str, ...]]:
    """The text with the line of each mark in its place, and the sentences with a mark for which there is none.

    Such a mark is shown as `[send.1: unproven]`; the last word is `unproven`.
    """
    parts, done, false = list[str](), 0, set[str]()
    for mark in marks_in(text, steps):
        line = line_of(mark)
        if line is None:
            false.add(line := f"[{mark.name}: {unproven}]")
        parts += (text[done : mark.start], line)
        done = mark.end
    whole = "".join((*parts, text[done:]))
    sentences = (one.strip() for one in _ENDS.split(whole) if any(mark in one for mark in false))
    return whole, tuple(dict.fromkeys(sentences))


def _blank(code: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", code[0])


def false_marks(work: Work, index: int | None, words: str) -> tuple[Correction, ...]:
    """The marks that name no successful receipt, as one fault; where nobody counts (mode off) there is none."""
    if policy.mode(work.chain.task, None if index is None else work.steps[index]) is Mode.OFF:
        return ()
    false = [mark.name for mark in marks_in(words, work.graph.index) if _line_of(work, mark) is None]
    if not false:
        return ()
    names = ", ".join(f"[[{name}]]" for name in dict.fromkeys(false))
    text = (
        f"{names[:300]}: no successful result of this chain has this mark. Copy marks from the results exactly as they "
        "are; where there is none, say in words that it was not done."
    )
    return (Correction(violation=Violation.FALSE_MARK, message=text),)


def cite(work: Work, words: str) -> str:
    """The words as the user reads them; sentences whose marks prove nothing are noted as unproven."""
    own = phrases(policy.language(work.chain.task, work.world.policy))
    work.cited = any(_line_of(work, mark) is not None for mark in marks_in(words, work.graph.index))
    text, unproven = rendered(words, work.graph.index, lambda mark: _line_of(work, mark), own.unproven)
    work.unproven = tuple(dict.fromkeys((*work.unproven, *unproven)))
    return text


def _line_of(work: Work, mark: Mark) -> str | None:
    """What the action did, if its receipt is a successful one."""
    action = work.actions.get(action_id(work.chain.id, mark.step, mark.number))
    if action is None or action.outcome is None or not action.outcome.satisfies:
        return None
    told = action.outcome.metadata
    if told.deed is not None:
        return told.deed.says
    spec = work.world.tools.get(action.tool) or ToolSpec(name=action.tool)
    return deed_line(spec, told.arguments or action.arguments, action.data)
