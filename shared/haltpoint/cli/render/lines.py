"""How each thing that happens in a chain is written: a step, a call, a question, a violation, in a
line or a few.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from haltpoint.cli.render.case import CLOSED, answer_words, details, model_words, quoted
from haltpoint.cli.wording import call, value_text, visible
from haltpoint.contracts.base import JsonObject, root_of
from haltpoint.contracts.people.phrases import count, why_dropped
from haltpoint.contracts.results import HookVerdict, Metadata, NextAction, ToolResult
from haltpoint.contracts.views.chains import DroppedCall, RequestView, RoutedView
from haltpoint.contracts.views.steps import ActionView, StepView, ViolationView
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import broken


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
    """One line. `passing`: true for the moment only, so that a pipe leaves it out. `struck` is the
    end of the text, which is drawn struck through. `at`: None is as the line before.
    """

    depth: int
    mark: Mark
    text: str
    note: str = ""
    passing: bool = False
    struck: str = ""
    at: datetime | None = field(default=None, compare=False)


def decision(routed: RoutedView) -> Line:
    """Who works on the task, and how that was decided."""
    name = routed.target_agent or "the agent without a name"
    by = f"by {routed.by}" if routed.by else routed.strategy.value
    text = f"{visible(name)} ({visible(by)})"
    return Line(0, Mark.CHOICE, text, visible(routed.reasoning), at=routed.timestamp)


def title(step: StepView) -> Line:
    """What a step is for, and what it needs. How it ended is a line below its calls, but for one
    that never began.
    """
    text = visible(step.label or step.description or step.id)
    if step.started_at is None and step.status == "skipped":
        return Line(0, Mark.NEVER, text, _left_out(step))
    tools = [*step.required_tools, " or ".join(step.one_of)]
    named = visible(", ".join(filter(None, tools)))
    needs = [f"needs {named}"] if named else []
    if step.tool_validation_mode is not Mode.STRICT:
        needs.append(step.tool_validation_mode.value)
    begun = step.started_at is not None
    mark = Mark.RUNNING if begun else Mark.PENDING
    return Line(0, mark, text, " · ".join(needs), passing=not begun, at=step.started_at)


def closing(step: StepView) -> Line:
    """How a step ended, and whether its promise was kept."""
    at = step.ended_at
    if step.status == "failed":
        return Line(0, Mark.FAILED, f"{step.id} failed", at=at)
    if step.status == "skipped":
        return Line(0, Mark.NEVER, f"{step.id} {_left_out(step)}", at=at)
    if step.validation_status == "failed":
        missing = [one.tool for one in step.promises if one.kept_by is None]
        note = f"no receipt of {visible(', '.join(missing))}" if missing else "let pass"
        return Line(0, Mark.BROKEN, f"{step.id} continued without its required tools", note, at=at)
    kept = "its required tools succeeded" if step.validation_status == "passed" else "done"
    if step.tool_validation_mode is Mode.OFF and step.promises:
        kept = "done; not checked"
    return Line(0, Mark.DONE, f"{step.id} completed", kept, at=at)


def _left_out(step: StepView) -> str:
    return f"left out: {visible(step.reason or 'not needed')}"


def violation(one: ViolationView, *, routing: bool = False) -> Iterator[Line]:
    """Where the model broke its word, and what it was told. `routing`: as a supervisor."""
    where = f"{one.place}: " if one.place in ("plan", "answer") else ""
    text = f"{where}{broken(one.violation, routing=routing)}"
    words = model_words(one.said)
    note = f"strike {one.strikes}" if one.strikes else ""
    struck = words if words and words != quoted(one.said) else ""
    text = f"{text}: {words}" if words else text
    yield Line(1, Mark.BROKEN, text, note, struck=struck, at=one.at)
    if one.correction:
        yield Line(1, Mark.CORRECTED, visible(f"corrected: {one.correction}"))


def called(action: ActionView, asked: Sequence[RequestView]) -> Iterator[Line]:
    """A call as it was asked for, where it runs when that is no worker, and as what it ran; nothing
    when a person gave the result (D3). `asked` are the questions about it.
    """
    told = action.receipt.metadata if action.receipt else Metadata()
    if not (told.by and not action.arguments):
        below = f"chain {action.child}" if action.child else ""
        if told.repeats:
            below = f"the receipt of {told.repeats}"
        edited = [request.arguments for request in asked if edits(request)]
        arguments = edited[0] if edited else action.arguments
        yield Line(1, Mark.RUNNING, call(action.tool, arguments), below, at=action.started_at)
    if action.ran is not None:
        yield Line(2, Mark.OPTION, f"ran as {call(action.tool, action.ran)}")


def edits(request: RequestView) -> list[str]:
    """What a person changed in a call when approving it."""
    after = None if request.answer is None else request.answer.answer.arguments
    if after is None:
        return []
    before = request.arguments
    names = dict.fromkeys((*before, *after))
    return [
        f"{visible(name)} {_shown(before, name)} -> {_shown(after, name)}"
        for name in names
        if before.get(name, ...) != after.get(name, ...)
    ]


def _shown(arguments: JsonObject, name: str) -> str:
    return value_text(arguments[name], 48) if name in arguments else "nothing"


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


def outcome(request: RequestView) -> list[Line]:
    """What became of a question; nothing while it is open. Of one below a root also who asked
    it.
    """
    below = request.chain_id != root_of(request.chain_id)
    asker = visible((f"chain {request.chain_id}", *request.path)[-1]) if below else ""
    if (given := request.answer) is not None:
        by = visible(given.by)
        notes = (asker and f"to {asker}", by and f"by {by}")
        note = ", ".join(filter(None, notes))
        words = answer_words(request, given.answer)
        lines = [Line(1, Mark.CHOICE, words, note, at=given.at)]
        if changed := edits(request):
            text = f"edited by {by or 'a person'}: {', '.join(changed)}"
            lines.append(Line(1, Mark.CORRECTED, text, at=given.at))
        return lines
    if (ended := CLOSED.get(request.status)) is not None:
        of = asker and f" of {asker}"
        return [Line(1, Mark.FAILED, f"the question{of} {ended}", at=request.closed_at)]
    return []


def dropped(item: DroppedCall, depth: int) -> Line:
    """A call that never ran, and why."""
    written, reason = wished(item)
    text = f"never executed: {written}"
    return Line(depth, Mark.NEVER, text, reason, struck=written, at=item.get("at"))


def wished(item: DroppedCall) -> tuple[str, str]:
    """A call that never ran, as one would write it, and why it did not."""
    tool, arguments = str(item.get("tool", "?")), item.get("arguments")
    # Arguments of which the log keeps only the beginning are text.
    written = call(tool, arguments) if isinstance(arguments, dict) else f"{visible(tool)}(…)"
    return written, visible(why_dropped(item.get("reason", "")))


def brief(receipt: ToolResult) -> str:
    """A receipt in a few words."""
    if receipt.error:
        return visible(f"{receipt.error.error_type.value}: {receipt.error.message}")
    if receipt.next_action is NextAction.CLARIFICATION_NEEDED and receipt.clarification:
        return f"asks: {count(len(receipt.clarification.options), 'option')}"
    shown = [(name, value) for name, value in receipt.data.items() if name != "selected"]
    return (
        "  ".join(f"{visible(name)}={value_text(value, 32)}" for name, value in shown[:4]) or "ok"
    )
