"""What the model is asked (CONTRACT C7, D1): limits and deadline are checked here. `scheduling` sends it.

A thought's id tells place, turn and attempt, and a planner answers an id once; so whatever is asked again gets a new
attempt. Plan and answer have turn 0 in their ids, so that no step's id can collide with theirs.
"""

from haltpoint.chain.checks.agents import must_route
from haltpoint.chain.checks.promises import in_words, missing, offers_end
from haltpoint.chain.model import limits
from haltpoint.chain.model.needs import BOUNDS
from haltpoint.chain.model.outputs import Completed, Next, StepEnd, Think, failed
from haltpoint.chain.model.references import read_json
from haltpoint.chain.model.state import Action, Failure
from haltpoint.chain.model.statuses import Code
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.ending import too_late
from haltpoint.chain.turns.strikes import complete_unmet, escalate, strikes_exhausted, violate
from haltpoint.contracts.base import thought_id
from haltpoint.contracts.people.phrases import count
from haltpoint.contracts.tools import ASK_HUMAN
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction, ThoughtKind, Violation, broken

RECEIPT_WIDTH = 2000
"""Characters of one result in an answer that is made of receipts."""

Corrections = tuple[Correction, ...]

# ---- what is asked ---------------------------------------------------------------------------------------------------


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
    attempt = work.planning.attempts + 1
    name = thought_id(work.id, BOUNDS, 0, attempt)
    think = Think(name, ThoughtKind.BOUNDS, None, 1, attempt, (), corrections, previous)
    return _spent(work) or think


def think_step(
    work: Work, index: int, corrections: Corrections = (), previous: str | None = None, *, again: bool = False
) -> Next:
    """A step's next proposal; `again` asks for the same turn once more. A person decides when the row of strikes is
    full, or the turns of the step are used up (D2, D3). The end of the chain when its turns, tokens, money or time are.
    """
    step = work.steps[index]
    if work.mode(index) is Mode.STRICT and strikes_exhausted(work, index):
        return escalate(work, index, _last_violation(work, index))
    if turns_left(work, index) < 1:
        return _out_of_turns(work, index, corrections, previous or work.acted_on(index))
    spent = _chain_turns_used(work, step.id) or _spent(work)
    if spent is not None:
        return spent
    run, due = work.edit(index), missing(work, index)
    run.corrected = run.corrected or bool(corrections)
    turn, attempt = run.turn + 1, run.attempt + 1 if again else 1
    return Think(
        thought_id(work.id, step.id, turn, attempt),
        ThoughtKind.ACT if due else ThoughtKind.REASON,
        step.id,
        turn,
        attempt,
        _receipts(work),
        corrections,
        previous,
        due=due,
        may_end=offers_end(work, index, corrected=bool(corrections)),
        in_words=not due and turns_left(work, index) == 1,
        forced=must_route(work),
    )


def think_answer(work: Work, corrections: Corrections = (), previous: str | None = None) -> Next:
    """The words for the user, or better ones. When it is too late to ask, the receipts answer."""
    attempt = 1 if previous is None else int(previous.rpartition(".")[2]) + 1
    why = _no_words_left(work, attempt)
    if why is not None:
        return Completed(stand_in(work, why))
    name = thought_id(work.id, "answer", 0, attempt)
    return Think(name, ThoughtKind.ANSWER, None, 1, attempt, _receipts(work), corrections, previous)


def _receipts(work: Work) -> tuple[str, ...]:
    """The ids of all actions with a receipt, in the order of the plan."""
    found: list[str] = []
    for index, run in enumerate(work.run):
        numbers = [number for number in range(1, run.actions + 1) if number not in run.pending]
        found += [work.action_id(index, number) for number in numbers]
    return tuple(found)


# ---- what is left ----------------------------------------------------------------------------------------------------


def turns_left(work: Work, index: int) -> int:
    """How many proposals a step may still ask for."""
    most = limits.max_turns(work.task, work.steps[index], work.world.policy)
    return most - work.run[index].proposals


def overspent(work: Work, more: int = 0) -> Failure | None:
    """The end of a chain whose last thought has taken more tokens or money than there were: it is not acted on. With
    `more` tokens: of one that has not so many left, or no money.
    """
    budget, spent = work.task.budget, work.spent_in_all()
    if budget.tokens is not None and spent.tokens + more > budget.tokens:
        return failed(Code.OVER_BUDGET, f"the chain has used {spent.tokens} tokens, its whole budget")
    if budget.cost is None or spent.cost < budget.cost or (spent.cost == budget.cost and not more):
        return None
    return failed(Code.OVER_BUDGET, f"the chain has cost {spent.cost:g}, its whole budget")


def _spent(work: Work) -> Failure | None:
    """The end of a chain that has no tokens or no time for a thought more."""
    return overspent(work, 1) or too_late(work)


def _chain_turns_used(work: Work, step: str) -> Failure | None:
    """The end of a chain whose turns are used up: its own, or those of its budget together with its agents."""
    own, budget = work.world.policy.max_chain_turns, work.task.budget.turns
    if budget is not None and work.spent_in_all().turns >= budget:
        return failed(Code.OVER_BUDGET, f"the chain has used up its {count(budget, 'turn')}", step)
    if work.spent.turns >= own:
        return failed(Code.OVER_BUDGET, f"the chain has used up its {count(own, 'turn')}", step)
    return None


def _no_words_left(work: Work, attempt: int) -> str | None:
    """Why the model cannot be asked for words any more."""
    if overspent(work, 1) or attempt > work.world.policy.max_chain_turns:
        return work.phrases.out_of_budget
    return work.phrases.out_of_time if work.now >= work.deadline else None


def _last_violation(work: Work, index: int) -> str:
    """What was wrong last, in this step if it was anything here."""
    place = work.steps[index].id
    row = [strike for strike in work.row.case if strike.place == place] or work.row.case
    return f"it {broken(row[-1].violation, routing=False)}" if row else "too many strikes"


def _out_of_turns(work: Work, index: int, corrections: Corrections, thought: str) -> Next:
    """A person decides (D2); where nobody is held to anything, the step ends."""
    reason = f"not complete after {count(work.run[index].proposals, 'proposal')} of the model"
    if work.mode(index) is Mode.STRICT:
        last = "".join(f"; the last fault: {fault.message}" for fault in corrections[-1:])
        return escalate(work, index, f"{reason}{last}")
    due = missing(work, index)
    if not due or work.mode(index) is Mode.OFF:
        return StepEnd(index)
    text = f"Step {work.steps[index].id!r} was {reason}, without a receipt of {in_words(due)}."
    fault = Correction(violation=Violation.NO_CALL, message=text, tool=due[0][0])
    violate(work, index, thought, (fault,), "")
    return complete_unmet(work, index)


# ---- without words ---------------------------------------------------------------------------------------------------


def stand_in(work: Work, why: str) -> str:
    """What the user reads when the model gave no words: why, then each successful result in the order of the plan, that
    of an agent in its words.
    """
    lines = [f"{work.phrases.no_words}: {why}."]
    done = [action for action in work.actions.values() if action.satisfies and not action.told.repeats]
    if done:
        lines.append(work.phrases.results)
    lines += [f"{action.told.below.agent or action.tool}: {_words_of(action)[:RECEIPT_WIDTH]}" for action in done]
    return "\n".join(lines)


def _words_of(action: Action) -> str:
    """A result as people read it: the words of an agent, or of a person; else its data."""
    if not action.told.below.agent and action.tool != ASK_HUMAN:
        return action.data
    words = read_json(action.data).get("text" if action.told.below.agent else "answer")
    return words if isinstance(words, str) else action.data
