"""The only place from which the model is asked (CONTRACT C7, D1): limits and deadline are checked here.

A thought's id tells place, turn and attempt, and a planner answers an id once; so whatever is asked again gets a new
attempt. Plan and answer have turn 0 in their ids, so that no step's id can collide with theirs.
"""

from dataclasses import replace

from haltpoint.chain import policy
from haltpoint.chain.citations import cite
from haltpoint.chain.codes import Code
from haltpoint.chain.dispatching import in_time
from haltpoint.chain.ending import complete_chain, fail_chain, fail_step
from haltpoint.chain.intent import pattern_faults
from haltpoint.chain.needs import INTENT
from haltpoint.chain.outputs import Think
from haltpoint.chain.strikes import acted_on, escalate, fall_short, missing_in_words, missing_tools, tell_corrections
from haltpoint.chain.work import Work
from haltpoint.contracts.base import action_id, thought_id
from haltpoint.contracts.phrases import count, phrases
from haltpoint.contracts.plans import StepType
from haltpoint.contracts.tasks import Mode
from haltpoint.contracts.thoughts import Correction, ThoughtKind, Violation

RECEIPT_WIDTH = 2000
"""Characters of one result in an answer that is made of receipts."""


def think_plan(
    work: Work, corrections: tuple[Correction, ...] = (), previous: str | None = None, *, answered: str | None = None
) -> None:
    """Ask for a plan, or for a better one; `answered`: a person's words to the question in the previous reply."""
    tell_corrections(work, None, corrections)
    attempt = work.chain.plan_attempts + 1
    if attempt > work.world.policy.max_chain_turns:
        fail_chain(work, Code.OVER_BUDGET, f"no plan after {count(work.chain.plan_attempts, 'attempt')}")
    elif _tokens_left(work):
        name = thought_id(work.chain.id, "plan", 0, attempt)
        other = work.other_model
        think = Think(name, ThoughtKind.PLAN, None, 1, attempt, (), corrections, previous, other, answered=answered)
        work.outputs.append(think)
        work.thought, work.plan_attempts = name, attempt


def think_intent(
    work: Work, corrections: tuple[Correction, ...] = (), previous: str | None = None, *, tool: str | None = None
) -> None:
    """Ask what the goal asks for; with a tool, whether it asks for this one. The model sees no results then (C12)."""
    tell_corrections(work, None, corrections)
    if _tokens_left(work):
        work.plan_attempts += 1
        name = thought_id(work.chain.id, INTENT, 0, work.plan_attempts)
        attempt, other = 2 if corrections else 1, work.other_model
        think = Think(name, ThoughtKind.INTENT, None, 1, attempt, (), corrections, previous, other, tool=tool)
        work.outputs.append(think)
        work.thought = name


def may_think(work: Work, index: int) -> bool:
    """Whether a step may ask for one more proposal."""
    chain, rules = work.chain, work.world.policy
    own = work.run(index).proposals < policy.max_turns(chain.task, work.steps[index], rules)
    in_budget = policy.turns_left(chain, rules, work.turns) and policy.tokens_left(chain, work.tokens)
    return own and in_budget and work.now < chain.deadline


def think_step(
    work: Work,
    index: int,
    corrections: tuple[Correction, ...] = (),
    previous: str | None = None,
    *,
    again: bool = False,
) -> None:
    """Ask for a step's next proposal; `again` asks for the same turn once more.

    Fails the step when its turns are used up, and the chain when its turns, tokens or time are.
    """
    tell_corrections(work, index, corrections)
    run, step = work.run(index), work.steps[index]
    if run.proposals >= policy.max_turns(work.chain.task, step, work.world.policy):
        _out_of_turns(work, index, corrections, previous or acted_on(work, index))
        return
    if not policy.turns_left(work.chain, work.world.policy, work.turns):
        fail_chain(work, Code.OVER_BUDGET, f"the chain has used up its {count(work.turns, 'turn')}", step.id)
        return
    if not _tokens_left(work):
        return
    attempt = run.attempt + 1 if again else 1
    kind = ThoughtKind.ACT if step.step_type is StepType.TOOL else ThoughtKind.REASON
    name = thought_id(work.chain.id, step.id, run.turn + 1, attempt)
    work.turns += 1
    work.clear(index)
    work.move(index, replace(run, attempt=attempt, proposals=run.proposals + 1, thinking=True))
    receipts, other = _receipts(work), work.other_model
    work.outputs.append(Think(name, kind, step.id, run.turn + 1, attempt, receipts, corrections, previous, other))


