"""How each thing that happens in a chain is written: a step, a call, a question, a violation, in a
line.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from haltpoint.cli.render.case import CLOSED, answer_words, details, model_words
from haltpoint.cli.wording import call, value_text
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.results import ToolResult
from haltpoint.contracts.views.chains import DroppedCall, RequestView, RoutedView
from haltpoint.contracts.views.steps import ActionView, StepView, ViolationView
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import broken

_ONE_DECISION: Final = timedelta(milliseconds=1)


class Mark(Enum):
    """What a line says about its subject: a sign and a style."""

    PENDING = ("·", "dim")
    RUNNING = ("▸", "cyan")
    DONE = ("✓", "green")
    FAILED = ("✗", "red")
    STOP = ("■", "bold yellow")
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
    """One line. `struck` follows the text, struck through, `note` in brackets, `more` below it.
    Without `at` it is true for the moment.
    """

    depth: int
    mark: Mark
    text: str
    note: str = ""
    struck: str = ""
    more: tuple[str, ...] = ()
    at: datetime | None = None


def decision(routed: RoutedView) -> Line:
    """Who works on the task, and how that was decided."""
    name = routed.target_agent or "the agent without a name"
    by = f"by {routed.by}" if routed.by else routed.strategy.value
    text = f"{name} ({by})"
    return Line(0, Mark.CHOICE, text, routed.reasoning, at=routed.timestamp)


def title(step: StepView) -> Line:
    """What a step is for, and what it needs. How it ended is a line below its calls, but for one
    that never began.
    """
    text = step.label or step.description or step.id
    begun = step.started_at is not None
    if not begun and step.status == "skipped":
        return Line(0, Mark.NEVER, text, _left_out(step))
    names = joined([*step.required_tools, " or ".join(step.one_of)])
    mode = "" if step.tool_validation_mode is Mode.STRICT else step.tool_validation_mode.value
    note = joined([names and f"needs {names}", mode])
    mark = Mark.RUNNING if begun else Mark.PENDING
    return Line(0, mark, text, note, at=step.started_at)


def closing(step: StepView) -> Line:
    """How a step ended, and whether its promise was kept."""
    mark, words, note = Mark.DONE, "completed", "done"
    if step.status == "failed":
        mark, words, note = Mark.FAILED, "failed", ""
    elif step.status == "skipped":
        mark, words, note = Mark.NEVER, _left_out(step), ""
    elif step.validation_status == "failed":
        broken_ones = [promise for promise in step.promises if promise.kept_by is None]
        missing = joined(promise.tool for promise in broken_ones)
        mark, words = Mark.BROKEN, "continued without its required tools"
        note = f"no receipt of {missing}" if missing else "let pass"
    elif step.validation_status == "passed":
        note = "its required tools succeeded"
    text = f"{step.id} {words}"
    return Line(0, mark, text, note, at=step.ended_at)


def _left_out(step: StepView) -> str:
    return f"left out: {step.reason or 'not needed'}"


def violation(broke: ViolationView, *, routing: bool = False) -> Iterator[Line]:
    """Where the model broke its word, and what it was told. `routing`: as a supervisor."""
    where = f"{broke.place}: " if broke.place in ("plan", "answer") else ""
    text = where + broken(broke.violation, routing=routing)
    words = model_words(broke.said, broke.tool)
    note = f"strike {broke.strikes}" if broke.strikes else ""
    if words:
        text += ":"
    yield Line(1, Mark.BROKEN, text, note, struck=words, at=broke.at)
    if broke.correction:
        corrected = f"corrected: {broke.correction}"
        yield Line(1, Mark.CORRECTED, corrected, at=broke.at)


def called(action: ActionView, asked: Sequence[RequestView]) -> Iterator[Line]:
    """A call as it was asked for, where it runs when that is no worker, and as what it ran; nothing
    when a person gave the result (D3). `asked` are the questions about it.
    """
    if action.receipt and action.receipt.metadata.by and not action.arguments:
        return
    before = [request.arguments for request in asked if edited(request) is not None]
    arguments = before[0] if before else action.arguments
    below = f"chain {action.child}" if action.child else ""
    begun = action.started_at
    written = call(action.tool, arguments)
    yield Line(1, Mark.RUNNING, written, below, at=begun)
    if action.ran is not None:
        ran = call(action.tool, action.ran)
        yield Line(1, Mark.CORRECTED, f"ran as {ran}", at=begun)


def edited(request: RequestView) -> JsonObject | None:
    """The arguments with which a person has approved a call; None where they are its own."""
    return request.answer.answer.arguments if request.answer else None


def result(action: ActionView, receipt: ToolResult, at: datetime) -> Line:
    """What a call brought, how long it took, or who gave the result."""
    facts = receipt.metadata
    took = f"{facts.duration_ms} ms" if facts.duration_ms else ""
    note = f"by {facts.by}" if facts.by else took
    mark = Mark.DONE if receipt.success else Mark.FAILED
    text = f"{action.tool}: {brief(receipt)}"
    return Line(1, mark, text, note, at=at)


def question(request: RequestView) -> Line:
    """A question with all that a person has to know beside it."""
    kind = request.kind.value.replace("_", " ")
    text = f"STOP  {request.question}"
    more = tuple(details(request))
    return Line(1, Mark.STOP, text, kind, more=more, at=request.asked_at)


def outcome(request: RequestView) -> Iterator[Line]:
    """What became of a question; nothing while it is open."""
    given = request.answer
    if given is not None:
        by = f"by {given.by}" if given.by else ""
        words = answer_words(request, given.answer)
        yield Line(1, Mark.CHOICE, words, by, at=given.at)
        if (arguments := edited(request)) is not None:
            text = f"edited: {call(request.tool, arguments)}"
            yield Line(1, Mark.CORRECTED, text, by, at=given.at)
    elif request.status in CLOSED:
        at = request.closed_at or request.asked_at
        text = f"the question {CLOSED[request.status]}"
        yield Line(1, Mark.FAILED, text, at=at)


def dropped(item: DroppedCall, depth: int) -> Line:
    """A call that never ran, and why: below the question of the same decision, as the proof that
    its step stopped.
    """
    arguments = item.get("arguments")
    tool = str(item.get("tool", "?"))
    # Arguments of which the log keeps only the beginning are text.
    written = call(tool, arguments) if isinstance(arguments, dict) else f"{tool}(…)"
    why = item.get("reason", "")
    at = item.get("at")
    below = at and at + _ONE_DECISION
    return Line(depth, Mark.NEVER, "never executed:", why, struck=written, at=below)


def brief(receipt: ToolResult) -> str:
    """A receipt in a few words."""
    if receipt.error:
        return f"{receipt.error.error_type.value}: {receipt.error.message}"
    shown = []
    for name, value in receipt.data.items():
        if name != "selected":
            text = value_text(value, 32)
            shown.append(f"{name}={text}")
    return "  ".join(shown[:4]) or "ok"


def joined(words: Iterable[str | None]) -> str:
    """The words that there are, with commas."""
    return ", ".join(filter(None, words))
