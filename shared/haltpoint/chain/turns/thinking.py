"""What the model is asked (CONTRACT C7, D1): limits and deadline are checked here. `scheduling` sends it.

A thought's id tells place, turn and attempt, and a planner answers an id once; so whatever is asked again gets a new
attempt. Plan and answer have turn 0 in their ids, so that no step's id can collide with theirs.
"""

from haltpoint.chain.checks import human_tool
from haltpoint.chain.checks.agents import must_route
from haltpoint.chain.checks.promises import in_words, missing, offers_end
from haltpoint.chain.model import limits
from haltpoint.chain.model.codes import Code
from haltpoint.chain.model.needs import BOUNDS
from haltpoint.chain.model.outputs import Completed, Next, StepEnd, Think, failed
from haltpoint.chain.model.references import read_json
from haltpoint.chain.model.state import Action, Failure
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.ending import too_late
from haltpoint.chain.turns.strikes import (
    complete_unmet,
    escalate,
    strikes_exhausted,
    violate,
)
from haltpoint.contracts.base import thought_id
from haltpoint.contracts.people.phrases import count
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction, ThoughtKind, Violation, broken

RECEIPT_WIDTH = 2000
"""Characters of one result in an answer that is made of receipts."""

Corrections = tuple[Correction, ...]


def think_plan(
    work: Work, corrections: Corrections = (), previous: str | None = None, *, answered: str | None = None
) -> Next:
    """A plan, or a better one; `answered`: a person's words to the question in the previous reply."""
    attempt = work.planning.attempts + 1
    if attempt > work.world.policy.max_chain_turns:
        return failed(Code.OVER_BUDGET, f"no plan after {count(work.planning.attempts, 'attempt')}")
    name = thought_id(work.id, "plan", 0, attempt)
    think = Think(name, ThoughtKind.PLAN, None, 1, attempt, (), corrections, previous, answered=answered)
    return _spent(work) or think


def think_bounds(work: Work, corrections: Corrections = (), previous: str | None = None) -> Next:
    """What the goal asks of tools. The model sees no data of any tool then (C12)."""
    name = thought_id(work.id, BOUNDS, 0, work.planning.attempts + 1)
    attempt = 2 if corrections else 1
    return _spent(work) or Think(name, ThoughtKind.BOUNDS, None, 1, attempt, (), corrections, previous)


def may_think(work: Work, index: int) -> bool:
    """Whether a step may ask for one more proposal."""
    return has_turns(work, index) and _most_turns(work) is None and _spent(work) is None


def has_turns(work: Work, index: int) -> bool:
    """Whether a step has not used up its own turns yet."""
    return work.run[index].proposals < limits.max_turns(work.task, work.steps[index], work.world.policy)


def think_step(
    work: Work, index: int, corrections: Corrections = (), previous: str | None = None, *, again: bool = False
) -> Next:
    """A step's next proposal; `again` asks for the same turn once more. A person decides when the row of strikes is
    full (D3): by this step's faults, and in a strict chain also by those of another step.

    The end of the step when its turns are used up, and of the chain when its turns, tokens, money or time are.
    """
    run, step = work.edit(index), work.steps[index]
    counted = corrections or run.struck or work.task.mode is Mode.STRICT
    if counted and work.mode(index) is Mode.STRICT and strikes_exhausted(work, index):
        row = tuple(one for one in work.row.case if one.place == step.id) or work.row.case
        wrong = [*(one.violation for one in row), *(one.violation for one in corrections)]
        said = f"it {broken(wrong[-1], routing=False)}" if wrong else "too many strikes"
        return escalate(work, index, said)
    if not has_turns(work, index):
        return _out_of_turns(work, index, corrections, previous or work.acted_on(index))
    if (most := _most_turns(work)) is not None:
        return failed(Code.OVER_BUDGET, f"the chain has used up its {count(most, 'turn')}", step.id)
    if (spent := _spent(work)) is not None:
        return spent
    run.corrected = run.corrected or bool(corrections)
    attempt, due = run.attempt + 1 if again else 1, missing(work, index)
    return Think(
        thought_id(work.id, step.id, run.turn + 1, attempt),
        ThoughtKind.ACT if due else ThoughtKind.REASON,
        step.id,
        run.turn + 1,
        attempt,
        _receipts(work),
        corrections,
        previous,
        due=due,
        may_end=offers_end(work, index, corrected=bool(corrections)),
        in_words=_is_last_turn(work, index) and not due,
        forced=must_route(work),
    )


