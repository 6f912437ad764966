"""The story of a chain: what happened, in words, and how it ended. Steps follow each other as they
began, and so do the lines of each; what is about no step is told with the one that had begun last.
Pages, terminals and programs show it as it is. Pure.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain as joint
from typing import Final

from haltpoint.contracts.answers import FinalAnswer, WhyNot
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.people.phrases import count, goes_on
from haltpoint.contracts.results import TRIED, ToolResult
from haltpoint.contracts.views.chains import ChainView, DroppedCall, RequestView, RoutedView
from haltpoint.contracts.views.steps import ActionView, StepView, ViolationView
from haltpoint.contracts.views.story import StoryLine, Tone
from haltpoint.contracts.work.routing import SUPERVISOR
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import broken
from haltpoint.runtime.views.question import (
    CLOSED,
    answer_words,
    asked_in,
    details,
    is_edited,
    model_words,
)
from haltpoint.runtime.views.wording import about, call, joined, spaced, value_text

NOTHING: Final = "Nothing was sent, changed or deleted."
_ONE_DECISION: Final = timedelta(milliseconds=1)
_MINUTES: Final = 120
"""Seconds from which on a length of time has minutes."""
_FIRST: Final = datetime.min.replace(tzinfo=UTC)
_LAST: Final = datetime(9999, 1, 1, tzinfo=UTC)
_NO_STEP: Final = {"step_id": ""}
"""Of a question below a chain: its step is none of the chain's own."""
_ENDS: Final[dict[str, Tone]] = {
    "completed": "done",
    "failed": "failed",
    "cancelled": "never",
    "skipped": "never",
}
"""How chains and steps end."""

Lines = Iterator[StoryLine]
Story = tuple[StoryLine, ...]
_each = joint.from_iterable


def tell(chain: ChainView, ended: datetime | None = None) -> Story:
    """The whole story so far. What happened at one moment is told in the order of the list below.
    `ended`: when the chain did, by its log.
    """
    over = ended or chain.updated_at
    late = over if chain.status in _ENDS else None
    below = _each(map(asked_in, chain.children))
    requests = [*chain.requests, *(asked.model_copy(update=_NO_STEP) for asked in below)]
    edited = {asked.action_id: asked.arguments for asked in requests if is_edited(asked)}
    actions = list(_each(step.actions for step in chain.steps))
    violations = _each(step.violations for step in chain.steps)
    told = (
        map(_decision, filter(None, (*chain.routed_before, chain.routed))),
        _each(map(_title, chain.steps)),
        _each(_called(action, edited) for action in actions),
        map(_asked, requests),
        _each(map(_closed, requests)),
        _each(_result(action, late) for action in actions),
        _each(_violation(broke, chain) for broke in (*violations, *chain.violations)),
        map(_dropped, chain.never_executed),
        _each(_closing(step, late) for step in chain.steps),
    )
    begun = {step.id: step.started_at for step in chain.steps if step.started_at}
    lines = sorted(_each(told), key=partial(_place, begun))
    if late is None:
        return (*lines, *_now(chain))
    return (*lines, *_end(chain, late))


def _place(begun: Mapping[str, datetime], line: StoryLine) -> tuple[datetime, datetime]:
    """When its step began, and when it is told. What never ran is below the question of the same
    decision, as the proof that its step stopped.
    """
    at = line.at or _LAST
    began = begun.get(line.step_id)
    if began is None:
        earlier = [moment for moment in begun.values() if moment <= at]
        began = max(earlier, default=_FIRST)
    is_never = line.struck and line.tone == "never"
    return began, at + _ONE_DECISION if is_never else at


_chain: Final = partial(StoryLine, about="chain")
_step: Final = partial(StoryLine, about="step")
_call: Final = partial(StoryLine, about="call")


def _decision(routed: RoutedView) -> StoryLine:
    """Who works on the task, and how that was decided."""
    name = routed.target_agent or "the agent without a name"
    by = about("by {}", routed.by) or routed.strategy.value
    text = f"{name} ({by})"
    return _chain(at=routed.timestamp, tone="choice", text=text, note=routed.reasoning)


def _title(step: StepView) -> Lines:
    """What a step is for, and what it needs. One that never began has its end alone."""
    at = step.started_at
    if at is not None and at == step.ended_at:
        return
    text = step.label or step.description or step.id
    tools = joined(*step.required_tools, " or ".join(step.one_of))
    note = about("needs {}", tools)
    if step.tool_validation_mode is not Mode.STRICT:
        note = joined(note, step.tool_validation_mode.value)
    tone: Tone = "running" if at else "pending"
    yield _step(at=at, tone=tone, text=text, note=note, step_id=step.id)


