"""What the model is asked (CONTRACT C7, D1): limits and deadline are checked here. `scheduling` sends it.

A thought's id tells place, turn and attempt, and a planner answers an id once; so whatever is asked again gets a new
attempt. Plan and answer have turn 0 in their ids, so that no step's id can collide with theirs.
"""

from haltpoint.chain.checks.citations import cite
from haltpoint.chain.checks.intent import pattern_faults
from haltpoint.chain.model import limits
from haltpoint.chain.model.codes import Code
from haltpoint.chain.model.needs import INTENT
from haltpoint.chain.model.next import Completed, Failed, Next, failed, step_failed
from haltpoint.chain.model.outputs import Think
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.ending import too_late
from haltpoint.chain.turns.strikes import (
    complete_unmet,
    escalate,
    missing_in_words,
    missing_tools,
    strikes_exhausted,
    tell_corrections,
    violate,
)
from haltpoint.contracts.base import thought_id
from haltpoint.contracts.people.phrases import count, phrases
from haltpoint.contracts.work.plans import StepType
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import BROKEN, Correction, ThoughtKind, Violation

RECEIPT_WIDTH = 2000
"""Characters of one result in an answer that is made of receipts."""

Corrections = tuple[Correction, ...]


def think_plan(
    work: Work, corrections: Corrections = (), previous: str | None = None, *, answered: str | None = None
) -> Next:
    """A plan, or a better one; `answered`: a person's words to the question in the previous reply."""
    tell_corrections(work, None, corrections)
    attempt = work.plan_attempts + 1
    if attempt > work.world.policy.max_chain_turns:
        return failed(Code.OVER_BUDGET, f"no plan after {count(work.plan_attempts, 'attempt')}")
    name = thought_id(work.id, "plan", 0, attempt)
    think = Think(name, ThoughtKind.PLAN, None, 1, attempt, (), corrections, previous, answered=answered)
    return _spent(work) or think


def think_intent(
    work: Work, corrections: Corrections = (), previous: str | None = None, *, tool: str | None = None
) -> Next:
    """What the goal asks for; with a tool, whether it asks for this one. The model sees no results then (C12)."""
    tell_corrections(work, None, corrections)
    name = thought_id(work.id, INTENT, 0, work.plan_attempts + 1)
    attempt = 2 if corrections else 1
    return _spent(work) or Think(name, ThoughtKind.INTENT, None, 1, attempt, (), corrections, previous, tool=tool)


def may_think(work: Work, index: int) -> bool:
    """Whether a step may ask for one more proposal."""
    rules = work.world.policy
    own = work.run[index].proposals < limits.max_turns(work.task, work.steps[index], rules)
    return own and limits.turns_left(work, rules, work.turns) and _spent(work) is None


def think_step(
    work: Work, index: int, corrections: Corrections = (), previous: str | None = None, *, again: bool = False
) -> Next:
    """A step's next proposal; `again` asks for the same turn once more. A person decides when the row of strikes is
    full (D3): by this step's faults, and in a strict chain also by those of another step.

    The end of the step when its turns are used up, and of the chain when its turns, tokens or time are.
    """
    run, step = work.run[index], work.steps[index]
    counted = corrections or run.struck or work.task.mode is Mode.STRICT
    if counted and work.mode(index) is Mode.STRICT and strikes_exhausted(work, index):
        row = tuple(one for one in work.case if one.place == step.id) or work.case
        wrong = [*(one.violation for one in row), *(one.violation for one in corrections)]
        return escalate(work, index, f"it {BROKEN[wrong[-1]]}" if wrong else "too many strikes")
    tell_corrections(work, index, corrections)
    if run.proposals >= limits.max_turns(work.task, step, work.world.policy):
        return _out_of_turns(work, index, corrections, previous or work.acted_on(index))
    if not limits.turns_left(work, work.world.policy, work.turns):
        return failed(Code.OVER_BUDGET, f"the chain has used up its {count(work.turns, 'turn')}", step.id)
    if (spent := _spent(work)) is not None:
        return spent
    kind = ThoughtKind.ACT if step.step_type is StepType.TOOL else ThoughtKind.REASON
    attempt = run.attempt + 1 if again else 1
    name = thought_id(work.id, step.id, run.turn + 1, attempt)
    return Think(name, kind, step.id, run.turn + 1, attempt, _receipts(work), corrections, previous)


