"""Violations are counted, and at the limit a person decides (CONTRACT D1 to D4)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from haltpoint.chain import policy
from haltpoint.chain.asking import ask, next_request
from haltpoint.chain.contract import form_of, reading_faults
from haltpoint.chain.ending import complete_step
from haltpoint.chain.intent import pattern_faults
from haltpoint.chain.state import StepStatus
from haltpoint.chain.work import Work
from haltpoint.contracts.base import thought_id
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.humans import RequestKind
from haltpoint.contracts.plans import StepType
from haltpoint.contracts.tasks import Mode
from haltpoint.contracts.thoughts import Correction, Proposal, Strike, Violation

MOST_REMEMBERED: Final = 10
"""Violations that a case shows: the last ones of the row."""

MOST_SAID: Final = 500
"""Characters of the model's words that are kept with a violation; the whole lies with the thought."""


def acted_on(work: Work, index: int) -> str:
    """The thought whose proposal the step is acting on, or has acted on last."""
    run = work.run(index)
    return thought_id(work.chain.id, work.steps[index].id, run.turn, run.attempt)


def violate(
    work: Work,
    index: int | None,
    place: str,
    thought: str,
    faults: Sequence[Correction],
    said: str,
    counted: bool = False,
) -> None:
    """Write the faults of one thought down; together they are one strike of the step and of the chain (D1).

    `counted`: the step has had its strike for this thought, also when a success has ended the chain's row since.
    """
    if work.mode(index) is not Mode.OFF and not (work.case and work.case[-1].thought_id == thought):
        work.strikes += 1
        if index is not None and not counted:
            run = work.run(index)
            work.move(index, replace(run, strikes=run.strikes + 1))
    told = {} if index is None else {"step_id": work.steps[index].id}
    words = said[:MOST_SAID]
    for fault in faults:
        what, text, tool = fault.violation, fault.message, fault.tool
        strike = Strike(place=place, thought_id=thought, violation=what, message=text, tool=tool, said=words)
        work.case = (*work.case, strike)[-MOST_REMEMBERED:]
        about = {
            "thought_id": thought,
            "violation": what.value,
            "message": text,
            "tool": tool,
            "pattern": fault.pattern,
        }
        about = {name: one for name, one in about.items() if one is not None}
        work.tell(FactType.CONTRACT_VIOLATED, **told, **about, said=words, strikes=work.strikes)


def tell_corrections(work: Work, index: int | None, faults: Sequence[Correction]) -> None:
    """The model is told what was wrong, in the words of its violations, so that readers find the two together."""
    about = {} if index is None else {"step_id": work.steps[index].id}
    for fault in faults:
        told = about if fault.tool is None else {**about, "tool": fault.tool}
        work.tell(FactType.CONTRACT_CORRECTED, violation=fault.violation.value, message=fault.message, **told)


def struck_out(work: Work, index: int | None) -> bool:
    """Whether this was one violation too many in a row, of the step or of the chain (D2)."""
    task, rules = work.chain.task, work.world.policy
    if work.strikes >= policy.strikes(task, rules):
        return True
    if index is None:
        return False
    specs = (work.world.tools.get(name) for promise in work.steps[index].promised for name in promise)
    own = [spec.strikes for spec in specs if spec is not None and spec.strikes is not None]
    return work.run(index).strikes >= min(own, default=policy.strikes(task, rules))


def forgive(work: Work, index: int) -> None:
    """A person has decided how to go on: the row is over, and the step has all its turns again."""
    work.strikes, work.case = 0, ()
    work.move(index, replace(work.run(index), strikes=0, proposals=0))


def escalate(work: Work, index: int | None, reason: str) -> None:
    """D3: the chain stops, and a person gets the case: rephrase, give the result by hand, retry, or abort.

    `reason` is for them; what was written for the model stands in its corrections. The tool that is missing is one that
    the step promised, or one that the user's words ask for (C2): its result is what may be given by hand.
    """
    reason = reason[:MOST_SAID]
    missing = missing_tools(work, index) or tuple(dict.fromkeys(one.tool or "" for one in pattern_faults(work)))
    where = f"{'the plan' if index is None else f'step {work.steps[index].id!r}'}: {reason}"
    question = f"The model does not keep its word in {where}. How shall it go on?"
    if missing:
        template = work.world.policy.messages.escalate
        tries = work.strikes if work.strikes or index is None else work.run(index).proposals
        expected = missing_in_words(work, index) or ", ".join(missing)
        question = f"{template.format(expected_tools=expected, count=tries)} ({where})"
    told = {} if index is None else {"step_id": work.steps[index].id}
    about = {"request_id": next_request(work), "reason": reason, "strikes": work.strikes, "missing": list(missing)}
    work.tell(FactType.CHAIN_ESCALATED, **told, **about)
    if index is not None:
        work.clear(index)
        work.move(index, replace(work.run(index), status=StepStatus.WAITING, thinking=True))
    tool = missing[0] if missing else ""
    ask(work, RequestKind.ESCALATION, index, question, tool=tool, strikes=work.case)


def missing_tools(work: Work, index: int | None) -> tuple[str, ...]:
    """The tools of the promises of a step that no successful receipt in it keeps yet (C3)."""
    return tuple(name for promise in _unkept(work, index) for name in promise)


def missing_in_words(work: Work, index: int | None) -> str:
    """The same in words: all of them, but of those of `one_of` any."""
    return ", ".join(" or ".join(promise) for promise in _unkept(work, index))


def _unkept(work: Work, index: int | None) -> tuple[tuple[str, ...], ...]:
    if index is None:
        return ()
    receipts = work.run(index).receipts
    return tuple(promise for bit, promise in enumerate(work.steps[index].promised) if not receipts >> bit & 1)


def no_call(work: Work, index: int) -> Correction:
    """Words, or calls that belong elsewhere, where a call is required."""
    step, tools, missing = work.steps[index], work.world.tools, missing_tools(work, index)
    names = missing_in_words(work, index)
    forms = " ".join(form_of(tools[name]) for name in dict.fromkeys(missing) if name in tools)
    text = f"Step {step.id!r} is not complete before these tools have succeeded in it: {names}. "
    if step.step_type is StepType.TOOL:
        advice = work.world.policy.messages.no_tool_used
        text += advice.format(expected_tools=names, count=work.strikes + 1)
        text += f" The exact form is: {forms}"
    else:
        text = f"No call of the proposal may run in step {step.id!r}; answer in words instead."
    return Correction(violation=Violation.NO_CALL, message=text, tool=missing[0] if missing else None)


def unread(work: Work, index: int, proposal: Proposal) -> tuple[Correction, ...]:
    """What could not be read of a proposal, as the model is told it (C6)."""
    tools = work.world.tools
    return reading_faults(proposal.faults, (tools[name] for name in missing_tools(work, index) if name in tools))


def fall_short(work: Work, index: int, thought: str, faults: Sequence[Correction]) -> None:
    """D4: an advisory step ends without what was asked for, which is told of the last thought, and counts."""
    violate(work, index, work.steps[index].id, thought, faults, "")
    let_pass(work, index)


def let_pass(work: Work, index: int) -> None:
    """D4: in advisory mode the step goes on although its promise was not kept, and says so."""
    work.move(index, replace(work.run(index), unkept=True))
    complete_step(work, index)
