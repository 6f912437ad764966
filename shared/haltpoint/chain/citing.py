"""Words of a model that cite receipts (CONTRACT F2): checked when they come, rendered when they are delivered."""

from haltpoint.chain import policy
from haltpoint.chain.citations import Mark, marks_in, rendered
from haltpoint.chain.deeds import deed_line
from haltpoint.chain.work import Work
from haltpoint.contracts.base import action_id
from haltpoint.contracts.phrases import phrases
from haltpoint.contracts.tasks import Mode
from haltpoint.contracts.thoughts import Correction, Violation
from haltpoint.contracts.tools import ToolSpec


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