def _out_of_turns(work: Work, index: int, corrections: Corrections, thought: str) -> Next:
    """A person decides when a tool is missing, a promised one or one that the words ask for (C2, D2); else it fails."""
    mode = work.mode(index)
    unheard = () if mode is Mode.OFF else pattern_faults(work)
    reason = f"not complete after {work.run[index].proposals} proposals of the model"
    missing = unheard or missing_tools(work, index)
    if missing and mode is Mode.STRICT:
        return escalate(work, index, reason)
    if missing and mode is Mode.ADVISORY:
        names, tool = missing_in_words(work, index), next(iter(missing_tools(work, index)), None)
        text = f"Step {work.steps[index].id!r} was {reason}, without a receipt of {names}."
        unkept = Correction(violation=Violation.MISSING_TOOL, message=text, tool=tool)
        violate(work, index, thought, unheard or (unkept,), "")
        return complete_unmet(work, index)
    last = "".join(f"; the last fault: {one.message}" for one in corrections[-1:])
    return step_failed(index, Code.TURNS_USED_UP, f"{reason}{last}")


def think_answer(work: Work, corrections: Corrections = (), previous: str | None = None, words: str = "") -> Next:
    """The words for the user, or better ones. When it is too late to ask, those that there are answer, or the
    receipts.
    """
    tell_corrections(work, None, corrections)
    attempt = 1 if previous is None else int(previous.rpartition(".")[2]) + 1
    if (why := _no_words_left(work, attempt)) is not None:
        return Completed(cite(work, words) if words else stand_in(work, why))
    name, receipts = thought_id(work.id, "answer", 0, attempt), _receipts(work)
    return Think(name, ThoughtKind.ANSWER, None, 1, attempt, receipts, corrections, previous)


def think_verify(work: Work, words: str, previous: str) -> Next:
    """A look at the words: which deeds do they report? The chain keeps them until then (F3)."""
    if _no_words_left(work, 1) is not None:
        return Completed(words)
    work.answer = words
    name = thought_id(work.id, "verify", 0, int(previous.rpartition(".")[2]))
    return Think(name, ThoughtKind.VERIFY, None, 1, 1, _receipts(work), words=words)


def overspent(work: Work) -> Failed | None:
    """The end of a chain whose last thought has cost more tokens than there were: it is not acted on."""
    limit = work.task.budget.tokens
    return None if limit is None or work.tokens <= limit else _over_tokens(work)


def stand_in(work: Work, why: str) -> str:
    """What the user reads when the model gave no words: why, then each successful result in the order of the plan.

    Words that it gave before, and that were only to be looked at once more, go before that (F3).
    """
    if work.answer:
        return work.answer
    lines = [
        f"{action.tool}: {action.data[:RECEIPT_WIDTH]}"
        for name in _receipts(work)
        if (action := work.actions.get(name)) is not None and action.outcome is not None and action.outcome.satisfies
    ]
    own = phrases(limits.language(work.task, work.world.policy))
    return "\n".join((f"{own.unanswered}: {why}.", *((own.results, *lines) if lines else ())))


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
    if not limits.tokens_left(work, work.tokens) or attempt > work.world.policy.max_chain_turns:
        return "the budget for the model is used up"
    return "the deadline has passed" if work.now >= work.deadline else None


def _spent(work: Work) -> Failed | None:
    """The end of a chain that has no tokens or no time for a thought more."""
    return too_late(work) if limits.tokens_left(work, work.tokens) else _over_tokens(work)


def _over_tokens(work: Work) -> Failed:
    return failed(Code.OVER_BUDGET, f"the chain has used {work.tokens} tokens, its whole budget")
