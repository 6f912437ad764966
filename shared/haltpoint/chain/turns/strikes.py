"""Violations are counted, and at the limit a person decides (CONTRACT D1 to D4)."""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import structs

from haltpoint.chain.checks.contract import call_form, may_call
from haltpoint.chain.checks.end_tool import FORM as END_FORM
from haltpoint.chain.checks.promises import in_words, missing, missing_tools
from haltpoint.chain.model.outputs import Ask, StepEnd
from haltpoint.chain.model.schemas import SHOWN
from haltpoint.chain.model.state import StrikeRow
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import question
from haltpoint.contracts.base import request_id
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.tools import ToolKind
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction, Proposal, Strike, Violation

MOST_REMEMBERED: Final = 10
"""Violations that a case shows: the last ones of the row."""

ANY_FORM: Final = '{"tool": "<name>", "arguments": {"<parameter>": "<value>"}}'

MOST_CALLS: Final = 32
"""Calls of one proposal; one with more is sent back whole."""

MOST_SAID: Final = 500
"""Characters of the model's words that are kept with a violation; the whole is with the thought."""


def violate(
    work: Work,
    index: int | None,
    thought: str,
    faults: Sequence[Correction],
    said: str,
    *,
    counted: bool = False,
    weighs: bool = True,
) -> None:
    """Write the faults of one thought down; together they are one strike of the step and of the chain (D1).

    Where there is no step it is the plan's or the answer's. `counted`: the step has had its strike for this thought,
    also when a success has ended the chain's row since. Where `weighs` is false, and where the model is not held to its
    word, it is none: the model is only told what was wrong.
    """
    weighs = weighs and work.mode(index) is not Mode.OFF
    if weighs and all(one.thought_id != thought for one in work.row.case):
        work.row = structs.replace(work.row, count=work.row.count + 1)
        if index is not None and not counted:
            work.edit(index).strikes += 1
    outside = "plan" if work.plan is None else "answer"
    where = outside if index is None else work.steps[index].id
    for fault in faults:
        about = {name: one for name in fault.__struct_fields__ if (one := getattr(fault, name)) is not None}
        strike = Strike(
            place=where,
            thought_id=thought,
            violation=fault.violation,
            message=fault.message,
            tool=fault.tool,
            said=said[:MOST_SAID],
        )
        case = (*work.row.case, strike)[-MOST_REMEMBERED:]
        work.row = structs.replace(work.row, case=case)
        told = {**about, "violation": fault.violation.value, "said": strike.said, "strikes": work.row.count}
        told |= {} if weighs else {"counted": False}
        told |= {"agent": True} if work.world.spec(fault.tool or "").kind is ToolKind.AGENT else {}
        work.tell(FactType.CONTRACT_VIOLATED, index, thought_id=thought, **told)


def strike(work: Work, index: int, *faults: Correction, call: int | None = None, weighs: bool = True) -> None:
    """Faults of the current proposal, which is one strike however many it has. With `call`, the place of a call in it,
    the fault is the verdict on this call: it is refused.
    """
    run, said = work.edit(index), work.proposal(index).content
    violate(work, index, work.acted_on(index), faults, said, counted=run.struck, weighs=weighs)
    run.struck = run.struck or (weighs and work.mode(index) is not Mode.OFF)
    if call is not None:
        work.refuse(index, call, faults[0])


def strikes_exhausted(work: Work, index: int | None) -> bool:
    """Whether this was one violation too many in a row, of the step or of the chain (D2)."""
    most = work.task.strikes or work.world.policy.strikes
    return work.row.count >= most or (index is not None and work.run[index].strikes >= most)


def reset_strikes(work: Work, index: int | None) -> None:
    """A person has decided how to continue: the row is over, and a step has all its turns again."""
    work.row = StrikeRow()
    if index is not None:
        run = work.edit(index)
        run.strikes, run.proposals = 0, 0


