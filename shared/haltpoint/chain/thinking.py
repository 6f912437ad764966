"""The only place from which the model is asked (CONTRACT C7, D1): limits and deadline are checked here.

A thought's id tells place, turn and attempt, and a planner answers an id once; so whatever is asked again gets a new
attempt. Plan and answer have turn 0 in their ids, so that no step's id can collide with theirs.
"""

from haltpoint.chain import policy
from haltpoint.chain.citations import cite
from haltpoint.chain.codes import Code
from haltpoint.chain.dispatching import in_time
from haltpoint.chain.ending import complete_chain, fail_chain, fail_soon, fail_step
from haltpoint.chain.intent import pattern_faults
from haltpoint.chain.needs import INTENT
from haltpoint.chain.outputs import Think
from haltpoint.chain.strikes import escalate, fall_short, missing_in_words, missing_tools, tell_corrections
from haltpoint.chain.work import Work
from haltpoint.contracts.base import thought_id
from haltpoint.contracts.phrases import count, phrases
from haltpoint.contracts.plans import StepType
from haltpoint.contracts.tasks import Mode
from haltpoint.contracts.thoughts import Correction, ThoughtKind, Violation

RECEIPT_WIDTH = 2000
"""Characters of one result in an answer that is made of receipts."""

Corrections = tuple[Correction, ...]


def think_plan(
    work: Work, corrections: Corrections = (), previous: str | None = None, *, answered: str | None = None
) -> None:
    """Ask for a plan, or for a better one; `answered`: a person's words to the question in the previous reply."""
    tell_corrections(work, None, corrections)
    attempt = work.plan_attempts + 1
    if attempt > work.world.policy.max_chain_turns:
        fail_chain(work, Code.OVER_BUDGET, f"no plan after {count(work.plan_attempts, 'attempt')}")
    elif _tokens_left(work):
        work.plan_attempts, name = attempt, thought_id(work.id, "plan", 0, attempt)
        _ask(work, Think(name, ThoughtKind.PLAN, None, 1, attempt, (), corrections, previous, answered=answered))


def think_intent(
    work: Work, corrections: Corrections = (), previous: str | None = None, *, tool: str | None = None
) -> None:
    """Ask what the goal asks for; with a tool, whether it asks for this one. The model sees no results then (C12)."""
    tell_corrections(work, None, corrections)
    if _tokens_left(work):
        work.plan_attempts += 1
        name = thought_id(work.id, INTENT, 0, work.plan_attempts)
        attempt = 2 if corrections else 1
        _ask(work, Think(name, ThoughtKind.INTENT, None, 1, attempt, (), corrections, previous, tool=tool))


def may_think(work: Work, index: int) -> bool:
    """Whether a step may ask for one more proposal."""
    rules = work.world.policy
    own = work.run(index).proposals < policy.max_turns(work.task, work.steps[index], rules)
    in_budget = policy.turns_left(work, rules, work.turns) and policy.tokens_left(work, work.tokens)
    return own and in_budget and work.now < work.deadline


def think_step(
    work: Work, index: int, corrections: Corrections = (), previous: str | None = None, *, again: bool = False
) -> None:
    """Ask for a step's next proposal; `again` asks for the same turn once more.

    Fails the step when its turns are used up, and the chain when its turns, tokens or time are.
    """
    tell_corrections(work, index, corrections)
    run, step = work.edit(index), work.steps[index]
    if run.proposals >= policy.max_turns(work.task, step, work.world.policy):
        _out_of_turns(work, index, corrections, previous or work.acted_on(index))
    elif not policy.turns_left(work, work.world.policy, work.turns):
        fail_soon(work, Code.OVER_BUDGET, f"the chain has used up its {count(work.turns, 'turn')}", index)
    elif _tokens_left(work):
        run.attempt = run.attempt + 1 if again else 1
        run.proposals, run.thinking = run.proposals + 1, True
        kind = ThoughtKind.ACT if step.step_type is StepType.TOOL else ThoughtKind.REASON
        work.turns += 1
        work.clear(index)
        name, receipts = work.awaited(index), _receipts(work)
        work.outputs.append(Think(name, kind, step.id, run.turn + 1, run.attempt, receipts, corrections, previous))


