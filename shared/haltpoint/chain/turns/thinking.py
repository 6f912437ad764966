"""What the model is asked (CONTRACT C7, D1): limits and deadline are checked here. `scheduling`
sends it.

A thought's id tells place, turn and attempt, and a planner answers an id once; so whatever is asked
again gets a new attempt. Plan and answer have turn 0 in their ids, so that no step's id can collide
with theirs.
"""

from typing import Any

from msgspec import structs

from haltpoint.chain.checks.agents import must_route
from haltpoint.chain.checks.promises import missing, offers_end
from haltpoint.chain.model import limits
from haltpoint.chain.model.needs import BOUNDS
from haltpoint.chain.model.outputs import Completed, Next, StepEnd, failed
from haltpoint.chain.model.references import read_json
from haltpoint.chain.model.state import Action, Failure
from haltpoint.chain.model.statuses import Code
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.ending import too_late
from haltpoint.chain.turns.strikes import complete_unmet, escalate, strikes_exhausted
from haltpoint.contracts.base import thought_id
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.people.phrases import count
from haltpoint.contracts.tools import ASK_HUMAN
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction, ThoughtKind, broken

RECEIPT_WIDTH = 2000
"""Characters of one result in an answer that is made of receipts."""

Corrections = tuple[Correction, ...]
Said = dict[str, Any]

# ---- what is asked
# --------------------------------------------------------------------------------------------------


def think_plan(
    work: Work,
    corrections: Corrections = (),
    previous: str | None = None,
    *,
    answered: str | None = None,
) -> Next:
    """A plan, or a better one; `answered`: a person's words to the question in the previous
    reply.
    """
    attempt = work.planning.attempts + 1
    if attempt > work.world.policy.max_chain_turns:
        return failed(Code.OVER_BUDGET, f"no plan after {count(work.planning.attempts, 'attempt')}")
    said = Said(corrections=corrections, previous=previous, answered=answered)
    return _spent(work) or thought(work, ThoughtKind.PLAN, "plan", attempt, **said)


def think_bounds(work: Work, corrections: Corrections = (), previous: str | None = None) -> Next:
    """What the goal asks of tools. The model sees no data of any tool then (C12)."""
    attempt = work.planning.attempts + 1
    said = Said(corrections=corrections, previous=previous)
    return _spent(work) or thought(work, ThoughtKind.BOUNDS, BOUNDS, attempt, **said)


def think_step(
    work: Work,
    index: int,
    corrections: Corrections = (),
    previous: str | None = None,
    *,
    again: bool = False,
) -> Next:
    """A step's next proposal; `again` asks for the same turn once more. A person decides when the
    row of strikes is full, or the turns of the step are used up (D2, D3). The end of the chain when
    its turns, tokens, money or time are.
    """
    step = work.steps[index]
    if work.mode(index) is Mode.STRICT and strikes_exhausted(work, index):
        case = work.row.case
        return escalate(
            work,
            index,
            f"it {broken(case[-1].violation, routing=False)}" if case else "too many strikes",
        )
    if turns_left(work, index) < 1 and work.mode(index) is Mode.STRICT:
        proposals = count(work.run[index].proposals, "proposal")
        return escalate(work, index, f"not complete after {proposals} of the model")
    if turns_left(work, index) < 1:
        return complete_unmet(work, index) if missing(work, index) else StepEnd(index)
    spent = _spent(work, step.id)
    if spent is not None:
        return spent
    run, due = work.edit(index), missing(work, index)
    run.corrected = run.corrected or bool(corrections)
    turn, attempt = run.turn + 1, run.attempt + 1 if again else 1
    return thought(
        work,
        ThoughtKind.ACT if due else ThoughtKind.REASON,
        step.id,
        attempt,
        turn,
        step_id=step.id,
        receipts=_receipts(work),
        corrections=corrections,
        previous=previous,
        due=due,
        may_end=offers_end(work, index, corrected=bool(corrections)),
        in_words=not due and turns_left(work, index) == 1,
        forced=must_route(work),
    )


def think_answer(work: Work, corrections: Corrections = (), previous: str | None = None) -> Next:
    """The words for the user, or better ones. When it is too late to ask, the receipts answer."""
    attempt = 1 if previous is None else int(previous.rpartition(".")[2]) + 1
    if _spent(work) is not None or attempt > work.world.policy.max_chain_turns:
        is_late = work.now >= work.deadline
        return Completed(
            stand_in(work, work.phrases.out_of_time if is_late else work.phrases.out_of_budget)
        )
    said = Said(corrections=corrections, previous=previous, receipts=_receipts(work))
    return thought(work, ThoughtKind.ANSWER, "answer", attempt, **said)


def thought(
    work: Work, kind: ThoughtKind, place: str, attempt: int, turn: int = 0, **said: Any
) -> ThoughtRequest:
    """One question to the model."""
    return ThoughtRequest(
        thought_id=thought_id(work.id, place, turn, attempt),
        kind=kind,
        turn=turn or 1,
        attempt=attempt,
        deadline=work.deadline,
        other_model=work.people.other_model,
        **said,
    )


def _receipts(work: Work) -> tuple[str, ...]:
    """The ids of all actions with a receipt, in the order of the plan."""
    found: list[str] = []
    for index, run in enumerate(work.run):
        numbers = [number for number in range(1, run.actions + 1) if number not in run.pending]
        found += [work.action_id(index, number) for number in numbers]
    return tuple(found)


# ---- what is left
# --------------------------------------------------------------------------------------------------


def turns_left(work: Work, index: int) -> int:
    """How many proposals a step may still ask for."""
    most = limits.max_turns(work.task, work.steps[index], work.world.policy)
    return most - work.run[index].proposals


def overspent(work: Work) -> Failure | None:
    """The end of a chain whose last thought has taken more tokens or money than there were: it is
    not acted on.
    """
    budget, spent = work.task.budget, work.spent_in_all()
    for name in ("tokens", "cost"):
        limit = getattr(budget, name)
        if limit is not None and getattr(spent, name) > limit:
            return failed(Code.OVER_BUDGET, f"the chain has used more than its budget of {name}")
    return None


def _spent(work: Work, step: str | None = None) -> Failure | None:
    """The end of a chain that has no tokens, money or time for a thought more; or no turns for one
    of a step.
    """
    turns = None if step is None else work.task.budget.turns
    budget = structs.replace(work.task.budget, actions=None, turns=turns)
    name = limits.used_up(budget, work.spent_in_all())
    if step is not None and work.spent.turns >= work.world.policy.max_chain_turns:
        name = "turns"
    if name:
        return failed(Code.OVER_BUDGET, f"the chain has used up its budget of {name}", step)
    return too_late(work)


# ---- without words
# --------------------------------------------------------------------------------------------------


def stand_in(work: Work, why: str) -> str:
    """What the user reads when the model gave no words: why, then each successful result in the
    order of the plan, that of an agent in its words.
    """
    lines = [f"{work.phrases.no_words}: {why}."]
    done = [
        action for action in work.actions.values() if action.satisfies and not action.told.repeats
    ]
    if done:
        lines.append(work.phrases.results)
    lines += [
        f"{action.told.below.agent or action.tool}: {_words_of(action)[:RECEIPT_WIDTH]}"
        for action in done
    ]
    return "\n".join(lines)


def _words_of(action: Action) -> str:
    """A result as people read it: the words of an agent, or of a person; else its data."""
    if not action.told.below.agent and action.tool != ASK_HUMAN:
        return action.data
    words = read_json(action.data).get("text" if action.told.below.agent else "answer")
    return words if isinstance(words, str) else action.data