def _out_of_turns(work: Work, index: int, corrections: tuple[Correction, ...], thought: str) -> None:
    """A person decides when a tool is missing, a promised one or one that the words ask for (C2, D2); else it fails."""
    mode = work.mode(index)
    unheard = () if mode is Mode.OFF else pattern_faults(work)
    reason = f"not complete after {work.run(index).proposals} proposals of the model"
    missing = unheard or missing_tools(work, index)
    if missing and mode is Mode.STRICT:
        escalate(work, index, reason)
    elif missing and mode is Mode.ADVISORY:
        fall_short(work, index, thought, unheard or (_unkept(work, index, reason),))
    else:
        last = "".join(f"; the last fault: {one.message}" for one in corrections[-1:])
        fail_step(work, index, Code.TURNS_USED_UP, f"{reason}{last}")


def _unkept(work: Work, index: int, reason: str) -> Correction:
    """The promised tools that turns without end would not have brought."""
    text = f"Step {work.steps[index].id!r} was {reason}, without a receipt of {missing_in_words(work, index)}."
    return Correction(violation=Violation.MISSING_TOOL, message=text, tool=missing_tools(work, index)[0])


def think_answer(
    work: Work, corrections: tuple[Correction, ...] = (), previous: str | None = None, words: str = ""
) -> None:
    """Ask for the words for the user, or for better ones. When it is too late to ask, those that there are answer, or
    the receipts.
    """
    tell_corrections(work, None, corrections)
    attempt = 1 if previous is None else int(previous.rpartition(".")[2]) + 1
    spent = not policy.tokens_left(work.chain, work.tokens) or attempt > work.world.policy.max_chain_turns
    if spent or work.now >= work.chain.deadline:
        why = "the budget for the model is used up" if spent else "the deadline has passed"
        complete_chain(work, cite(work, words) if words else stand_in(work, why))
        return
    name = thought_id(work.chain.id, "answer", 0, attempt)
    receipts, other = _receipts(work), work.other_model
    work.outputs.append(Think(name, ThoughtKind.ANSWER, None, 1, attempt, receipts, corrections, previous, other))
    work.thought = name


def think_verify(work: Work, words: str, previous: str) -> None:
    """Have the words looked at: which deeds do they tell of? The chain keeps them until then (F3)."""
    if not policy.tokens_left(work.chain, work.tokens) or work.now >= work.chain.deadline:
        complete_chain(work, words)
        return
    work.answer = words
    name = thought_id(work.chain.id, "verify", 0, int(previous.rpartition(".")[2]))
    work.outputs.append(Think(name, ThoughtKind.VERIFY, None, 1, 1, _receipts(work), words=words))
    work.thought = name


def spent_too_much(work: Work) -> bool:
    """Whether a thought has cost more tokens than there were; the chain fails then and the thought is not acted on."""
    if not overspent(work):
        return False
    _over_tokens(work)
    return True


def overspent(work: Work) -> bool:
    """Whether more tokens were used than the budget has."""
    limit = work.chain.task.budget.tokens
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
    own = phrases(policy.language(work.chain.task, work.world.policy))
    return "\n".join((f"{own.unanswered}: {why}.", *((own.results, *lines) if lines else ())))


def _receipts(work: Work) -> tuple[str, ...]:
    """The ids of all actions so far: nothing is under way when the model is asked, so each has its receipt."""
    return tuple(
        action_id(work.chain.id, step.id, number)
        for index, step in enumerate(work.steps)
        for number in range(1, work.run(index).actions + 1)
    )


def _tokens_left(work: Work) -> bool:
    if not policy.tokens_left(work.chain, work.tokens):
        _over_tokens(work)
        return False
    return in_time(work)


def _over_tokens(work: Work) -> None:
    fail_chain(work, Code.OVER_BUDGET, f"the chain has used {work.tokens} tokens, which is its budget or more")
