"""A step ends because the model says so (CONTRACT C11): it fails, is skipped, or a person is asked once."""

from typing import Any, assert_never

from msgspec import structs

from haltpoint.chain.checks.promises import Exit, exit_of, in_words, last_error, missing, missing_tools
from haltpoint.chain.model.outputs import Next, Record, StepEnd
from haltpoint.chain.model.references import write_text
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.statuses import ActionStatus, Code
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import ask_about_call
from haltpoint.chain.turns.ending import WHY
from haltpoint.chain.turns.gate import drop_held
from haltpoint.chain.turns.receipts import failed_by_tool, write_down
from haltpoint.chain.turns.strikes import forms_of
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.results import Metadata, NextAction, Outcome
from haltpoint.contracts.tools import END_STEP
from haltpoint.contracts.work.thoughts import Correction, Violation


def end_by_call(work: Work, index: int, arguments: dict[str, Any]) -> Next | Correction:
    """What a call of `end_step` does; a correction where a person insists on the step."""
    reason = str(arguments["reason"]).strip()[:WHY]
    action = work.next_action(index, END_STEP, write_text(arguments))
    match exit_of(work, index):
        case Exit.STRIKE:
            return _insisted(work, index)
        case Exit.ASK:
            work.begin(action)
            work.outputs.append(Record(action.asking()))
            drop_held(work, index, "a question was open")
            step, due = work.steps[index], in_words(missing(work, index))
            text = f"The model wants to end step {step.id!r} without {due} ({arguments['outcome']}): {reason}"
            return ask_about_call(work, RequestKind.LEAVE_OUT, action, text)
        case Exit.FAILED | Exit.SKIPPED:
            write_down(work, accepted(action))
            drop_held(work, index, "the step ends")
            return _end(work, index, reason)
        case _ as never:
            assert_never(never)


def end_by_words(work: Work, index: int, words: str) -> Next | None:
    """What words do right after a tool's error or a no: they end the step. None: there is no such, or a person insists
    on the step.
    """
    if last_error(work, index) is None or exit_of(work, index) is Exit.STRIKE:
        return None
    work.words = words
    return _end(work, index, words.strip()[:WHY])


def _end(work: Work, index: int, reason: str) -> StepEnd:
    failed = last_error(work, index)
    if failed is not None and failed.error is not None and exit_of(work, index) is Exit.FAILED:
        return failed_by_tool(Code.GIVEN_UP, failed, failed.error)
    return StepEnd(index, skipped=reason) if missing(work, index) else StepEnd(index)


def _insisted(work: Work, index: int) -> Correction:
    """A person has heard why it should be left out, and wants it done."""
    tools = missing_tools(work, index)
    text = f"A person wants this done: {in_words(missing(work, index))}. The step does not end without it."
    form = f"The form of a call is: {forms_of(work, tools)}"
    return Correction(violation=Violation.UNFOUNDED_END, message=text, form=form, tool=next(iter(tools), None))


def accepted(action: Action, by: str = "") -> Action:
    """A call of `end_step` with its receipt; `by` is the person who has decided."""
    outcome = Outcome(success=True, next_action=NextAction.CONTINUE, metadata=Metadata(tool=END_STEP, by=by))
    return structs.replace(action, status=ActionStatus.DONE, outcome=outcome, data='{"ended":true}')
