"""Decisions as arguments of hp1_commit (the operations are told at the top of lua/commit.lua).

Pure, and the executor's hottest path: what an output needs is written once, and nothing is parsed.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any, Final, assert_never

from pydantic_core import to_json

from haltpoint.chain.outputs import (
    Ask,
    CancelChild,
    Decision,
    Dispatch,
    Output,
    Record,
    Report,
    Settle,
    StartChild,
    Think,
    Withdraw,
)
from haltpoint.chain.state import Chain, PlanOrigin, next_due
from haltpoint.contracts import events
from haltpoint.contracts.base import action_id, chain_of, request_id, value
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.events import Received
from haltpoint.contracts.humans import Question
from haltpoint.runtime.chain_codec import changed_fields
from haltpoint.runtime.connection import Argument
from haltpoint.runtime.counting import count
from haltpoint.runtime.outgoing import Envelope, completed_parts, encode_outcome, rfc3339
from haltpoint.runtime.public_facts import public_facts
from haltpoint.runtime.wire import compact, encode

_CHUNK: Final = 200  # values in one HSET
_RANKS: Final = {"low": 0, "high": 2}
_RANK: Final = 10**14
"""What one rank weighs in the inbox's order: more than any time in ms, so that urgent questions come first."""

BESIDE_PLAN: Final = (
    *("goal", "case", "inside", "intent", "effects", "questions", "granted", "failing", "verdicts", "resting"),
)
"""What of a chain is stored with its plan, as it changes as rarely."""
_beside_plan: Final = attrgetter(*BESIDE_PLAN)


@value
class Loaded:
    """A chain as it was read, the version to be checked against, and the traceparent that it was submitted with.

    `task_bytes` is how long its task is as JSON.
    """

    chain: Chain
    version: str
    trace: str | None = None
    task_bytes: int = 0


@value
class Decided:
    """One input, the time it was decided on at (ms), and what was decided; `trace` is the context of its outputs."""

    received: Received
    decision: Decision
    now: int
    trace: str | None = None


@value
class ChainCommit:
    """What became of one chain in a batch: its inputs in the order in which they were decided on, the second with the
    first one's chain, and the ids of the entries of the events stream that are finished with it. `fault`: nothing could
    be decided, not even that the chain has failed.
    """

    loaded: Loaded
    decided: Sequence[Decided]
    entries: Sequence[str]
    fault: Exception | None = None

    @property
    def chain(self) -> Chain:
        """The chain afterwards."""
        return self.decided[-1].decision.chain if self.decided else self.loaded.chain


def segment(commit: ChainCommit, version: str, retention: int, facts_age: int) -> list[Argument]:
    """The arguments for one chain, without their number. `retention` in seconds, `version` is the new one, `facts_age`
    in ms (0: no public facts).

    The new version equals the old one when nothing changed (see `changes`).
    """
    old, new = commit.loaded.chain, commit.chain
    args: list[Argument] = [old.id, commit.loaded.version, version, len(commit.entries), *commit.entries]
    if version != commit.loaded.version:
        touched = {index for each in commit.decided for index in each.decision.touched}
        fields = ["ver", version, *changed_fields(old, new, touched)]
        for start in range(0, len(fields), _CHUNK):
            chunk = fields[start : start + _CHUNK]
            args += ("H", len(chunk), *chunk)
        if new.plan is not old.plan or _beside_plan(new) != _beside_plan(old):
            args += ("S", f"plan:{new.id}", to_json(_worked_on(new), exclude_none=True))
        if new.answer is not old.answer or new.error is not old.error or new.unproven is not old.unproven:
            args += ("S", f"end:{new.id}", to_json(_ended(new), exclude_none=True))
        counts: Counter[str] = Counter()
        for before, each in _with_former(commit):
            if each.decision.chain is not before:
                count(counts, before, each.received.message, each.decision)
                args += ("L", each.now, _heading(each.received), _facts(each.decision))
                for output in each.decision.outputs:
                    args += _operation(each, output)
        if counts:
            args += ("K", 2 * len(counts), *(part for pair in counts.items() for part in pair))
        if new.status is not old.status:
            args += ("I", old.status, new.status, new.updated_at)
    args += _timer(old, new, commit.decided, retention)
    if facts_age:  # last: what was written outside cannot be taken back when an operation fails
        for each in commit.decided:
            for message in public_facts(each.decision, each.now, each.trace):
                args += ("O", facts_age, message)
    return args


def _worked_on(chain: Chain) -> dict[str, Any]:
    """What is stored under plan:<id> (see `loading.StoredPlan`). A literal plan is in the task already."""
    plan = {} if chain.plan is None or chain.origin is PlanOrigin.LITERAL else {"plan": chain.plan}
    beside = zip(BESIDE_PLAN, _beside_plan(chain), strict=True)
    return {"digests": chain.digests, **plan, **{name: value for name, value in beside if value not in (None, (), {})}}


def _ended(chain: Chain) -> dict[str, Any]:
    """What is stored under end:<id> (see `loading.StoredEnd`)."""
    beside = {"unproven": chain.unproven, "unfulfilled": chain.unfulfilled}
    return {"answer": chain.answer, "error": chain.error, **{name: one for name, one in beside.items() if one}}


def unspeakable(commit: ChainCommit, error: Exception) -> list[Argument]:
    """The arguments for a chain whose decision could not be written down: it becomes a fault, and is reported."""
    loaded = commit.loaded
    problem = f"{type(error).__name__}: {error}".encode(errors="replace")[:1000]
    return [loaded.chain.id, loaded.version, loaded.version, len(commit.entries), *commit.entries, "Q", problem]


