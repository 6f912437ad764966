"""The story of a chain: what happened, in words and in the order of its times, and how it ended.
Pages, terminals and programs show it as it is. Pure.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain as joint
from typing import Any, Final

from haltpoint.contracts.answers import FinalAnswer, WhyNot
from haltpoint.contracts.people.phrases import count, runs_again
from haltpoint.contracts.results import TRIED, ToolResult
from haltpoint.contracts.views.chains import ChainView, DroppedCall, RequestView, RoutedView
from haltpoint.contracts.views.steps import ActionView, StepView, ViolationView
from haltpoint.contracts.views.story import About, StoryLine, Tone
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
from haltpoint.runtime.views.wording import call, joined, value_text

NOTHING: Final = "Nothing was sent, changed or deleted."
_ONE_DECISION: Final = timedelta(milliseconds=1)
_MINUTES: Final = 120
"""Seconds from which on a length of time has minutes."""
_LAST: Final = datetime(9999, 1, 1, tzinfo=UTC)
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
    """The whole story so far. What happened at one moment is told in the order of this list.
    `ended`: when the chain did, by its log.
    """
    ended = ended or chain.updated_at
    late = ended if chain.status in _ENDS else None
    steps, requests = chain.steps, list(asked_in(chain))
    actions = list(_each(step.actions for step in steps))
    routed = filter(None, (*chain.routed_before, chain.routed))
    violations = _each(step.violations for step in steps)
    told = (
        map(_decision, routed),
        map(_title, (step for step in steps if not _was_left_out(step))),
        _each(_called(action, requests) for action in actions),
        map(_asked, requests),
        _each(map(_closed, requests)),
        _each(_result(action, late) for action in actions),
        _each(_violation(broke, chain) for broke in (*violations, *chain.violations)),
        map(_dropped, chain.never_executed),
        _each(_closing(step, late) for step in steps),
    )
    lines = sorted(_each(told), key=_place)
    end = _end(chain, ended) if late else ()
    return (*lines, *_now(chain), *end)


def _place(line: StoryLine) -> datetime:
    """When it is told. What never ran is below the question of the same decision, as the proof that
    its step stopped.
    """
    at = line.at or _LAST
    return at + _ONE_DECISION if line.struck and line.tone == "never" else at


def _line(
    at: datetime | None, about: About, tone: Tone, text: str, note: str = "", **more: Any
) -> StoryLine:
    return StoryLine(at=at, about=about, tone=tone, text=text, note=note, **more)


def _decision(routed: RoutedView) -> StoryLine:
    """Who works on the task, and how that was decided."""
    name = routed.target_agent or "the agent without a name"
    by = f"by {routed.by}" if routed.by else routed.strategy.value
    return _line(routed.timestamp, "chain", "choice", f"{name} ({by})", routed.reasoning)


def _title(step: StepView) -> StoryLine:
    """What a step is for, and what it needs."""
    text = step.label or step.description or step.id
    names = joined(*step.required_tools, " or ".join(step.one_of))
    mode = "" if step.tool_validation_mode is Mode.STRICT else step.tool_validation_mode.value
    note = joined(names and f"needs {names}", mode)
    tone: Tone = "running" if step.started_at else "pending"
    return _line(step.started_at, "step", tone, text, note, step_id=step.id)


def _was_left_out(step: StepView) -> bool:
    """Whether it never began: both its times are those of its end."""
    return step.started_at is not None and step.started_at == step.ended_at


def _closing(step: StepView, late: datetime | None) -> Lines:
    """How a step ended, and whether its promise was kept."""
    at = step.ended_at or late
    if step.status not in _ENDS or step.started_at is None or at is None:
        return
    tone, words, note = _ENDS[step.status], step.status, ""
    missing = joined(*(promise.tool for promise in step.promises if promise.kept_by is None))
    if step.status == "skipped":
        words = f"left out: {step.reason or 'not needed'}"
    elif step.status == "completed" and step.validation_status == "failed":
        tone, words = "broken", "continued without its required tools"
        note = f"no receipt of {missing}" if missing else "let pass"
    elif step.validation_status == "passed":
        note = "its required tools succeeded"
    yield _line(at, "step", tone, f"{step.id} {words}", note, step_id=step.id)


def _called(action: ActionView, requests: Iterable[RequestView]) -> Lines:
    """A call as it was asked for, where it runs when that is no worker, and as what it ran."""
    at, arguments = action.started_at, action.arguments
    if action.receipt and action.receipt.metadata.by and not arguments:
        return
    for request in requests:
        if request.action_id == action.id and is_edited(request):
            arguments = request.arguments
    below = f"chain {action.child}" if action.child else ""
    text = call(action.tool, arguments)
    yield _line(at, "call", "running", text, below, action_id=action.id)
    if action.ran is not None:
        ran = f"ran as {call(action.tool, action.ran)}"
        yield _line(at, "call", "corrected", ran, action_id=action.id)


def _result(action: ActionView, late: datetime | None) -> Lines:
    """What a call brought, how long it took, or who gave the result. A receipt that came when the
    chain was over already is not in its log; one that is not there yet may run again.
    """
    receipt = action.receipt
    at = action.ended_at or late
    if receipt is None or at is None or action.status != "done":
        return
    facts = receipt.metadata
    took = f"{facts.duration_ms} ms" if facts.duration_ms else ""
    note = f"by {facts.by}" if facts.by else took
    for record in facts.hooks:
        if record.verdict in TRIED:
            tried = f"{record.name} {record.verdict.replace('_', ' ')}"
            yield _line(at, "call", "pending", tried, "only tried", action_id=action.id)
    text = f"{action.tool}: {_brief(receipt)}"
    tone: Tone = "done" if receipt.success else "failed"
    yield _line(at, "call", tone, text, note, action_id=action.id)


def _brief(receipt: ToolResult) -> str:
    """A receipt in a few words."""
    if receipt.error:
        return f"{receipt.error.error_type.value}: {receipt.error.message}"
    shown = []
    for name, given in receipt.data.items():
        if name != "selected":
            shown.append(f"{name}={value_text(given, 32)}")
    return "  ".join(shown[:4]) or "ok"


def _of(
    request: RequestView, at: datetime, tone: Tone, text: str, note: str = "", **more: Any
) -> StoryLine:
    """A line about a question."""
    about = {"request_id": request.id, "action_id": request.action_id}
    return _line(at, "question", tone, text, note, **about, **more)


def _asked(request: RequestView) -> StoryLine:
    """A question with all that a person has to know beside it."""
    kind = request.kind.value.replace("_", " ")
    more = tuple(details(request))
    return _of(request, request.asked_at, "stop", request.question, kind, more=more)


def _closed(request: RequestView) -> Lines:
    """What became of a question: an answer, the call as it was edited, or none."""
    given = request.answer
    at = request.closed_at or request.asked_at
    if given is not None:
        by = f"by {given.by}" if given.by else ""
        words = answer_words(request, given.answer)
        yield _of(request, at, "choice", words, by)
        if given.answer.arguments is not None:
            text = f"edited: {call(request.tool, given.answer.arguments)}"
            yield _of(request, at, "corrected", text, by)
    elif request.status in CLOSED:
        text = f"the question {CLOSED[request.status]}"
        yield _of(request, at, "failed", text)


def _violation(broke: ViolationView, chain: ChainView) -> Lines:
    """Where the model broke its word, and what it was told."""
    is_beside = broke.place in ("plan", "answer")
    where = f"{broke.place}: " if is_beside else ""
    routing = chain.agent == SUPERVISOR and not is_beside
    words = model_words(broke.said, broke.tool)
    colon = ":" if words else ""
    text = where + broken(broke.violation, routing=routing) + colon
    note = f"strike {broke.strikes}" if broke.strikes else ""
    yield _line(broke.at, "model", "broken", text, note, struck=words, step_id=broke.place)
    if broke.correction:
        yield _line(broke.at, "model", "corrected", f"corrected: {broke.correction}")


def _dropped(item: DroppedCall) -> StoryLine:
    """A call that never ran, and why."""
    arguments, tool = item.get("arguments"), item.get("tool", "?")
    # Arguments of which the log keeps only the beginning are text.
    written = call(tool, arguments) if isinstance(arguments, dict) else f"{tool}(…)"
    why = item.get("reason", "")
    return _line(item.get("at"), "call", "never", "never executed:", why, struck=written)


def _now(chain: ChainView) -> Lines:
    """What it waits for: this is only so now, and has no time."""
    current = chain.current
    if current is not None and (missing := current.waiting_for):
        yield _line(None, "call", "missing", f"{missing.code} {missing.message}", missing.hint)
    if current is not None and (rest := current.resting):
        yield _line(None, "call", "running", runs_again(rest.until), rest.why)
    if away := chain.waits_for_model:
        why = "the chain waits, and asks it again"
        yield _line(None, "chain", "missing", f"{away.code} {away.message}", why)


def elapsed(chain: ChainView, at: datetime | None = None) -> str:
    """How long it took, or takes so far; up to `at`."""
    until = at or chain.updated_at
    seconds = max(0.0, (until - chain.created_at).total_seconds())
    if seconds < _MINUTES:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    return str(timedelta(seconds=whole))


def _end(chain: ChainView, at: datetime) -> Lines:
    """The answer, and how the chain ended."""
    yield from _answer(chain, chain.answer or FinalAnswer(), at)
    counts = [elapsed(chain), count(chain.usage.actions, "action")]
    counts.append(count(chain.usage.turns, "turn"))
    counts.append(count(len(list(asked_in(chain))), "question"))
    if chain.never_executed:
        counts.append(f"{count(len(chain.never_executed), 'call')} never executed")
    note = " · ".join(counts)
    yield _line(at, "chain", _ENDS[chain.status], _ending(chain), note)


def _ending(chain: ChainView) -> str:
    """How it ended, and why unless a line of what was not done says so."""
    if chain.stopped:
        return f"{chain.status}, {chain.stopped}"
    if chain.error:
        code, message = chain.error.code, chain.error.message
        answer = chain.answer or FinalAnswer()
        reasons = [missed.message for missed in answer.not_done if missed.message]
        is_told = any(map(message.endswith, reasons))
        return f"{chain.status}: {code}" if is_told else f"{chain.status}: {code} {message}"
    return f"{chain.status}, unfinished" if chain.unfinished else chain.status


def _answer(chain: ChainView, answer: FinalAnswer, at: datetime) -> Lines:
    """What was done and not done, and all that the model says, apart (F1); the words first, unless
    the deeds do not say the same.
    """
    deeds = []
    for deed in answer.deeds:
        place = deed.action_id.removeprefix(f"{chain.id}.")
        note = joined(place, deed.by and f"by {deed.by}", *deed.warnings)
        says = f"Done: {deed.says}"
        deeds.append(_line(at, "answer", "deed", says, note, action_id=deed.action_id))
    for missed in answer.not_done:
        why = missed.why.value.replace("_", " ")
        note = f"{why}: {missed.message}" if missed.message else why
        deeds.append(_line(at, "answer", "not_done", f"Not done: {missed.says}", note))
    texts = answer.text.split("\n") if answer.text else ()
    words = [_line(at, "answer", "words", text) for text in texts]
    in_doubt = any(missed.why is WhyNot.IN_DOUBT for missed in answer.not_done)
    if not answer.deeds and not in_doubt:
        words.append(_line(at, "answer", "not_done", NOTHING))
    differ = answer.not_done or not answer.deeds
    yield from (*deeds, *words) if differ else (*words, *deeds)
