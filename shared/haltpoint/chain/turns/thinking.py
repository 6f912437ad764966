"""What the model is asked (CONTRACT C7), and how it is held to its word: violations are counted and
said to it, and at the limit a person decides (D1 to D4). Limits and deadline are checked here;
`scheduling` sends it.

A thought's id tells place, turn and attempt, and a planner answers an id once; so whatever is asked
again gets a new attempt. Plan and answer have turn 0 in their ids, so that no step's id can collide
with theirs.
"""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import structs
from msgspec.structs import replace

from haltpoint.chain.checks.agents import must_route
from haltpoint.chain.checks.core_tools import END_FORM
from haltpoint.chain.checks.plans import call_form, may_call
from haltpoint.chain.checks.promises import Promise, in_words, missing, offers_end, tools_in
from haltpoint.chain.model.outputs import Completed, Next, StepEnd, failed
from haltpoint.chain.model.references import read_json
from haltpoint.chain.model.schemas import SHOWN
from haltpoint.chain.model.state import NO_STRIKES, OpenProposal
from haltpoint.chain.model.statuses import Code
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import ask_who, question, takers
from haltpoint.chain.turns.calling import over_budget
from haltpoint.contracts.base import thought_id
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import Question, RequestKind
from haltpoint.contracts.people.phrases import count
from haltpoint.contracts.tools import ASK_HUMAN
from haltpoint.contracts.work.routing import ROUTE
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction, Strike, ThoughtKind, Violation

MOST_REMEMBERED: Final = 10
"""Violations that a case shows: the last ones of the row."""

ANY_FORM: Final = '{"tool": "<name>", "arguments": {"<parameter>": "<value>"}}'

MOST_SAID: Final = 500
"""Characters of the model's words that are kept with a violation; the whole is with the thought."""

Corrections = tuple[Correction, ...]

_FORM_IS: Final = "The form of a call is:"


def violate(
    work: Work, index: int | None, thought: str, faults: Sequence[Correction], said: str
) -> None:
    """Write the faults of one thought down. Where the model is held to its word they are one
    strike, of the step and of the chain, however many they are (D1). Where there is no step they
    are the plan's or the answer's.
    """
    is_counted = work.mode(index) is Mode.STRICT
    is_first = index is None or not work.run[index].struck
    if is_counted and is_first:
        work.row = replace(work.row, count=work.row.count + 1)
    if is_counted and is_first and index is not None:
        run = work.edit(index)
        run.struck = True
        run.strikes += 1
    outside = "plan" if work.plan is None else "answer"
    place = outside if index is None else work.steps[index].id
    for fault in faults:
        about: dict[str, Any] = {
            "violation": fault.violation,
            "message": fault.message,
            "tool": fault.tool,
            "said": said[:MOST_SAID],
        }
        case = (*work.row.case, Strike(place=place, thought_id=thought, **about))
        work.row = replace(work.row, case=case[-MOST_REMEMBERED:])
        about["counted"] = None if is_counted else False
        about["form"] = fault.form
        work.tell(
            FactType.CONTRACT_VIOLATED,
            index,
            thought_id=thought,
            strikes=work.row.count,
            **about,
        )


def strike(work: Work, index: int, *faults: Correction) -> None:
    """Faults of the proposal that a step is acting on."""
    said = work.proposal(index).content
    violate(work, index, work.acted_on(index), faults, said)


def refuse(work: Work, index: int, fault: Correction) -> None:
    """The next call of the proposal may not run: its fault is kept, and the call behind it is
    next.
    """
    strike(work, index, fault)
    run = work.edit(index)
    refused = {**work.refused(index), run.taken: fault}
    work.proposals = {**work.proposals, index: OpenProposal(work.proposal(index), refused)}
    run.taken += 1


def strikes_exhausted(work: Work, index: int | None) -> bool:
    """Whether this was one violation too many in a row, of the step or of the chain (D2)."""
    most = work.task.strikes or work.world.policy.strikes
    own = 0 if index is None else work.run[index].strikes
    return max(work.row.count, own) >= most