def _closing(step: StepView, late: datetime | None) -> Lines:
    """How a step ended, and whether its promise was kept."""
    at = step.ended_at or late
    if at is None or step.started_at is None or step.status not in _ENDS:  # or read before its log
        return
    tone, words, note = _ENDS[step.status], step.status, ""
    if step.status == "skipped":
        reason = step.reason or "not needed"
        words = f"left out: {reason}"
    elif step.validation_status == "passed":
        note = "its required tools succeeded"
    elif step.status == "completed" and step.validation_status == "failed":
        tone, words = "broken", "continued without its required tools"
        unkept = [promise.tool for promise in step.promises if promise.kept_by is None]
        note = about("no receipt of {}", joined(*unkept)) or "let pass"
    text = f"{step.id} {words}"
    yield _step(at=at, tone=tone, text=text, note=note, step_id=step.id)


def _of_call(action: ActionView, at: datetime | None) -> "partial[StoryLine]":
    """Lines about a call."""
    _, step, _ = action.id.rsplit(".", 2)
    return partial(_call, at=at, action_id=action.id, step_id=step)


def _called(action: ActionView, edited: Mapping[str, JsonObject]) -> Lines:
    """A call as it was asked for, where it runs when that is no worker, and as what it ran."""
    line = _of_call(action, action.started_at)
    tool, arguments = action.tool, action.arguments
    is_given = action.receipt is not None and action.receipt.metadata.by
    if is_given and not arguments:
        return
    text = call(tool, edited.get(action.id, arguments))
    below = about("chain {}", action.child)
    yield line(tone="running", text=text, note=below)
    if action.ran is not None:
        ran = call(tool, action.ran)
        yield line(tone="corrected", text=f"ran as {ran}")


def _result(action: ActionView, late: datetime | None) -> Lines:
    """What a call brought, how long it took, or who gave the result. A receipt that came when the
    chain was over already is not in its log; one that is not there yet may run again.
    """
    receipt = action.receipt
    at = action.ended_at or late
    if receipt is None or at is None or action.status != "done":
        return
    line = _of_call(action, at)
    facts = receipt.metadata
    for record in facts.hooks:
        if record.verdict in TRIED:
            verdict = spaced(record.verdict)
            yield line(tone="pending", text=f"{record.name} {verdict}", note="only tried")
    note = about("by {}", facts.by) or about("{} ms", facts.duration_ms)
    tone = "done" if receipt.success else "failed"
    brief = _brief(receipt)
    yield line(tone=tone, text=f"{action.tool}: {brief}", note=note)


def _brief(receipt: ToolResult) -> str:
    """A receipt in a few words."""
    error = receipt.error
    if error is not None:
        return f"{error.error_type.value}: {error.message}"
    shown = []
    for name, given in receipt.data.items():
        if name != "selected":
            text = value_text(given, 32)
            shown.append(f"{name}={text}")
    return "  ".join(shown[:4]) or "ok"


def _of(request: RequestView, at: datetime) -> "partial[StoryLine]":
    """Lines about a question."""
    line = partial(StoryLine, about="question", at=at, step_id=request.step_id)
    return partial(line, request_id=request.id, action_id=request.action_id)


def _asked(request: RequestView) -> StoryLine:
    """A question with all that a person has to know beside it."""
    line = _of(request, request.asked_at)
    kind = spaced(request.kind)
    more = tuple(details(request))
    return line(tone="stop", text=request.question, note=kind, more=more)


def _closed(request: RequestView) -> Lines:
    """What became of a question: an answer, the call as it was edited, or none."""
    at = request.closed_at or request.asked_at
    line = _of(request, at)
    given = request.answer
    if given is not None:
        by = about("by {}", given.by)
        words = answer_words(request, given.answer)
        yield line(tone="choice", text=words, note=by)
        arguments = given.answer.arguments
        if arguments is not None:
            edited = call(request.tool, arguments)
            yield line(tone="corrected", text=f"edited: {edited}", note=by)
    elif request.status in CLOSED:
        end = CLOSED[request.status]
        yield line(tone="failed", text=f"the question {end}")