def _is_last_turn(work: Work, index: int) -> bool:
    """Whether a step may ask for no proposal behind the next one: one that owes nothing then ends in words (D2)."""
    return work.run[index].proposals + 1 >= limits.max_turns(work.task, work.steps[index], work.world.policy)


def _most_turns(work: Work) -> int | None:
    """The limit of turns that the chain has reached, that of its budget together with its agents; None: one is left."""
    most, own = work.task.budget.turns, work.world.policy.max_chain_turns
    if most is not None and work.spent_in_all().turns >= most:
        return most
    return own if work.spent.turns >= own else None


def _out_of_turns(work: Work, index: int, corrections: Corrections, thought: str) -> Next:
    """A person decides (D2); where nobody is held to anything, the step ends."""
    reason = f"not complete after {count(work.run[index].proposals, 'proposal')} of the model"
    if work.mode(index) is Mode.STRICT:
        last = "".join(f"; the last fault: {fault.message}" for fault in corrections[-1:])
        return escalate(work, index, f"{reason}{last}")
    due = missing(work, index)
    if due and work.mode(index) is Mode.ADVISORY:
        text = f"Step {work.steps[index].id!r} was {reason}, without a receipt of {in_words(due)}."
        unkept = Correction(violation=Violation.NO_CALL, message=text, tool=due[0][0])
        violate(work, index, thought, (unkept,), "")
        return complete_unmet(work, index)
    return StepEnd(index)


def think_answer(work: Work, corrections: Corrections = (), previous: str | None = None, words: str = "") -> Next:
    """The words for the user, or better ones. When it is too late to ask, those that there are answer, or the
    receipts.
    """
    attempt = 1 if previous is None else int(previous.rpartition(".")[2]) + 1
    if (why := _no_words_left(work, attempt)) is not None:
        return Completed(words if words else stand_in(work, why))
    name, receipts = thought_id(work.id, "answer", 0, attempt), _receipts(work)
    return Think(name, ThoughtKind.ANSWER, None, 1, attempt, receipts, corrections, previous)


def overspent(work: Work, more: int = 0) -> Failure | None:
    """The end of a chain whose last thought has taken more tokens or money than there were: it is not acted on. With
    `more` tokens: of one that has not so many left, or no money.
    """
    tokens, cost, spent = work.task.budget.tokens, work.task.budget.cost, work.spent_in_all()
    if tokens is not None and spent.tokens + more > tokens:
        return failed(Code.OVER_BUDGET, f"the chain has used {spent.tokens} tokens, its whole budget")
    if cost is not None and (spent.cost > cost or (more and spent.cost >= cost)):
        return failed(Code.OVER_BUDGET, f"the chain has cost {spent.cost:g}, its whole budget")
    return None


def stand_in(work: Work, why: str) -> str:
    """What the user reads when the model gave no words: why, then each successful result in the order of the plan, that
    of an agent in its words.
    """
    done = (one for one in work.actions.values() if one.satisfies and not one.told.repeats)
    told = ((one.told.below.agent or one.tool, _words_of(one)) for one in done)
    lines = [f"{tool}: {data[:RECEIPT_WIDTH]}" for tool, data in told]
    return "\n".join((f"{work.phrases.no_words}: {why}.", *((work.phrases.results, *lines) if lines else ())))


def _words_of(action: Action) -> str:
    """A result as people read it: the words of an agent, or of a person; else its data."""
    field = "text" if action.told.below.agent else "answer" if action.tool == human_tool.NAME else ""
    said = read_json(action.data).get(field) if field else None
    return said if isinstance(said, str) else action.data


def _receipts(work: Work) -> tuple[str, ...]:
    """The ids of all actions with a receipt, in the order of the plan."""
    return tuple(
        work.action_id(index, number)
        for index in range(len(work.steps))
        for number in range(1, work.run[index].actions + 1)
        if number not in work.run[index].pending
    )


def _no_words_left(work: Work, attempt: int) -> str | None:
    """Why the model cannot be asked for words any more."""
    if overspent(work, 1) or attempt > work.world.policy.max_chain_turns:
        return work.phrases.out_of_budget
    return work.phrases.out_of_time if work.now >= work.deadline else None


def _spent(work: Work) -> Failure | None:
    """The end of a chain that has no tokens or no time for a thought more."""
    return overspent(work, 1) or too_late(work)