def changes(commit: ChainCommit) -> bool:
    """Whether anything was decided at all; a repeat or a late message changes nothing and is only acknowledged."""
    return commit.chain is not commit.loaded.chain


def _with_former(commit: ChainCommit) -> Iterator[tuple[Chain, Decided]]:
    """Each decision with the chain before it."""
    before = commit.loaded.chain
    for each in commit.decided:
        yield before, each
        before = each.decision.chain


def _facts(decision: Decision) -> bytes:
    return to_json([(fact.type.value, fact.details) for fact in decision.facts])


def _timer(old: Chain, new: Chain, decided: Sequence[Decided], retention: int) -> list[Argument]:
    if new.status.final:
        if old.status.final:
            return []
        names = list(_names(new))
        return ["F", retention, len(names), *names]
    due = next_due(new)
    went_off = any(isinstance(each.received.message, events.TimerDue) for each in decided)
    return ["T", due] if went_off or due != next_due(old) else []


def _names(chain: Chain) -> Iterator[str]:
    """All keys that a chain has, without the prefix; thoughts have an expiry from the start."""
    for kind in ("chain", "task", "plan", "end", "log"):
        yield f"{kind}:{chain.id}"
    if chain.plan is not None:
        for step, run in zip(chain.plan.steps, chain.runs, strict=True):
            for number in range(1, run.actions + 1):
                yield f"action:{action_id(chain.id, step.id, number)}"
    for number in range(1, chain.asked + 1):
        yield f"request:{request_id(chain.id, number)}"


def _heading(received: Received) -> bytes:
    """What a line of the log says of its input: its name, and where it can be read again, or the whole when small."""
    message = received.message
    name = message.type.rpartition(".")[0]
    match message:
        case events.TaskSubmitted():
            told = b""
        case events.ToolCompleted():
            told = b',"ref":' + to_json(message.data.action_id)
        case events.HumanAnswered():
            told = b',"ref":' + to_json(message.data.request_id)
        case (
            events.IntentDrafted()
            | events.PlanDrafted()
            | events.ActionProposed()
            | events.AnswerDrafted()
            | events.ThoughtFailed()
        ):
            told = b',"ref":' + to_json(message.data.thought_id)
        case events.TimerDue() | events.TaskCancelled() | events.MessageLost():
            told = b',"data":' + to_json(message.data)
        case _:
            assert_never(message)
    return b',"type":"%s"%s' % (name.encode(), told)


def _operation(each: Decided, output: Output) -> list[Argument]:
    chain = each.decision.chain
    envelope = Envelope(chain.id, rfc3339(each.now), each.trace)
    match output:
        case Dispatch():
            return _dispatch(chain, output, envelope)
        case Think():
            return ["X", Stream.PLANS, encode(envelope.thought_request(output, chain))]
        case Ask():
            return _ask(chain, output, envelope, each.now)
        case Withdraw():
            number = request_id(chain.id, output.number)
            return ["W", number, encode(envelope.withdrawn(number, output.reason))]
        case Record():
            action = output.action
            return ["N", action.id, action.step, action.number, action.tool, action.arguments]
        case Settle():
            action = output.action
            if action.outcome is None:
                raise ValueError(f"action {action.id} is settled without an outcome")
            return ["E", action.id, encode_outcome(action.outcome), action.data]
        case StartChild():
            return _start_child(output, envelope)
        case CancelChild():
            return ["D", output.chain_id, encode(envelope.child_cancelled(output.chain_id, output.reason))]
        case Report():
            return _report(output, envelope)
        case _:
            assert_never(output)


def _dispatch(chain: Chain, output: Dispatch, envelope: Envelope) -> list[Argument]:
    action, spec = output.action, output.spec
    return [
        *("A", int(output.again), action.id, spec.queue, action.step, action.number, action.tool, action.attempt),
        *(int(spec.repeatable), action.arguments, envelope.tool_request(output, chain.task)),
    ]


def _start_child(output: StartChild, envelope: Envelope) -> list[Argument]:
    action, task = output.action, output.task
    written = ("N", action.id, action.step, action.number, action.tool, action.arguments)
    return [
        *(() if output.admitted else written),
        *("B", action.id, action.child, compact(task), encode(envelope.child_submitted(action.child, task))),
        *(output.deadline, envelope.trace or ""),
    ]


def _report(output: Report, envelope: Envelope) -> list[Argument]:
    outcome = encode_outcome(output.outcome)
    head, tail = completed_parts(output.action_id, None, chain_of(output.action_id), envelope.trace)
    return ["P", output.action_id, outcome, output.data, head + outcome + tail]


def _ask(chain: Chain, output: Ask, envelope: Envelope, now: int) -> list[Argument]:
    request = output.request
    question = Question(
        request_id=request_id(chain.id, request.number),
        kind=request.kind,
        question=output.question,
        step_id=chain.plan.steps[request.step].id if chain.plan is not None and request.step >= 0 else "",
        action_id=request.action_id,
        tool=request.tool,
        options=request.options,
        form=request.form,
        arguments=output.arguments,
        preview=output.preview,
        priority=output.priority,
        strikes=output.strikes,
        reasons=output.reasons,
        sources=output.sources,
        asked_at=now,
        deadline=request.deadline,
    )
    text = to_json(question, exclude_none=True)
    message = encode(envelope.human_request(question))
    place = now + _RANKS.get(output.priority or "", 1) * _RANK
    return ["R", question.request_id, text, request.deadline, chain.id, place, message]