def escalate(work: Work, index: int | None, reason: str) -> Ask:
    """D3: the chain stops, and a person gets the case. The result that they may give by hand is that of the first tool
    that is due.

    `reason` is for them; what was written for the model is in its corrections.
    """
    reason = reason[:MOST_SAID]
    due = () if index is None else missing(work, index)
    tools = missing_tools(work, index)
    place = _place(work, index)
    text = f"The model broke the contract{place and f' {place}'}: {reason}. How should it continue?"
    if due:
        where = f"{place}: {reason}" if place else reason
        template = work.world.policy.messages.escalate
        tries = work.row.count if work.row.count or index is None else work.run[index].proposals
        text = f"{template.format(expected_tools=in_words(due), count=tries)} ({where})"
    about = {"strikes": work.row.count, "missing": list(tools)}
    work.tell(FactType.CHAIN_ESCALATED, index, request_id=request_id(work.id, work.asked + 1), reason=reason, **about)
    if index is not None:
        work.clear(index)
        work.edit(index).thinking = True
    tool = next(iter(tools), "")
    return question(work, RequestKind.ESCALATION, index, text, tool=tool, strikes=work.row.case)


def _place(work: Work, index: int | None) -> str:
    """Where in its work a model is, for people: an open-ended task has one step, whose name tells them nothing."""
    if index is None:
        return "in the plan"
    return "" if work.origin is PlanOrigin.REACT else f"in step {work.steps[index].id!r}"


def no_call(work: Work, index: int) -> Correction:
    """Words, or calls that belong elsewhere, where something is due. Both ways are shown alike: nobody knows here
    whether the call is still wanted (C10).
    """
    step, due = work.steps[index], missing(work, index)
    if not due:
        text = f"No call of the proposal may run in step {step.id!r}; answer in words instead."
        return Correction(violation=Violation.NO_CALL, message=text)
    names = in_words(due)
    said = work.world.policy.messages.no_tool_used.format(expected_tools=names, count=work.row.count + 1)
    text = f"Step {step.id!r} is not complete before these have succeeded in it: {names}. {said}"
    return Correction(violation=Violation.NO_CALL, message=text, form=both_ways(work, index), tool=due[0][0])


def both_ways(work: Work, index: int) -> str:
    """The forms of a call that is due, or of the decision that hands it on, and of the end of the step."""
    calls = f"The form of a call is: {forms_of(work, _callable(work, index)) or ANY_FORM}"
    return f"{calls} To end the step instead: {END_FORM}"


def _callable(work: Work, index: int) -> tuple[str, ...]:
    """Of what is due the tools that this step may call; else the agents that may."""
    due, step = missing_tools(work, index), work.steps[index]
    specs = [work.world.spec(name) for name in due]
    own = tuple(spec.name for spec in specs if may_call(step, spec, work.mode(index), work.task))
    others = (spec for spec in work.world.tools.values() if spec.kind is ToolKind.AGENT)
    return own or tuple(spec.name for spec in others if not set(spec.inside).isdisjoint(due))


def unread(work: Work, index: int, proposal: Proposal) -> tuple[Correction, ...]:
    """What could not be read of a proposal, as the model is told it, and the form of what is due (C6)."""
    if not proposal.faults:
        return ()
    more = f"; and {len(proposal.faults) - SHOWN} more" if len(proposal.faults) > SHOWN else ""
    text = f"Your reply could not be read: {'; '.join(proposal.faults[:SHOWN])}{more}."
    form = both_ways(work, index) if missing(work, index) else f"The form of a call is: {ANY_FORM}"
    return (Correction(violation=Violation.UNREADABLE, message=text, form=form),)


def forms_of(work: Work, names: Iterable[str]) -> str:
    """The exact forms of calls of these tools."""
    known = [name for name in dict.fromkeys(names) if name in work.world.tools]
    return " ".join(call_form(work.world.tools[name]) for name in known)


def complete_unmet(work: Work, index: int) -> StepEnd:
    """D4: in advisory mode the step ends although its promise was not kept, and says so."""
    work.edit(index).unkept = True
    return StepEnd(index)
