"""Marks in words (CONTRACT F2): `[[send.1]]` stands for what the first action of step `send` did.

They are checked when a model's words come, and rendered when these are delivered. A mark names a step of the chain and
a number, outside of code. Anything else in brackets is text: `if [[ -f x ]]`, `[[1.5]]`, `[[Wiki]]`.
"""

import re
from collections.abc import Callable, Container
from typing import Final

from haltpoint.chain.checks.deeds import deed_line
from haltpoint.chain.model import limits
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import action_id
from haltpoint.contracts.people.phrases import phrases
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction, Violation

MOST_MARKS: Final = 100  # of one text; what is behind them stays as it is

_FENCED: Final = r"^ {0,3}(?P<fence>`{3,}|~{3,})[^\n]*(?:\n|\Z)(?s:.*?)(?:^ {0,3}(?P=fence)[`~]*[ \t]*$|\Z)"
# Within a paragraph, and bounded, so that no text takes more than a moment.
_SPAN: Final = r"(?<!`)(?P<ticks>`+)(?!`)(?:(?!\n[ \t]*\n|\n {0,3}(?:```|~~~))(?s:.)){1,2000}?(?<!`)(?P=ticks)(?!`)"
_CODE_OR_MARK: Final = re.compile(
    rf"{_FENCED}|{_SPAN}|\[\[(?P<step>[A-Za-z0-9_-]{{1,64}})\.(?P<number>[0-9]{{1,6}})\]\]", re.MULTILINE
)
_ENDS: Final = re.compile(r"(?<=[.!?…])(?=\s)|(?<=[。！？\n])")

Mark = re.Match[str]


def marks_in(text: str, steps: Container[str]) -> list[Mark]:
    """The marks of a text, in their order: each has `step` and `number`."""
    found = _CODE_OR_MARK.finditer(text) if "[[" in text else ()
    return [mark for mark in found if mark["step"] in steps][:MOST_MARKS]


def rendered(
    text: str, steps: Container[str], line_of: Callable[[Mark], str | None], unproven: str
) -> tuple[str, tuple[str, ...]]:
    """The text with the line of each mark in its place, and the sentences with a mark for which there is none. Such a
    mark is shown as `[send.1: unproven]`; the last word is `unproven`.
    """
    parts, done, false = list[str](), 0, set[str]()
    for mark in marks_in(text, steps):
        line = line_of(mark)
        if line is None:
            false.add(line := f"{mark[0][1:-2]}: {unproven}]")
        parts += (text[done : mark.start()], line)
        done = mark.end()
    whole = "".join((*parts, text[done:]))
    sentences = (one.strip() for one in _ENDS.split(whole) if any(mark in one for mark in false))
    return whole, tuple(dict.fromkeys(sentences))


def false_marks(work: Work, index: int | None, words: str) -> tuple[Correction, ...]:
    """The marks that name no successful receipt, as one fault; where nobody counts (mode off) there is none."""
    marks = () if work.mode(index) is Mode.OFF else marks_in(words, work.graph.index)
    false = ", ".join(dict.fromkeys(mark[0] for mark in marks if _line_of(work, mark) is None))
    text = (
        f"{false[:300]}: no successful result of this chain has this mark. Copy marks from the results exactly as they "
        "are; where there is none, say in words that it was not done."
    )
    return (Correction(violation=Violation.FALSE_MARK, message=text),) if false else ()


def cite(work: Work, words: str) -> str:
    """The words as the user reads them; sentences whose marks prove nothing are noted as unproven."""
    own = phrases(limits.language(work.chain.task, work.world.policy))
    work.cited = any(_line_of(work, mark) is not None for mark in marks_in(words, work.graph.index))
    off = work.mode(None) is Mode.OFF
    text, unproven = rendered(
        words, work.graph.index, lambda mark: _line_of(work, mark) or (mark[0] if off else None), own.unproven
    )
    work.unproven = tuple(dict.fromkeys((*work.unproven, *unproven)))
    return text


def _line_of(work: Work, mark: Mark) -> str | None:
    """What the action did, if its receipt is a successful one."""
    action = work.actions.get(action_id(work.chain.id, mark["step"], int(mark["number"])))
    if action is None or action.outcome is None or not action.outcome.satisfies:
        return None
    told = action.outcome.metadata
    spec = work.world.tools.get(action.tool) or ToolSpec(name=action.tool)
    return told.deed.says if told.deed else deed_line(spec, told.arguments or action.arguments, action.data)
