"""A chain as a person would like to read it: what happened, in the order of its times, and how it
ended.

`tell` makes lines of a view. `chain show` prints them all; a watcher gets each line once, as
soon as it is true.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from haltpoint.cli.render import lines
from haltpoint.cli.render.lines import Line, Mark
from haltpoint.contracts.answers import FinalAnswer, WhyNot
from haltpoint.contracts.people.phrases import count, runs_again
from haltpoint.contracts.views.chains import ChainView, RequestView
from haltpoint.contracts.views.steps import ActionView, StepView
from haltpoint.contracts.work.routing import SUPERVISOR
from haltpoint.runs import asked_in

_MINUTES: Final = 120
"""Seconds from which on a length of time has minutes."""
_LAST: Final = datetime.max.replace(tzinfo=UTC)
NOTHING: Final = "Nothing was sent, changed or deleted."
_END_MARKS: Final = {"completed": Mark.DONE, "failed": Mark.FAILED, "cancelled": Mark.NEVER}
_OVER: Final = ("completed", "failed", "skipped")


def tell(chain: ChainView) -> list[Line]:
    """The whole story so far, step by step as they began, each in the order in which it happened.
    What is about no step is told with the one that had begun last.
    """
    begun = [step.started_at for step in chain.steps if step.started_at is not None]

    def last_begun(at: datetime) -> datetime:
        return max((start for start in begun if start <= at), default=at)

    story = [(last_begun(_when(line.at)), line) for line in _beside_steps(chain)]
    for step in chain.steps:
        story += [(_when(step.started_at), line) for line in _in_step(step, chain)]
    story.sort(key=lambda placed: (placed[0], _when(placed[1].at)))
    return [*(line for _, line in story), *_now(chain), *_end(chain)]


def _when(at: datetime | None) -> datetime:
    return at or _LAST


def _beside_steps(chain: ChainView) -> Iterator[Line]:
    """Who works on the task, what is about the plan or the answer, and calls that belong to no
    step.
    """
    yield from map(lines.decision, chain.routed_before)
    if chain.routed is not None:
        yield lines.decision(chain.routed)
    for violation in chain.violations:
        yield from lines.violation(violation)
    for request in chain.requests:
        if not request.step_id and not request.action_id:
            yield from _asked(request)
    steps = {step.id for step in chain.steps}
    for item in chain.never_executed:
        if item.get("step_id") not in steps:
            yield lines.dropped(item, 0)


def _in_step(step: StepView, chain: ChainView) -> Iterator[Line]:
    """All that happened in a step."""
    yield lines.title(step)
    for action in step.actions:
        yield from _in_action(action, chain)
    requests = [request for request in chain.requests if request.step_id == step.id]
    for request in requests:
        if not request.action_id:
            yield from _asked(request)
    for violation in step.violations:
        yield from lines.violation(violation, routing=chain.agent == SUPERVISOR)
    for item in chain.never_executed:
        if item.get("step_id") == step.id:
            yield lines.dropped(item, 1)
    if chain.current and chain.current.step_id == step.id:
        yield from _waits(chain)
    if step.status in _OVER and step.started_at is not None:
        yield lines.closing(step)


def _waits(chain: ChainView) -> Iterator[Line]:
    """What the current step waits for. What is only so now has no time."""
    if chain.current is None:
        return
    if missing := chain.current.waiting_for:
        unserved = f'{missing.code} no worker serves the queue "{missing.queue}"'
        yield Line(1, Mark.MISSING, unserved, missing.hint)
    if rest := chain.current.resting:
        text = runs_again(rest.until) if chain.steps else "waits"
        yield Line(1, Mark.RUNNING, text, rest.why)


def _now(chain: ChainView) -> Iterator[Line]:
    """What the whole chain waits for."""
    if not chain.steps:
        yield from _waits(chain)
    if rest := chain.waits_for_model:
        what = f"{rest.code} {rest.message}"
        yield Line(0, Mark.MISSING, what, "the chain waits, and asks it again")


def _in_action(action: ActionView, chain: ChainView) -> Iterator[Line]:
    requests = [request for request in chain.requests if request.action_id == action.id]
    yield from lines.called(action, requests)
    for child in chain.children:
        if child.id == action.child:
            requests += asked_in(child)
    for request in requests:
        yield from _asked(request)
    if action.receipt is not None and action.status == "done":
        # A receipt that came when the chain was over already is not in its log; one that is not yet
        # may run again.
        late = chain.updated_at if chain.status in _END_MARKS else None
        if at := action.ended_at or late:
            yield lines.result(action, action.receipt, at)


def _asked(request: RequestView) -> Iterator[Line]:
    """A question, and its outcome."""
    yield lines.question(request)
    yield from lines.outcome(request)


def elapsed(chain: ChainView, at: datetime | None = None) -> str:
    """How long it took, or takes so far; up to `at`."""
    until = at or chain.updated_at
    seconds = max(0.0, (until - chain.created_at).total_seconds())
    if seconds < _MINUTES:
        return f"{seconds:.1f} s"
    return str(timedelta(seconds=round(seconds)))


def _end(chain: ChainView) -> Iterator[Line]:
    """The answer, and how the chain ended."""
    if chain.status not in _END_MARKS:
        return
    errors = list(_errors(chain))
    told = {*errors, chain.error.message if chain.error else ""}
    yield from answer_lines(chain, told)
    asked = len(list(asked_in(chain)))
    counts = [elapsed(chain), count(chain.usage.actions, "action")]
    counts.append(count(chain.usage.turns, "turn"))
    counts.append(count(asked, "question"))
    if chain.never_executed:
        counts.append(f"{count(len(chain.never_executed), 'call')} never executed")
    text = chain.status + _why(chain, errors)
    note = " · ".join(counts)
    yield Line(0, _END_MARKS[chain.status], text, note, at=chain.updated_at)


def _errors(chain: ChainView) -> Iterator[str]:
    for step in chain.steps:
        for action in step.actions:
            if action.receipt and action.receipt.error:
                yield action.receipt.error.message


def _why(chain: ChainView, errors: list[str]) -> str:
    """Why it ended so, unless that was said by one of its calls."""
    if chain.stopped:
        return f", {chain.stopped}"
    if not chain.error:
        return ", unfinished" if chain.unfinished else ""
    code, message = chain.error.code, chain.error.message
    is_told = any(words and words in message for words in errors)
    return f": {code}" if is_told else f": {code} {message}"


def answer_lines(chain: ChainView, told: Iterable[str] = ()) -> list[Line]:
    """What was done and not done, and what the model says, apart (F1); the words first, unless the
    deeds do not say the same. `told`: reasons that were shown before.
    """
    answer = chain.answer or FinalAnswer()
    at = chain.updated_at
    deeds = []
    for deed in answer.deeds:
        place = deed.action_id.removeprefix(f"{chain.id}.")
        by = deed.by and f"by {deed.by}"
        note = lines.joined([place, by, *deed.warnings])
        deeds.append(Line(0, Mark.DEED, f"Done: {deed.says}", note, at=at))
    for missed in answer.not_done:
        why = missed.why.value.replace("_", " ")
        reason = "" if missed.message in told else missed.message
        note = f"{why}: {reason}" if reason else why
        deeds.append(Line(0, Mark.NOT_DONE, f"Not done: {missed.says}", note, at=at))
    said = answer.text.splitlines()
    reasons = [*told, *(missed.message for missed in answer.not_done)]
    texts = [_beyond(text, reasons) for text in said]
    texts = [text for text in texts if text.strip(" .")]
    words = [Line(0, Mark.WORDS, text, at=at) for text in texts]
    may_have_happened = any(missed.why is WhyNot.IN_DOUBT for missed in answer.not_done)
    if chain.answer is not None and not answer.deeds and not may_have_happened:
        words.append(Line(0, Mark.NOT_DONE, NOTHING, at=at))
    differ = answer.not_done or not answer.deeds
    return [*deeds, *words] if differ else [*words, *deeds]


def _beyond(text: str, reasons: Iterable[str]) -> str:
    """What a text says behind a reason that was told before."""
    for reason in reasons:
        if reason and text.startswith(reason):
            return text.removeprefix(reason).lstrip(". ")
    return text
