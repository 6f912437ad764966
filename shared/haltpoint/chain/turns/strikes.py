"""Violations are counted, and at the limit a person decides (CONTRACT D1 to D4)."""

from collections.abc import Sequence
from typing import Final

from haltpoint.chain.checks.contract import form_of, reading_faults
from haltpoint.chain.checks.intent import pattern_faults
from haltpoint.chain.model import limits
from haltpoint.chain.model.next import StepEnd
from haltpoint.chain.model.outputs import Ask
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import next_request, question
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.work.plans import StepType
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction, Proposal, Strike, Violation

MOST_REMEMBERED: Final = 10
"""Violations that a case shows: the last ones of the row."""

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
    place: str = "",
    counted: bool = False,
) -> None:
    """Write the faults of one thought down; together they are one strike of the step and of the chain (D1).

    `place` is the plan or the answer where there is no step. `counted`: the step has had its strike for this thought,
    also when a success has ended the chain's row since.
    """
    if work.mode(index) is not Mode.OFF and all(one.thought_id != thought for one in work.case):
        work.strikes += 1
        if index is not None and not counted:
            work.edit(index).strikes += 1
    where = place if index is None else work.steps[index].id
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
        work.case = (*work.case, strike)[-MOST_REMEMBERED:]
        told = {**about, "violation": fault.violation.value, "said": strike.said, "strikes": work.strikes}
        work.tell(FactType.CONTRACT_VIOLATED, index, thought_id=thought, **told)


def strike(work: Work, index: int, *faults: Correction, call: int | None = None) -> None:
    """Faults of the current proposal, which is one strike however many it has. With `call`, the place of a call in it,
    the fault is the verdict on this call: it is refused.
    """
    run = work.edit(index)
    violate(work, index, work.acted_on(index), faults, work.proposals[index].content, counted=run.struck)
    run.struck = True
    if call is not None:
        work.verdicts = {**work.verdicts, index: {**work.verdicts.get(index, {}), call: faults[0]}}


def tell_corrections(work: Work, index: int | None, faults: Sequence[Correction]) -> None:
    """The model is told what was wrong, in the words of its violations, so that readers find the two together."""
    for fault in faults:
        tool = {} if fault.tool is None else {"tool": fault.tool}
        work.tell(FactType.CONTRACT_CORRECTED, index, violation=fault.violation.value, message=fault.message, **tool)


def strikes_exhausted(work: Work, index: int | None) -> bool:
    """Whether this was one violation too many in a row, of the step or of the chain (D2)."""
    most = limits.strikes(work.task, work.world.policy)
    if index is None or work.strikes >= most:
        return work.strikes >= most
    specs = (work.world.tools.get(name) for name in work.steps[index].promised_tools)
    own = [spec.strikes for spec in specs if spec is not None and spec.strikes is not None]
    return work.run[index].strikes >= min(own, default=most)


def reset_strikes(work: Work, index: int | None) -> None:
    """A person has decided how to continue: the row is over, and a step has all its turns again."""
    work.strikes, work.case = 0, ()
    if index is not None:
        run = work.edit(index)
        run.strikes, run.proposals = 0, 0


def escalate(work: Work, index: int | None, reason: str) -> Ask:
    """D3: the chain stops, and a person gets the case: rephrase, give the result by hand, retry, or abort.

    `reason` is for them; what was written for the model is in its corrections. The tool that is missing is one that
    the step promised, or one that the user's words ask for (C2): its result is what may be given by hand.
    """
    reason = reason[:MOST_SAID]
    missing = missing_tools(work, index) or tuple(dict.fromkeys(one.tool or "" for one in pattern_faults(work)))
    where = f"{'the plan' if index is None else f'step {work.steps[index].id!r}'}: {reason}"
    text = f"The model broke the contract in {where}. How should it continue?"
    if missing:
        template = work.world.policy.messages.escalate
        tries = work.strikes if work.strikes or index is None else work.run[index].proposals
        expected = missing_in_words(work, index) or ", ".join(missing)
        text = f"{template.format(expected_tools=expected, count=tries)} ({where})"
    about = {"request_id": next_request(work), "reason": reason, "strikes": work.strikes, "missing": list(missing)}
    work.tell(FactType.CHAIN_ESCALATED, index, **about)
    if index is not None:
        work.clear(index)
        work.edit(index).thinking = True
    tool = missing[0] if missing else ""
    return question(work, RequestKind.ESCALATION, index, text, tool=tool, strikes=work.case)


def missing_tools(work: Work, index: int | None) -> tuple[str, ...]:
    """The tools of the promises of a step that no successful receipt in it keeps yet (C3)."""
    return tuple(name for promise in _unkept(work, index) for name in promise)


def missing_in_words(work: Work, index: int | None) -> str:
    """The same in words: all of them, but of those of `one_of` any."""
    return ", ".join(" or ".join(promise) for promise in _unkept(work, index))


def _unkept(work: Work, index: int | None) -> tuple[tuple[str, ...], ...]:
    if index is None:
        return ()
    receipts = work.run[index].receipts
    return tuple(promise for bit, promise in enumerate(work.steps[index].promised) if not receipts >> bit & 1)


def no_call(work: Work, index: int) -> Correction:
    """Words, or calls that belong elsewhere, where a call is required."""
    step, tools, missing = work.steps[index], work.world.tools, missing_tools(work, index)
    if step.step_type is not StepType.TOOL:
        text = f"No call of the proposal may run in step {step.id!r}; answer in words instead."
        return Correction(violation=Violation.NO_CALL, message=text, tool=next(iter(missing), None))
    names = missing_in_words(work, index)
    forms = " ".join(form_of(tools[name]) for name in dict.fromkeys(missing) if name in tools)
    advice = work.world.policy.messages.no_tool_used.format(expected_tools=names, count=work.strikes + 1)
    text = (
        f"Step {step.id!r} is not complete before these tools have succeeded in it: {names}. {advice} "
        f"The exact form is: {forms}"
    )
    return Correction(violation=Violation.NO_CALL, message=text, tool=next(iter(missing), None))


def unread(work: Work, index: int, proposal: Proposal) -> tuple[Correction, ...]:
    """What could not be read of a proposal, as the model is told it (C6)."""
    tools = work.world.tools
    return reading_faults(proposal.faults, (tools[name] for name in missing_tools(work, index) if name in tools))


def complete_unmet(work: Work, index: int) -> StepEnd:
    """D4: in advisory mode the step ends although its promise was not kept, and says so."""
    work.edit(index).unkept = True
    return StepEnd(index)