def _violation(broke: ViolationView, chain: ChainView) -> Lines:
    """Where the model broke its word, and what it was told."""
    line = partial(StoryLine, about="model", at=broke.at, step_id=broke.place)
    is_beside = broke.place in ("plan", "answer")
    routing = chain.agent == SUPERVISOR and not is_beside
    text = broken(broke.violation, routing=routing)
    if is_beside:
        text = f"{broke.place}: {text}"
    words = model_words(broke.said, broke.tool)
    note = about("strike {}", broke.strikes)
    end = ":" if words else ""
    yield line(tone="broken", text=text + end, struck=words, note=note)
    if broke.correction:
        yield line(tone="corrected", text=f"corrected: {broke.correction}")


def _dropped(item: DroppedCall) -> StoryLine:
    """A call that never ran, and why."""
    step = item.get("step_id", "")
    line = partial(_call, at=item.get("at"), tone="never", step_id=step)
    arguments = item.get("arguments")
    tool, why = item.get("tool", "?"), item.get("reason", "")
    written = f"{tool}(…)"
    if isinstance(arguments, dict):  # of long ones the log keeps the beginning, as text
        written = call(tool, arguments)
    return line(text="never executed:", struck=written, note=why)


def _now(chain: ChainView) -> Lines:
    """What it waits for: this is only so now, and has no time."""
    current = chain.current
    missing = current and current.waiting_for
    if missing:
        text = f"{missing.code} {missing.message}"
        yield _call(tone="missing", text=text, note=missing.hint)
    rest = current and current.resting
    if rest:
        yield _call(
            tone="running", text=goes_on(rest.until, reconcile=rest.reconcile), note=rest.why
        )
    away = chain.waits_for_model
    if away:
        text, note = f"{away.code} {away.message}", "the chain waits, and asks it again"
        yield _chain(tone="missing", text=text, note=note)


def elapsed(chain: ChainView, at: datetime | None = None) -> str:
    """How long it took, or takes so far; up to `at`."""
    length = (at or chain.updated_at) - chain.created_at
    seconds = max(0.0, length.total_seconds())
    if seconds < _MINUTES:
        return f"{seconds:.1f} s"
    return str(timedelta(seconds=round(seconds)))


def _end(chain: ChainView, at: datetime) -> Lines:
    """The answer, and how the chain ended."""
    yield from _answered(chain, at)
    usage = chain.usage
    asked = len(list(asked_in(chain)))
    numbers = (usage.actions, "action"), (usage.turns, "turn"), (asked, "question")
    counts = [elapsed(chain), *(count(number, name) for number, name in numbers if number)]
    if chain.never_executed:
        counts.append(count(len(chain.never_executed), "call") + " never executed")
    note = " · ".join(counts)
    text = _ending(chain)
    yield _chain(at=at, tone=_ENDS[chain.status], text=text, note=note)


def _ending(chain: ChainView) -> str:
    """How it ended, and why, unless a line of what was not done says it already."""
    if chain.stopped:
        return f"{chain.status}, {chain.stopped}"
    if chain.error is None:
        return f"{chain.status}, unfinished" if chain.unfinished else chain.status
    answer = chain.answer or FinalAnswer()
    told = [missed.message for missed in answer.not_done if missed.message]
    code, message = chain.error.code, chain.error.message
    if any(map(message.endswith, told)):
        return chain.status
    return f"{chain.status}: {code} {message}".rstrip()


def _answered(chain: ChainView, at: datetime) -> Lines:
    """What was done and not done, and all that the model says, apart (F1); the words first, unless
    the deeds do not say the same.
    """
    answer = chain.answer or FinalAnswer()
    line = partial(StoryLine, about="answer", at=at)
    deeds = []
    for deed in answer.deeds:
        place = deed.action_id.removeprefix(f"{chain.id}.")
        note = joined(place, about("by {}", deed.by), *deed.warnings)
        says = f"Done: {deed.says}"
        deeds.append(line(tone="deed", text=says, note=note, action_id=deed.action_id))
    for missed in answer.not_done:
        why = spaced(missed.why)
        note = why + about(": {}", missed.message)
        deeds.append(line(tone="not_done", text=f"Not done: {missed.says}", note=note))
    texts = answer.text.split("\n")
    words = [line(tone="words", text=text) for text in texts if answer.text]
    reasons = {missed.why for missed in answer.not_done}
    if not answer.deeds and WhyNot.IN_DOUBT not in reasons:
        words.append(line(tone="not_done", text=NOTHING))
    is_plain = answer.deeds and not answer.not_done
    yield from words if is_plain else deeds
    yield from deeds if is_plain else words
