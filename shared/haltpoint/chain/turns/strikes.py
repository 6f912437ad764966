"""Violations are counted, and at the limit a person decides (CONTRACT D1 to D4)."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec.structs import replace

from haltpoint.chain.checks.built_in import END_FORM
from haltpoint.chain.checks.plans import call_form, may_call
from haltpoint.chain.checks.promises import Promise, in_words, missing, tools_in
from haltpoint.chain.model.schemas import SHOWN
from haltpoint.chain.model.state import NO_STRIKES, OpenProposal
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import question
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import Question, RequestKind
from haltpoint.contracts.work.routing import ROUTE
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction, Proposal, Strike, Violation

MOST_REMEMBERED: Final = 10
"""Violations that a case shows: the last ones of the row."""

ANY_FORM: Final = '{"tool": "<name>", "arguments": {"<parameter>": "<value>"}}'

MOST_SAID: Final = 500
"""Characters of the model's words that are kept with a violation; the whole is with the thought."""

_FORM_IS: Final = "The form of a call is:"


def violate(
    work: Work, index: int | None, thought: str, faults: Sequence[Correction], said: str
) -> None:
    """Write the faults of one thought down. Where the model is held to its word they are one
    strike, of the step and of the chain, however many they are (D1). Where there is no step they
    are the plan's or the answer's.
    """
    is_counted = work.mode(index) is Mode.STRICT
    if is_counted:
        _count(work, index)
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


def _count(work: Work, index: int | None) -> None:
    """One strike more, unless the proposal of the step is one already."""
    if index is not None:
        run = work.edit(index)
        if run.struck:
            return
        run.struck = True
        run.strikes += 1
    work.row = replace(work.row, count=work.row.count + 1)


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
    due, where, tries = tuple[Promise, ...](), "in the plan", work.row.count
    if index is not None:
        due, where = missing(work, index), f"in step {work.steps[index].id!r}"
        tries = tries or work.run[index].proposals
        work.clear(index)
        work.edit(index).thinking = True
    case = f"The model broke the contract {where}: {reason}. How should it continue?"
    if due:
        template = work.world.policy.messages.escalate
        words = template.format(expected_tools=in_words(due), count=tries)
        case = f"{words} ({where}: {reason})"
    tools = tools_in(due)
    tool = tools[0] if tools else ""
    kind, strikes = RequestKind.ESCALATION, work.row.case
    asked = question(work, kind, index, case, tool=tool, strikes=strikes)
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


def unread(work: Work, index: int, proposal: Proposal) -> tuple[Correction, ...]:
    """What could not be read of a proposal, as the model is told it, and the form of what is due
    (C9).
    """
    if not proposal.faults:
        return ()
    text = f"Your reply could not be read: {'; '.join(proposal.faults[:SHOWN])}."
    form = both_ways(work, index) if missing(work, index) else f"{_FORM_IS} {ANY_FORM}"
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
