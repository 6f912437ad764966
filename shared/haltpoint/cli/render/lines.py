"""How each thing that happens in a chain is written: a step, a call, a question, a violation, in a
line or a few.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from haltpoint.cli.render.case import CLOSED, answer_words, details, said
from haltpoint.cli.wording import call, value_text, visible
from haltpoint.contracts.base import root_of
from haltpoint.contracts.people.phrases import count, why_dropped
from haltpoint.contracts.results import HookVerdict, Metadata, NextAction, ToolResult
from haltpoint.contracts.views.chains import DroppedCall, RequestView, RoutedView
from haltpoint.contracts.views.steps import ActionView, StepView, ViolationView
from haltpoint.contracts.work.tasks import Mode


class Mark(Enum):
    """What a line says about its subject: a sign and a style."""

    PENDING = ("·", "dim")
    RUNNING = ("▸", "cyan")
    DONE = ("✓", "green")
    FAILED = ("✗", "red")
    STOP = ("■", "bold yellow")
    OPTION = (" ", "")
    CHOICE = ("→", "bold green")
    NEVER = ("⊘", "magenta")
    CORRECTED = ("↺", "yellow")
    BROKEN = ("✗", "yellow")
    WORDS = ("»", "")
    DEED = ("◆", "green")
    NOT_DONE = ("◇", "yellow")
    MISSING = ("!", "bold yellow")


@dataclass(frozen=True, slots=True)
class Line:
    """One line. `passing`: true for the moment only, so that a pipe leaves it out. `at`: None is as
    the line before.
    """

    depth: int
    mark: Mark
    text: str
    note: str = ""
    passing: bool = False
    at: datetime | None = field(default=None, compare=False)


_STEP_MARKS = {
    "completed": Mark.DONE,
    "failed": Mark.FAILED,
    "skipped": Mark.NEVER,
    "cancelled": Mark.NEVER,
    "in_progress": Mark.RUNNING,
    "waiting": Mark.RUNNING,
}


def decision(routed: RoutedView) -> Line:
    """Who works on the task, and how that was decided."""
    name = routed.target_agent or "the agent without a name"
    by = f"by {routed.by}" if routed.by else routed.strategy.value
    text = f"{visible(name)} ({visible(by)})"
    return Line(0, Mark.CHOICE, text, visible(routed.reasoning), at=routed.timestamp)


def title(step: StepView) -> Line:
    """What a step is for, and what it needs."""
    mark = _STEP_MARKS.get(step.status, Mark.PENDING)
    if step.status in ("completed", "failed"):
        mark = Mark.RUNNING  # how it ended is a line below its actions
    tools = [*step.required_tools, *([" or ".join(step.one_of)] if step.one_of else [])]
    needs = [f"needs {visible(', '.join(tools))}"] if tools else []
    if step.tool_validation_mode is not Mode.STRICT:
        needs.append(step.tool_validation_mode.value)
    if step.status == "skipped" and isinstance(step.result, str):
        needs.append(f"left out: {visible(step.result)}")
    text = visible(step.label or step.description or step.id)
    return Line(0, mark, text, " · ".join(needs), passing=mark is Mark.PENDING, at=step.started_at)


def closing(step: StepView) -> Line:
    """How a step ended, and whether its promise was kept."""
    at = step.ended_at
    if step.status == "failed":
        return Line(0, Mark.FAILED, f"{step.id} failed", at=at)
    if step.validation_status == "failed":
        missing = [one.tool for one in step.promises if one.kept_by is None]
        note = f"no receipt of {visible(', '.join(missing))}" if missing else "let pass"
        return Line(0, Mark.BROKEN, f"{step.id} continued without its required tools", note, at=at)
    kept = "its required tools succeeded" if step.validation_status == "passed" else "done"
    if step.tool_validation_mode is Mode.OFF and step.promises:
        kept = "done; not checked"
    return Line(0, Mark.DONE, f"{step.id} completed", kept, at=at)


def violation(one: ViolationView, *, routing: bool = False) -> Iterator[Line]:
    """Where the model broke its word, and what it was told. `routing`: as a supervisor."""
    where = f"{one.place}: " if one.place in ("plan", "answer") else ""
    note = f"strike {one.strikes}" if one.strikes else ""
    yield Line(
        1, Mark.BROKEN, f"{where}{said(one.said, one.violation, routing=routing)}", note, at=one.at
    )
    if one.correction:
        yield Line(1, Mark.CORRECTED, visible(f"corrected: {one.correction}"))


def called(action: ActionView) -> Iterator[Line]:
    """A call, where it runs when that is no worker, and as what it ran; nothing when a person gave
    the result (D3).
    """
    told = action.receipt.metadata if action.receipt else Metadata()
    if not (told.by and not action.arguments):
        below = f"chain {action.child}" if action.child else ""
        if told.repeats:
            below = f"the receipt of {told.repeats}"
        yield Line(
            1, Mark.RUNNING, call(action.tool, action.arguments), below, at=action.started_at
        )
    if action.ran is not None:
        yield Line(2, Mark.OPTION, f"ran as {call(action.tool, action.ran)}")


def result(action: ActionView, receipt: ToolResult) -> Line:
    """What a call brought, how long it took, or who gave the result."""
    told = receipt.metadata
    took = (
        f"{told.duration_ms / 1000:.1f} s" if told.duration_ms >= 1000 else f"{told.duration_ms} ms"
    )
    notes = [f"by {told.by}" if told.by else took if told.duration_ms else ""]
    if changed := [hook.name for hook in told.hooks if hook.verdict is HookVerdict.MODIFY]:
        notes.append(f"changed by {', '.join(changed)}")
    mark = Mark.DONE if receipt.success else Mark.FAILED
    text = f"{visible(action.tool)}: {brief(receipt)}"
    return Line(1, mark, text, visible(", ".join(filter(None, notes))), at=action.ended_at)


def question(request: RequestView) -> Iterator[Line]:
    """A question with all that a person has to know beside it."""
    kind = request.kind.value.replace("_", " ")
    yield Line(1, Mark.STOP, f"STOP  {visible(request.question)}", kind, at=request.asked_at)
    yield from (Line(2, Mark.OPTION, text) for text in details(request))


def outcome(request: RequestView) -> Line | None:
    """What became of a question; None while it is open. Of one below a root also who asked it."""
    asker = (
        (f"chain {request.chain_id}", *request.path)[-1]
        if request.chain_id != root_of(request.chain_id)
        else ""
    )
    if request.answer is not None:
        to, by = (
            asker and f"to {visible(asker)}",
            request.answer.by and f"by {visible(request.answer.by)}",
        )
        note = ", ".join(filter(None, (to, by)))
        return Line(
            1, Mark.CHOICE, answer_words(request, request.answer.answer), note, at=request.answer.at
        )
    if (ended := CLOSED.get(request.status)) is not None:
        of = f" of {visible(asker)}" if asker else ""
        return Line(1, Mark.FAILED, f"the question{of} {ended}", at=request.closed_at)
    return None


def dropped(item: DroppedCall, depth: int) -> Line:
    """A call that never ran, and why."""
    written, reason = wished(item)
    return Line(depth, Mark.NEVER, f"never executed: {written}", reason, at=item.get("at"))


def wished(item: DroppedCall) -> tuple[str, str]:
    """A call that never ran, as one would write it, and why it did not."""
    tool, arguments = str(item.get("tool", "?")), item.get("arguments")
    # Arguments of which the log keeps only the beginning are text.
    written = call(tool, arguments) if isinstance(arguments, dict) else f"{visible(tool)}(…)"
    return written, visible(why_dropped(item.get("reason", "")))


def brief(receipt: ToolResult) -> str:
    """A receipt in a few words."""
    if receipt.error:
        words = f"{receipt.error.error_type.value}: {receipt.error.message}"
        end = "" if words.rstrip().endswith((".", "?", "!")) else "."
        return visible(
            f"{words}{end} {receipt.error.suggestion}" if receipt.error.suggestion else words
        )
    if receipt.next_action is NextAction.CLARIFICATION_NEEDED and receipt.clarification:
        return f"asks: {count(len(receipt.clarification.options), 'option')}"
    shown = [(name, value) for name, value in receipt.data.items() if name != "selected"]
    return (
        "  ".join(f"{visible(name)}={value_text(value, 32)}" for name, value in shown[:4]) or "ok"
    )