def reset_strikes(work: Work, index: int | None) -> None:
    """A person has decided how to continue: the row is over, and a step has all its turns again."""
    work.row = NO_STRIKES
    if index is not None:
        run = work.edit(index)
        run.strikes = 0
        run.proposals = 0


def escalate(work: Work, index: int | None, reason: str) -> Question:
    """D3: the chain stops, and a person gets the case. The result that they may give by hand is
    that of the first tool that is due.

    `reason` is for them; what was written for the model is in its corrections.
    """
    reason = reason[:MOST_SAID]
    due = tuple[Promise, ...]()
    where = "in the plan"
    tries = work.row.count
    if index is not None:
        due = missing(work, index)
        where = "in its work" if work.is_open else f"in step {work.steps[index].id!r}"
        tries = tries or work.run[index].proposals
        if ROUTE in tools_in(due) and takers(work):
            return ask_who(work, index, f"No agent has the task: {reason}")
        work.clear(index)
        work.edit(index).thinking = True
    case = f"The model broke the contract {where}: {reason}. How should it continue?"
    if due:
        template = work.world.policy.messages.escalate
        words = template.format(expected_tools=in_words(due), count=tries)
        case = f"{words} ({where}: {reason})"
    tools = tools_in(due)
    tool = tools[0] if tools else ""
    strikes = work.row.case
    asked = question(work, RequestKind.ESCALATION, index, case, tool=tool, strikes=strikes)
    about = {"reason": reason, "strikes": work.row.count, "missing": tools}
    work.tell(FactType.CHAIN_ESCALATED, index, request_id=asked.request_id, **about)
    return asked


# ---- corrections
# --------------------------------------------------------------------------------------------------


def no_call(work: Work, index: int) -> Correction:
    """Words, or calls that belong elsewhere, where something is due. Both ways are shown alike:
    nobody knows here whether the call is still wanted (C10).
    """
    step = work.steps[index]
    due = missing(work, index)
    names = in_words(due)
    template = work.world.policy.messages.no_tool_used
    told = template.format(expected_tools=names, count=work.row.count + 1)
    text = f"Step {step.id!r} is not complete before these have succeeded in it: {names}. {told}"
    return Correction(Violation.NO_CALL, text, due[0][0], both_ways(work, index))


def insisted_on(work: Work, index: int) -> Correction:
    """The model ends a step that a person insists on: they have heard why it should be left out
    (C11).
    """
    due = missing(work, index)
    text = f"A person wants this done: {in_words(due)}. The step does not end without it."
    return Correction(Violation.UNFOUNDED_END, text, due[0][0], _form_of_due(work, index))


def unread(work: Work, index: int) -> Corrections:
    """What could not be read of a step's proposal, as the model is told it, and the form of what is
    due (C9).
    """
    faults = work.proposal(index).faults
    if not faults:
        return ()
    text = f"Your reply could not be read: {'; '.join(faults[:SHOWN])}."
    form = f"{_FORM_IS} {ANY_FORM}"
    if missing(work, index):
        form = both_ways(work, index)
    return (Correction(Violation.UNREADABLE, text, form=form),)


def both_ways(work: Work, index: int) -> str:
    """The form of what is due, and of the end of the step."""
    return f"{_form_of_due(work, index)} To end the step instead: {END_FORM}"


def _form_of_due(work: Work, index: int) -> str:
    """The forms of a call that is due, or of the decision that hands it on."""
    step = work.steps[index]
    tools = work.world.tools
    due = tools_in(missing(work, index))
    specs = [tools[name] for name in due if name in tools]
    own = [spec for spec in specs if may_call(step, spec, work.mode(index), work.task)]
    if not own and ROUTE in tools:
        own = [tools[ROUTE]]
    forms = " ".join(map(call_form, own)) or ANY_FORM
    return f"{_FORM_IS} {forms}"


RECEIPT_WIDTH = 2000
"""Characters of one result in an answer that is made of receipts."""

_OF_WORDS: Final = ("tokens", "cost")
"""The parts of a budget that each thought uses."""

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
