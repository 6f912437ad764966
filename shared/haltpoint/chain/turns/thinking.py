"""What the model is asked (CONTRACT C7, D1): limits and deadline are checked here. `scheduling`
sends it.

A thought's id tells place, turn and attempt, and a planner answers an id once; so whatever is asked
again gets a new attempt. Plan and answer have turn 0 in their ids, so that no step's id can collide
with theirs.
"""

from typing import Any, Final

from msgspec import structs

from haltpoint.chain.checks.agents import must_route
from haltpoint.chain.checks.promises import missing, offers_end
from haltpoint.chain.model.outputs import Completed, Next, StepEnd, failed
from haltpoint.chain.model.references import read_json
from haltpoint.chain.model.statuses import Code
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.gate import over_budget
from haltpoint.chain.turns.strikes import escalate, strikes_exhausted
from haltpoint.contracts.base import thought_id
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.people.phrases import count
from haltpoint.contracts.tools import ASK_HUMAN
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction, ThoughtKind

RECEIPT_WIDTH = 2000
"""Characters of one result in an answer that is made of receipts."""

_OF_WORDS: Final = ("tokens", "cost")
"""The parts of a budget that each thought uses."""

Corrections = tuple[Correction, ...]

# ---- what is asked
# --------------------------------------------------------------------------------------------------


def think_ahead(work: Work, kind: ThoughtKind, corrections: Corrections = ()) -> Next:
    """A plan, or what the goal asks of tools (C12): before the model sees data of any tool."""
    attempts = work.attempts
    if attempts >= work.world.policy.max_chain_turns:
        return failed(Code.OVER_BUDGET, f"no plan after {count(attempts, 'attempt')}")
    return over_budget(work, *_OF_WORDS) or thought(work, kind, attempts + 1, corrections)


def think_step(
    work: Work,
    index: int,
    corrections: Corrections = (),
    *,
    again: bool = False,
) -> Next:
    """A step's next proposal; `again` asks for the same turn once more. A person decides when the
    row of strikes is full, or the turns of the step are used up (D2, D3). The end of the chain when
    its turns, tokens, money or time are.
    """
    step = work.steps[index]
    run = work.run[index]
    due = missing(work, index)
    most = work.task.max_turns or work.world.policy.max_turns
    left = min(step.max_turns or most, most) - run.proposals
    is_strict = work.mode(index) is Mode.STRICT
    if is_strict and strikes_exhausted(work, index):
        return escalate(work, index, "too many violations in a row")
    if left < 1:
        words = f"not complete after {count(run.proposals, 'proposal')} of the model"
        return escalate(work, index, words) if is_strict else StepEnd(index)
    most = work.world.policy.max_chain_turns
    spent = over_budget(work, "turns", *_OF_WORDS, step_id=step.id, most=most)
    if spent is not None:
        return spent
    turn = run.turn if again else run.turn + 1
    attempt = run.attempt + 1 if again else 1
    return thought(
        work,
        ThoughtKind.ACT if due else ThoughtKind.REASON,
        attempt,
        corrections,
        step_id=step.id,
        turn=turn,
        previous=work.acted_on(index),
        receipts=_receipts(work),
        due=due,
        may_end=offers_end(work, index, corrected=bool(corrections)),
        in_words=not due and left == 1,
        forced=must_route(work),
    )


def think_answer(work: Work, corrections: Corrections = ()) -> Next:
    """The words for the user, or better ones. When it is too late to ask, the receipts answer."""
    attempt = 1 + int((work.thought or "0").rpartition(".")[2])
    phrases = work.phrases
    if work.now >= work.deadline:
        return Completed(stand_in(work, phrases.out_of_time))
    if over_budget(work, *_OF_WORDS) or attempt > work.world.policy.max_chain_turns:
        return Completed(stand_in(work, phrases.out_of_budget))
    return thought(work, ThoughtKind.ANSWER, attempt, corrections, receipts=_receipts(work))


def thought(
    work: Work,
    kind: ThoughtKind,
    attempt: int,
    corrections: Corrections = (),
    *,
    step_id: str | None = None,
    turn: int = 0,
    previous: str | None = None,
    **said: Any,
) -> ThoughtRequest:
    """One question to the model, of a step or of the chain: with what was wrong with the one
    before.
    """
    place = step_id or kind.value
    if corrections:
        work.people = structs.replace(work.people, corrected=True)
        previous = previous or thought_id(work.id, place, turn, attempt - 1)
    return ThoughtRequest(
        thought_id=thought_id(work.id, place, turn, attempt),
        kind=kind,
        step_id=step_id,
        turn=turn or 1,
        attempt=attempt,
        corrections=corrections,
        previous=previous if corrections else None,
        deadline=work.deadline,
        other_model=work.people.other_model,
        **said,
    )


def _receipts(work: Work) -> tuple[str, ...]:
    """The ids of all actions with a receipt, in the order of the plan."""
    actions = work.actions.values()
    return tuple(
        action.id for action in actions if action.number not in work.run[action.step].pending
    )


# ---- without words
# --------------------------------------------------------------------------------------------------


def stand_in(work: Work, why: str) -> str:
    """What the user reads when the model gave no words: why, then each successful result in the
    order of the plan: the words of an agent, or of a person, else its data.
    """
    lines = [f"{work.phrases.no_words}: {why}."]
    actions = work.actions.values()
    done = [action for action in actions if action.satisfies and not action.told.repeats]
    if done:
        lines.append(work.phrases.results)
    for action in done:
        agent = action.told.below.agent
        key = {ASK_HUMAN: "answer"}.get(action.tool, "text" if agent else "")
        words = read_json(action.data).get(key) if key else None
        text = words if isinstance(words, str) else action.data
        lines.append(f"{agent or action.tool}: {text[:RECEIPT_WIDTH]}")
    return "\n".join(lines)
