"""A chain as a person would like to read it: what happened, in the order of its times, and how it
ended.

`tell` makes lines of a view. `chain show` prints them all; a watcher gets each line once, as
soon as it is true.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Final

from haltpoint.cli.render.case import CLOSED, answer_words, details, model_words
from haltpoint.cli.wording import call, value_text
from haltpoint.contracts.answers import FinalAnswer, WhyNot
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.people.phrases import count, runs_again
from haltpoint.contracts.results import TRIED, ToolResult
from haltpoint.contracts.views.chains import ChainView, DroppedCall, RequestView, RoutedView
from haltpoint.contracts.views.steps import ActionView, StepView, ViolationView
from haltpoint.contracts.work.routing import SUPERVISOR
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import broken
from haltpoint.runs import asked_in

NOTHING: Final = "Nothing was sent, changed or deleted."
_ONE_DECISION: Final = timedelta(milliseconds=1)
_MINUTES: Final = 120
"""Seconds from which on a length of time has minutes."""
_FIRST: Final = datetime.min.replace(tzinfo=UTC)
_LAST: Final = datetime.max.replace(tzinfo=UTC)


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


_ENDS: Final = {
    "completed": Mark.DONE,
    "failed": Mark.FAILED,
    "cancelled": Mark.NEVER,
    "skipped": Mark.NEVER,
}
"""How chains and steps end."""


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


Lines = Iterator[Line]


def tell(chain: ChainView) -> list[Line]:
    """The whole story so far, step by step as they began, each in the order in which it happened.
    What is about no step is told with the one that had begun last.
    """
    starts = [step.started_at for step in chain.steps if step.started_at]
    placed: list[tuple[datetime, Line]] = []
    for line in _beside_steps(chain):
        before = [start for start in starts if start <= _when(line.at)]
        began = max(before, default=_FIRST)
        placed.append((began, line))
    for step in chain.steps:
        began = _when(step.started_at)
        placed += [(began, line) for line in _in_step(step, chain)]
    placed.sort(key=lambda place: (place[0], _when(place[1].at)))
    return [*(line for _, line in placed), *_now(chain), *_end(chain)]


def _when(at: datetime | None) -> datetime:
    return at or _LAST


def _beside_steps(chain: ChainView) -> Lines:
    """Who works on the task, what is about the plan or the answer, and calls that belong to no
    step.
    """
    steps = {step.id for step in chain.steps}
    for routed in (*chain.routed_before, chain.routed):
        if routed is not None:
            yield _decision(routed)
    for violation in chain.violations:
        yield from _violation(violation)
    for request in chain.requests:
        if not request.step_id and not request.action_id:
            yield from _asked(request)
    for item in chain.never_executed:
        if item.get("step_id") not in steps:
            yield _dropped(item, 0)


def _in_step(step: StepView, chain: ChainView) -> Lines:
    """All that happened in a step."""
    yield _title(step)
    for action in step.actions:
        yield from _in_action(action, chain)
    for request in chain.requests:
        if request.step_id == step.id and not request.action_id:
            yield from _asked(request)
    for violation in step.violations:
        yield from _violation(violation, routing=chain.agent == SUPERVISOR)
    for item in chain.never_executed:
        if item.get("step_id") == step.id:
            yield _dropped(item, 1)
    if chain.current and chain.current.step_id == step.id:
        yield from _waits(chain)
    if step.status in _ENDS and step.started_at:
        yield _closing(step)


def _decision(routed: RoutedView) -> Line:
    """Who works on the task, and how that was decided."""
    name = routed.target_agent or "the agent without a name"
    by = f"by {routed.by}" if routed.by else routed.strategy.value
    return Line(0, Mark.CHOICE, f"{name} ({by})", routed.reasoning, at=routed.timestamp)


def _title(step: StepView) -> Line:
    """What a step is for, and what it needs. How it ended is a line below its calls, but for one
    that never began.
    """
    text = step.label or step.description or step.id
    if not step.started_at and step.status == "skipped":
        return Line(0, Mark.NEVER, text, _left_out(step))
    names = _joined(*step.required_tools, " or ".join(step.one_of))
    mode = "" if step.tool_validation_mode is Mode.STRICT else step.tool_validation_mode.value
    note = _joined(names and f"needs {names}", mode)
    mark = Mark.RUNNING if step.started_at else Mark.PENDING
    return Line(0, mark, text, note, at=step.started_at)


def _closing(step: StepView) -> Line:
    """How a step ended, and whether its promise was kept."""
    mark, words, note = _ENDS[step.status], step.status, ""
    missing = _joined(*(promise.tool for promise in step.promises if promise.kept_by is None))
    if step.status == "skipped":
        words = _left_out(step)
    elif step.status == "completed" and step.validation_status == "failed":
        mark, words = Mark.BROKEN, "continued without its required tools"
        note = f"no receipt of {missing}" if missing else "let pass"
    elif step.validation_status == "passed":
        note = "its required tools succeeded"
    return Line(0, mark, f"{step.id} {words}", note, at=step.ended_at)


def _left_out(step: StepView) -> str:
    return f"left out: {step.reason or 'not needed'}"


def _in_action(action: ActionView, chain: ChainView) -> Lines:
    """A call as it was asked for, the questions about it and of the chain that carries it out, and
    its result.
    """
    requests = [request for request in chain.requests if request.action_id == action.id]
    receipt = action.receipt
    if not (receipt and receipt.metadata.by) or action.arguments:
        yield from _called(action, requests)
    for child in chain.children:
        if child.id == action.child:
            requests += asked_in(child)
    for request in requests:
        yield from _asked(request)
    # A receipt that came when the chain was over already is not in its log; one that is not yet may
    # run again.
    late = chain.updated_at if chain.status in _ENDS else None
    at = action.ended_at or late
    if receipt and action.status == "done" and at:
        for record in receipt.metadata.hooks:
            if record.verdict in TRIED:
                verdict = record.verdict.replace("_", " ")
                yield Line(1, Mark.PENDING, f"{record.name} {verdict}", "only tried", at=at)
        yield _result(action.tool, receipt, at)


def _called(action: ActionView, requests: list[RequestView]) -> Lines:
    """A call as it was asked for, where it runs when that is no worker, and as what it ran."""
    at = action.started_at
    arguments = action.arguments
    for request in requests:
        if _edited(request) is not None:
            arguments = request.arguments
    below = f"chain {action.child}" if action.child else ""
    yield Line(1, Mark.RUNNING, call(action.tool, arguments), below, at=at)
    if action.ran is not None:
        ran = call(action.tool, action.ran)
        yield Line(1, Mark.CORRECTED, f"ran as {ran}", at=at)


def _result(tool: str, receipt: ToolResult, at: datetime) -> Line:
    """What a call brought, how long it took, or who gave the result."""
    facts = receipt.metadata
    note = f"{facts.duration_ms} ms" if facts.duration_ms else ""
    if facts.by:
        note = f"by {facts.by}"
    mark = Mark.DONE if receipt.success else Mark.FAILED
    return Line(1, mark, f"{tool}: {_brief(receipt)}", note, at=at)


def _edited(request: RequestView) -> JsonObject | None:
    """The arguments with which a person has approved a call; None where they are its own."""
    return request.answer.answer.arguments if request.answer else None


def _brief(receipt: ToolResult) -> str:
    """A receipt in a few words."""
    if receipt.error:
        return f"{receipt.error.error_type.value}: {receipt.error.message}"
    shown = []
    for name, value in receipt.data.items():
        if name != "selected":
            shown.append(f"{name}={value_text(value, 32)}")
    return "  ".join(shown[:4]) or "ok"


def _asked(request: RequestView) -> Lines:
    """A question with all that a person has to know beside it, and what became of it."""
    kind = request.kind.value.replace("_", " ")
    more = tuple(details(request))
    yield Line(1, Mark.STOP, f"STOP  {request.question}", kind, more=more, at=request.asked_at)
    given, arguments = request.answer, _edited(request)
    if given is not None:
        by = f"by {given.by}" if given.by else ""
        yield Line(1, Mark.CHOICE, answer_words(request, given.answer), by, at=given.at)
        if arguments is not None:
            text = f"edited: {call(request.tool, arguments)}"
            yield Line(1, Mark.CORRECTED, text, by, at=given.at)
    elif request.status in CLOSED:
        at = request.closed_at or request.asked_at
        yield Line(1, Mark.FAILED, f"the question {CLOSED[request.status]}", at=at)


def _violation(broke: ViolationView, *, routing: bool = False) -> Lines:
    """Where the model broke its word, and what it was told. `routing`: as a supervisor."""
    where = f"{broke.place}: " if broke.place in ("plan", "answer") else ""
    words = model_words(broke.said, broke.tool)
    colon = ":" if words else ""
    text = where + broken(broke.violation, routing=routing) + colon
    note = f"strike {broke.strikes}" if broke.strikes else ""
    yield Line(1, Mark.BROKEN, text, note, struck=words, at=broke.at)
    if broke.correction:
        yield Line(1, Mark.CORRECTED, f"corrected: {broke.correction}", at=broke.at)


def _dropped(item: DroppedCall, depth: int) -> Line:
    """A call that never ran, and why: below the question of the same decision, as the proof that
    its step stopped.
    """
    arguments = item.get("arguments")
    tool = item.get("tool", "?")
    # Arguments of which the log keeps only the beginning are text.
    written = call(tool, arguments) if isinstance(arguments, dict) else f"{tool}(…)"
    at = item.get("at")
    below = at and at + _ONE_DECISION
    why = item.get("reason", "")
    return Line(depth, Mark.NEVER, "never executed:", why, struck=written, at=below)


def _waits(chain: ChainView) -> Lines:
    """What the current step waits for. What is only so now has no time."""
    if chain.current is None:
        return
    if missing := chain.current.waiting_for:
        yield Line(1, Mark.MISSING, f"{missing.code} {missing.message}", missing.hint)
    if rest := chain.current.resting:
        text = runs_again(rest.until) if chain.steps else "waits"
        yield Line(1, Mark.RUNNING, text, rest.why)


def _now(chain: ChainView) -> Lines:
    """What the whole chain waits for."""
    if not chain.steps:
        yield from _waits(chain)
    if rest := chain.waits_for_model:
        what = f"{rest.code} {rest.message}"
        yield Line(0, Mark.MISSING, what, "the chain waits, and asks it again")


def elapsed(chain: ChainView, at: datetime | None = None) -> str:
    """How long it took, or takes so far; up to `at`."""
    until = at or chain.updated_at
    seconds = max(0.0, (until - chain.created_at).total_seconds())
    if seconds < _MINUTES:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    return str(timedelta(seconds=whole))


def _end(chain: ChainView) -> Lines:
    """The answer, and how the chain ended."""
    if chain.status not in _ENDS:
        return
    yield from answer_lines(chain)
    counts = [elapsed(chain), count(chain.usage.actions, "action")]
    counts.append(count(chain.usage.turns, "turn"))
    asked = list(asked_in(chain))
    counts.append(count(len(asked), "question"))
    if chain.never_executed:
        counts.append(f"{count(len(chain.never_executed), 'call')} never executed")
    note = " · ".join(counts)
    yield Line(0, _ENDS[chain.status], ending(chain), note, at=chain.updated_at)


def ending(chain: ChainView) -> str:
    """How it ended, and why unless its answer says so."""
    if chain.stopped:
        return f"{chain.status}, {chain.stopped}"
    if chain.error:
        code, message = chain.error.code, chain.error.message
        answer = chain.answer or FinalAnswer()
        reasons = [missed.message for missed in answer.not_done if missed.message]
        is_told = message in _words_of(chain) or any(reason in message for reason in reasons)
        return f"{chain.status}: {code}" if is_told else f"{chain.status}: {code} {message}"
    return f"{chain.status}, unfinished" if chain.unfinished else chain.status


def answer_lines(chain: ChainView) -> list[Line]:
    """What was done and not done, and all that the model says, apart (F1); the words first, unless
    the deeds do not say the same.
    """
    answer, at = chain.answer or FinalAnswer(), chain.updated_at
    deeds = []
    for deed in answer.deeds:
        place = deed.action_id.removeprefix(f"{chain.id}.")
        note = _joined(place, deed.by and f"by {deed.by}", *deed.warnings)
        deeds.append(Line(0, Mark.DEED, f"Done: {deed.says}", note, at=at))
    for missed in answer.not_done:
        why = missed.why.value.replace("_", " ")
        note = f"{why}: {missed.message}" if missed.message else why
        deeds.append(Line(0, Mark.NOT_DONE, f"Not done: {missed.says}", note, at=at))
    said = _words_of(chain)
    texts = said.split("\n") if said else ()
    words = [Line(0, Mark.WORDS, text, at=at) for text in texts]
    in_doubt = any(missed.why is WhyNot.IN_DOUBT for missed in answer.not_done)
    if chain.answer is not None and not answer.deeds and not in_doubt:
        words.append(Line(0, Mark.NOT_DONE, NOTHING, at=at))
    differ = answer.not_done or not answer.deeds
    return [*deeds, *words] if differ else [*words, *deeds]


def _words_of(chain: ChainView) -> str:
    """What the model says at the end; a chain that failed without it has its error there."""
    text = chain.answer.text if chain.answer else ""
    is_error = chain.error is not None and text in chain.error.message
    return "" if is_error else text


def _joined(*words: str | None) -> str:
    """The words that there are, with commas."""
    return ", ".join(filter(None, words))
