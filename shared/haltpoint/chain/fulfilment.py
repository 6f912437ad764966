"""The end held against the intent (CONTRACT C12): an effect that is asked for has a deed, or the words say why not.

An effect with a condition never fails a chain. An error or a denial that was reported excuses one without.
"""

from typing import Final

from haltpoint.chain import policy
from haltpoint.chain.intent import MOST_QUOTED, effects_of, expected
from haltpoint.chain.state import PlanOrigin
from haltpoint.chain.words import succeeded
from haltpoint.chain.work import Work
from haltpoint.contracts.answers import NotDone, WhyNot
from haltpoint.contracts.tasks import Mode
from haltpoint.contracts.thoughts import Correction, Violation

_SHOWN: Final = 5  # marks, and tools, that a correction names


def unfulfilled(work: Work) -> tuple[NotDone, ...]:
    """The effects that the goal asks for without a deed or a reported error, the conditional ones too."""
    wanted = expected(work)
    settled = {*succeeded(work), *_failed(work)} if wanted else set[str]()
    return tuple(
        NotDone(tool=" or ".join(tools[:_SHOWN]), says=entry.words, why=WhyNot.UNFULFILLED, message=entry.when or "")
        for entry, tools in wanted
        if settled.isdisjoint(tools)
    )


def owes_effects(work: Work) -> bool:
    """Whether an effect that the goal asks for without a condition has no deed and no reported error yet."""
    return any(not one.message for one in unfulfilled(work))


def remind(work: Work) -> tuple[Correction, ...]:
    """What a strict chain still owes at its end, for the one time that the model is asked once more; then nothing."""
    owed = _owed(work)
    if not owed or work.intent is None or work.intent.reminded:
        return ()
    work.intent = work.intent.model_copy(update={"reminded": True})
    marks = ", ".join(f"[[{step}.{number}]] ({tool})" for step, number, tool in _receipts(work)[-_SHOWN:])
    last = "Call it now. Or, if" if work.origin is PlanOrigin.REACT else "It cannot be called any more. If"
    why = f" {last} a result shows that it is not needed, say so and cite it by its mark: {marks or 'none yet'}."
    return tuple(
        Correction(
            violation=Violation.UNFULFILLED,
            tool=one.tool.partition(" ")[0],
            message=f'The words "{one.says[:MOST_QUOTED]}" ask for {one.tool}, and it was not done.{why}',
        )
        for one in owed
    )


def falls_short(work: Work) -> str | None:
    """Why a strict chain fails although nothing else is left to do; None when it need not, or cites why not."""
    owed = _owed(work)
    if not owed or (work.intent is not None and work.intent.reminded and work.cited):
        return None
    return "; ".join(f'"{one.says[:MOST_QUOTED]}" asks for {one.tool}, and it was not done' for one in owed)


def _owed(work: Work) -> tuple[NotDone, ...]:
    if policy.mode(work.chain.task, None) is not Mode.STRICT:
        return ()
    return tuple(one for one in unfulfilled(work) if not one.message)


def _failed(work: Work) -> set[str]:
    actions = (one for one in work.actions.values() if one.outcome is not None and one.outcome.error is not None)
    return {name for action in actions for name in effects_of(work, action.tool)}


def _receipts(work: Work) -> list[tuple[str, int, str]]:
    """Step, number and tool of each successful receipt."""
    done = (one for one in work.actions.values() if one.outcome is not None and one.outcome.satisfies)
    return [(work.steps[action.step].id, action.number, action.tool) for action in done]