def _out_of_turns(work: Work, index: int, corrections: Corrections, thought: str) -> None:
    """A person decides when a tool is missing, a promised one or one that the words ask for (C2, D2); else it fails."""
    mode = work.mode(index)
    unheard = () if mode is Mode.OFF else pattern_faults(work)
    reason = f"not complete after {work.run(index).proposals} proposals of the model"
    missing = unheard or missing_tools(work, index)
    if missing and mode is Mode.STRICT:
        escalate(work, index, reason)
    elif missing and mode is Mode.ADVISORY:
        names, tool = missing_in_words(work, index), next(iter(missing_tools(work, index)), None)
        text = f"Step {work.steps[index].id!r} was {reason}, without a receipt of {names}."
        unkept = Correction(violation=Violation.MISSING_TOOL, message=text, tool=tool)
        fall_short(work, index, thought, unheard or (unkept,))
    else:
        last = "".join(f"; the last fault: {one.message}" for one in corrections[-1:])
        fail_step(work, index, Code.TURNS_USED_UP, f"{reason}{last}")


def think_answer(work: Work, corrections: Corrections = (), previous: str | None = None, words: str = "") -> None:
    """Ask for the words for the user, or for better ones. When it is too late to ask, those that there are answer, or
    the receipts.
    """
    tell_corrections(work, None, corrections)
    attempt = 1 if previous is None else int(previous.rpartition(".")[2]) + 1
    if (why := _too_late(work, attempt)) is not None:
        complete_chain(work, cite(work, words) if words else stand_in(work, why))
        return
    name, receipts = thought_id(work.id, "answer", 0, attempt), _receipts(work)
    _ask(work, Think(name, ThoughtKind.ANSWER, None, 1, attempt, receipts, corrections, previous))


def think_verify(work: Work, words: str, previous: str) -> None:
    """Have the words looked at: which deeds do they tell of? The chain keeps them until then (F3)."""
    if _too_late(work, 1) is not None:
        complete_chain(work, words)
        return
    work.answer = words
    name = thought_id(work.id, "verify", 0, int(previous.rpartition(".")[2]))
    _ask(work, Think(name, ThoughtKind.VERIFY, None, 1, 1, _receipts(work), words=words))


def _ask(work: Work, think: Think) -> None:
    """Ask the chain's own thought: it waits for no other."""
    work.outputs.append(think)
    work.thought = think.thought_id


def spent_too_much(work: Work) -> bool:
    """Whether a thought has cost more tokens than there were; the chain fails then and the thought is not acted on."""
    if overspent(work):
        _over_tokens(work)
    return overspent(work)


def overspent(work: Work) -> bool:
    """Whether more tokens were used than the budget has."""
    limit = work.task.budget.tokens
    return limit is not None and work.tokens > limit


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
    own = phrases(policy.language(work.task, work.world.policy))
    return "\n".join((f"{own.unanswered}: {why}.", *((own.results, *lines) if lines else ())))


def _receipts(work: Work) -> tuple[str, ...]:
    """The ids of all actions with a receipt, in the order of the plan."""
    return tuple(
        work.action_id(index, number)
        for index in range(len(work.steps))
        for number in range(1, work.run(index).actions + 1)
        if number not in work.run(index).pending
    )


def _too_late(work: Work, attempt: int) -> str | None:
    """Why the model cannot be asked for words any more."""
    if not policy.tokens_left(work, work.tokens) or attempt > work.world.policy.max_chain_turns:
        return "the budget for the model is used up"
    return "the deadline has passed" if work.now >= work.deadline else None


def _tokens_left(work: Work) -> bool:
    if not policy.tokens_left(work, work.tokens):
        _over_tokens(work)
        return False
    return in_time(work)


def _over_tokens(work: Work) -> None:
    fail_chain(work, Code.OVER_BUDGET, f"the chain has used {work.tokens} tokens, which is its budget or more")
