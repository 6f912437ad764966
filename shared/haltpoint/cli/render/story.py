"""A chain as a person would like to read it: what happened, in the order of its times, and how it
ended.

`tell` makes lines of a view. The live picture shows them all anew; a pipe gets each line once, as
soon as it is true.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain as joined
from typing import Final

from haltpoint.cli.render import lines
from haltpoint.cli.render.lines import Line, Mark
from haltpoint.cli.wording import visible
from haltpoint.contracts.answers import OR, FinalAnswer, WhyNot
from haltpoint.contracts.people.phrases import count, runs_again
from haltpoint.contracts.views.chains import ChainView, RequestView
from haltpoint.contracts.views.steps import ActionView, StepView
from haltpoint.contracts.work.bounds import ChainBounds
from haltpoint.contracts.work.routing import SUPERVISOR
from haltpoint.runs import asked_in

Block = list[Line]
"""Lines about one thing that happened, at the time of the first; without a time at the end of its
step.
"""

_LAST: Final = datetime.max.replace(tzinfo=UTC)
_ONE_DECISION: Final = timedelta(milliseconds=1)
NOTHING: Final = "Nothing was sent, changed or deleted."
_ASKED_AGAIN: Final = "the chain waits, and asks it again"
_END_MARKS: Final = {"completed": Mark.DONE, "failed": Mark.FAILED, "cancelled": Mark.NEVER}


def tell(chain: ChainView) -> list[Line]:
    """The whole story so far, step by step as they began, each in the order in which it happened.
    What is about no step is told with the one that had begun last.
    """
    steps = sorted(chain.steps, key=lambda step: _when(step.started_at))
    parts = [[], *(list(_in_step(step, chain)) for step in steps)]
    for block in _beside_steps(chain):
        parts[sum(_when(step.started_at) <= _when(block[0].at) for step in steps)].append(block)
    story = sorted(parts[0], key=_begun)
    for step, part in zip(steps, parts[1:], strict=True):
        story += [[lines.title(step)], *sorted(part, key=_begun)]
    rest = chain.waits_for_model
    if rest is not None:
        why = visible(rest.message)
        what = f"{rest.code} {why}"
        line = Line(0, Mark.MISSING, what, _ASKED_AGAIN)
        story.append([line])
    if chain.status in _END_MARKS:
        story.append(list(_end(chain)))
    return list(_timed(joined.from_iterable(story), chain.created_at))


def _timed(story: Iterable[Line], begun: datetime) -> Iterator[Line]:
    """Each line with its time: without one of its own it is that of the line before."""
    at = begun
    for line in story:
        at = line.at or at
        yield replace(line, at=at)


def _when(at: datetime | None) -> datetime:
    return at or _LAST


def _begun(block: Block) -> datetime:
    return _when(block[0].at)


def _beside_steps(chain: ChainView) -> Iterator[Block]:
    """Who works on the task, what is about the plan or the answer, and calls that belong to no
    step.
    """
    yield from (
        [lines.decision(one)] for one in (*chain.routed_before, chain.routed) if one is not None
    )
    if not chain.steps and chain.current is not None and chain.current.resting is not None:
        yield [Line(0, Mark.RUNNING, "waits", visible(chain.current.resting.why))]
    for violation in chain.violations:
        yield list(lines.violation(violation))
    for request in chain.requests:
        if not request.step_id and not request.action_id:
            yield from _asked(request)
    steps = {step.id for step in chain.steps}
    yield from (
        [lines.dropped(item, 0)]
        for item in chain.never_executed
        if item.get("step_id") not in steps
    )


def _in_step(step: StepView, chain: ChainView) -> Iterator[Block]:
    """All that happened in a step. What is only so now has no time, so that a pipe gets it once."""
    for action in step.actions:
        yield from _in_action(action, chain)
    for request in chain.requests:
        if request.step_id == step.id and not request.action_id:
            yield from _asked(request)
    for violation in step.violations:
        yield list(lines.violation(violation, routing=chain.agent == SUPERVISOR))
    for item in chain.never_executed:
        if item.get("step_id") == step.id:
            yield [replace(lines.dropped(item, 1), at=_below_a_stop(item.get("at"), step, chain))]
    if chain.current and chain.current.step_id == step.id:
        if missing := chain.current.waiting_for:
            unserved = f'{missing.code} no worker serves the queue "{visible(missing.queue)}"'
            yield [Line(1, Mark.MISSING, unserved, visible(missing.hint))]
        if rest := chain.current.resting:
            yield [
                Line(
                    1, Mark.RUNNING, runs_again(rest.until), visible(rest.why), at=chain.updated_at
                )
            ]
    if step.status in ("completed", "failed", "skipped") and step.started_at is not None:
        yield [lines.closing(step)]


def _in_action(action: ActionView, chain: ChainView) -> Iterator[Block]:
    asked = [request for request in chain.requests if request.action_id == action.id]
    if line := list(lines.called(action, asked)):
        yield line
    for request in asked:
        yield from _asked(request)
    for child in (one for one in chain.children if one.id == action.child):
        for request in asked_in(child):
            yield from _asked(request)
    if action.receipt is not None and action.status == "done":
        # A receipt that came when the chain was over already is not in its log; one that is not yet
        # may run again.
        at = action.ended_at or (chain.updated_at if chain.status in _END_MARKS else None)
        yield from [] if at is None else [[replace(lines.result(action, action.receipt), at=at)]]


def _asked(request: RequestView) -> Iterator[Block]:
    """A question, and its outcome when that was; right below it where the log does not say so
    yet.
    """
    asked, outcome = list(lines.question(request)), lines.outcome(request)
    if outcome and outcome[0].at is not None:
        yield from (asked, outcome)
    else:
        yield [*asked, *outcome]


def _below_a_stop(at: datetime | None, step: StepView, chain: ChainView) -> datetime | None:
    """A call that is dropped in the same decision in which its step asks is the proof that the step
    stopped.
    """
    stops = (one.asked_at for one in chain.requests if one.step_id == step.id)
    return next((one for one in stops if at is not None and at <= one < at + _ONE_DECISION), at)


def bounds_lines(bounds: ChainBounds) -> Iterator[str]:
    """What the goal asks of tools and says against them, a line each with whose word it is."""
    for name in bounds.__struct_fields__:
        for bound in getattr(bounds, name):
            what = filter(None, (OR.join(bound.tools), bound.words))
            yield f"{name.replace('_', ' ')}: {visible(' '.join(what))} ({bound.by.value})"


def elapsed(chain: ChainView, now: datetime | None = None) -> str:
    """How long it took, or takes so far; up to `now`."""
    seconds = ((now or chain.updated_at) - chain.created_at).total_seconds()
    minutes, rest = divmod(round(seconds), 60)
    return f"{max(0.0, seconds):.1f} s" if seconds < 120 else f"{minutes}:{rest:02} min"


def _end(chain: ChainView) -> Iterator[Line]:
    told = {
        action.receipt.error.message
        for action in joined.from_iterable(step.actions for step in chain.steps)
        if action.receipt and action.receipt.error
    }
    error = {chain.error.message} if chain.error else set()
    yield from (replace(line, at=chain.updated_at) for line in answer_lines(chain, told | error))
    counts = [
        elapsed(chain),
        count(chain.usage.actions, "action"),
        count(chain.usage.turns, "turn"),
        count(sum(1 for _ in asked_in(chain)), "question"),
    ]
    if chain.never_executed:
        counts.append(f"{count(len(chain.never_executed), 'call')} never executed")
    why = ", unfinished" if chain.unfinished else ""
    if chain.error:
        is_told = any(words and words in chain.error.message for words in told)
        reason = "" if is_told else f" {visible(chain.error.message)}"
        why = f": {chain.error.code}{reason}"
    why = f", {visible(chain.stopped)}" if chain.stopped else why
    yield Line(
        0, _END_MARKS[chain.status], f"{chain.status}{why}", " · ".join(counts), at=chain.updated_at
    )


def answer_lines(chain: ChainView, told: Container[str] = ()) -> list[Line]:
    """What was done and not done, and what the model says, apart (F1); the words first, unless the
    deeds do not say the same. `told`: reasons that were shown before.
    """
    answer = chain.answer or FinalAnswer()
    deeds = []
    for deed in answer.deeds:
        place, by = (
            deed.action_id.removeprefix(f"{chain.id}."),
            deed.by and f"by {visible(deed.by)}",
        )
        note = ", ".join(filter(None, (place, by, *map(visible, deed.warnings))))
        deeds.append(Line(0, Mark.DEED, f"Done: {visible(deed.says)}", note))
    for one in answer.not_done:
        why = one.why.value.replace("_", " ")
        reason = "" if one.message in told else one.message
        note = visible(": ".join(filter(None, (why, reason))))
        deeds.append(Line(0, Mark.NOT_DONE, f"Not done: {visible(one.says)}", note))
    words = [
        Line(0, Mark.WORDS, visible(text))
        for text in answer.text.splitlines()
        if text.strip() and text not in told
    ]
    may_have_happened = any(line.why is WhyNot.IN_DOUBT for line in answer.not_done)
    if chain.answer is not None and not answer.deeds and not may_have_happened:
        words.append(Line(0, Mark.NOT_DONE, NOTHING))
    differ = len(deeds) > len(answer.deeds) or not answer.deeds
    return [*deeds, *words] if differ else [*words, *deeds]
