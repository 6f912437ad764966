"""Decisions as operations of a commit (runtime/store/operations.py).

Pure, and the executor's hottest path: what an output needs is written once, and nothing is parsed.
"""

from collections import defaultdict
from collections.abc import Sequence
from operator import attrgetter, is_not
from typing import Any, Final, assert_never

from msgspec import Struct

from haltpoint.chain.model.outputs import (
    Ask,
    CancelChild,
    Decision,
    Dispatch,
    Output,
    Record,
    Report,
    Resolve,
    StartChild,
    Think,
    Withdraw,
)
from haltpoint.chain.model.state import Action, Chain, next_due
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.contracts import events
from haltpoint.contracts.base import chain_of, request_id, value
from haltpoint.contracts.events import Received
from haltpoint.contracts.people.humans import Question
from haltpoint.contracts.public_facts import PUBLIC
from haltpoint.contracts.reasons import Heard
from haltpoint.runtime.store import operations as ops
from haltpoint.runtime.store.chain_codec import changed_fields
from haltpoint.runtime.store.counting import count
from haltpoint.runtime.store.log_lines import encode_line
from haltpoint.runtime.store.rows import Data, Head, local
from haltpoint.runtime.streams.outgoing import Envelope, completed_parts, public_facts, rfc3339
from haltpoint.runtime.streams.wire import encode

_RANKS: Final = {"low": 0, "high": 2}
_RANK: Final = 10**14
"""What one rank weighs in the inbox's order: more than any time in ms, so that urgent questions come first."""

BESIDE_PLAN: Final = (
    *("goal", "case", "nested_successes", "bounds", "left_out", "dropped", "heard", "ledger", "known"),
    *("questions", "answers", "granted", "failing", "verdicts", "resting", "approvals"),
    "routing",
)
"""What of a chain is stored with its plan, as it changes as rarely."""
_beside_plan: Final = attrgetter(*BESIDE_PLAN)
_EMPTY: Final[tuple[Any, ...]] = (None, (), {}, Heard.NOTHING)


class Loaded(Struct, frozen=True, gc=False):
    """A chain as it was read, the version to be checked against, and the traceparent that it was submitted with."""

    chain: Chain
    version: str
    trace: str | None = None


class Decided(Struct, frozen=True, gc=False):
    """One input, the time it was decided on at (ms), and what was decided; `trace` is the context of its outputs,
    `agents` that of the chains of agents that it begins, by their ids.
    """

    received: Received
    decision: Decision
    now: int
    trace: str | None = None
    agents: dict[str, str] = {}


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


def writes(commit: ChainCommit, version: str, retention: int, facts_age: int) -> bytes:
    """The argument for one chain. `retention` in seconds, `version` is the new one, `facts_age` in ms (0: no public
    facts).

    The new version equals the old one when nothing changed: a repeat or a late message is only acknowledged.
    """
    old, new, expected = commit.loaded.chain, commit.chain, commit.loaded.version
    written: list[ops.Operation] = []
    counts: defaultdict[str, int] = defaultdict(int)
    if version != expected:
        touched = {index for each in commit.decided for index in each.decision.touched}
        written.append(ops.WriteHead([Head.VERSION, version, *changed_fields(old, new, touched)]))
        if new.task is not old.task:
            written.append(ops.WriteData(Data.TASK, encode(new.task).decode()))
        if new.plan is not old.plan or _beside_plan(new) != _beside_plan(old):
            written.append(ops.WriteData(Data.PLAN, encode(_worked_on(new)).decode()))
        if any(map(is_not, _of_its_end(new), _of_its_end(old))):
            written.append(ops.WriteData(Data.END, encode(_ended(new)).decode()))
        before = old
        for each in commit.decided:
            decision = each.decision
            if decision.chain is not before:
                count(counts, before, each.received.message, decision)
                line = encode_line(new.id, each.received, decision, each.now)
                written.append(ops.AppendLog(line, bool(decision.facts)))
                for output in decision.outputs:
                    written += _operations(each, output)
            before = decision.chain
        if new.status is not old.status:
            written.append(ops.MoveStatus(old.status, new.status, new.updated_at))
    if not new.status.final:
        due = next_due(new)
        if due != next_due(old) or events.TimerDue in {type(each.received.message) for each in commit.decided}:
            written.append(ops.SetTimer(due))
    elif not old.status.final:
        written.append(ops.EndChain(str(retention)))
    if facts_age:  # last: what was written outside cannot be taken back when an operation fails
        for each in commit.decided:
            if not PUBLIC.keys().isdisjoint([fact.type for fact in each.decision.facts]):
                facts = public_facts(each.decision, each.now, each.trace)
                written += [ops.PublishFact(facts_age, message.decode()) for message in facts]
    return ops.pack(ops.ChainWrites(old.id, expected, version, list(commit.entries), written, counts))


_of_its_end: Final = attrgetter("answer", "error", "deeds", "not_done", "unfinished")


def _worked_on(chain: Chain) -> dict[str, Any]:
    """What is stored with the plan (see `loading.StoredPlan`). A literal plan is in the task already."""
    adopted = chain.plan is not None and chain.origin is not PlanOrigin.LITERAL
    plan: dict[str, Any] = {"plan": chain.plan} if adopted else {}
    if chain.plan is None and chain.task.plan is not None:
        plan["begun"] = False
    beside = zip(BESIDE_PLAN, _beside_plan(chain), strict=True)
    return {"digests": chain.digests, **plan, **{name: value for name, value in beside if value not in _EMPTY}}


def _ended(chain: Chain) -> dict[str, Any]:
    """What is stored of the end (see `loading.StoredEnd`)."""
    beside = {"deeds": chain.deeds, "not_done": chain.not_done, "unfinished": chain.unfinished}
    return {"answer": chain.answer, "error": chain.error, **{name: one for name, one in beside.items() if one}}


def poison(commit: ChainCommit, error: Exception) -> bytes:
    """The argument for a chain whose decision could not be written down: it becomes a fault, and is reported."""
    loaded = commit.loaded
    problem = f"{type(error).__name__}: {error}".encode(errors="replace")[:1000].decode(errors="replace")
    failed: list[ops.Operation] = [ops.Fail(problem)]
    return ops.pack(ops.ChainWrites(loaded.chain.id, loaded.version, loaded.version, list(commit.entries), failed))


def _operations(each: Decided, output: Output) -> list[ops.Operation]:
    chain = each.decision.chain
    envelope = Envelope(chain.id, rfc3339(each.now), each.trace)
    match output:
        case Dispatch():
            action, order = output.action, envelope.tool_request(output, chain.task)
            return [
                ops.Dispatch(
                    action.id.partition(".")[2],
                    output.spec.queue,
                    str(action.attempt),
                    "1" if order.data.repeatable else "0",
                    action.tool,
                    action.arguments,
                    encode(order).decode(),
                    output.again,
                )
            ]
        case Think():
            return [ops.AskModel(encode(envelope.thought_request(output, chain)).decode())]
        case Ask():
            return [_ask(chain, output, envelope, each.now)]
        case Withdraw():
            request = request_id(chain.id, output.number)
            message = encode(envelope.withdrawn(request, output.reason)).decode()
            return [ops.WithdrawRequest(local(request), message)]
        case Record():
            return [_record(output.action)]
        case Resolve():
            action = output.action
            if action.outcome is None:
                raise ValueError(f"action {action.id} is resolved without an outcome")
            return [ops.ResolveAction(local(action.id), encode(action.outcome).decode(), action.data)]
        case StartChild():
            trace = each.agents.get(output.action.child, each.trace)
            begun = _begin_child(output, Envelope(chain.id, rfc3339(each.now), trace))
            return [begun] if output.admitted else [_record(output.action), begun]
        case CancelChild():
            message = encode(envelope.child_cancelled(output.chain_id, output.reason)).decode()
            return [ops.CancelChild(output.chain_id, message)]
        case Report():
            return [_report(output, envelope)]
        case _:
            assert_never(output)


def _record(action: Action) -> ops.Operation:
    return ops.RecordAction(local(action.id), action.tool, action.arguments)


def _begin_child(output: StartChild, envelope: Envelope) -> ops.Operation:
    action, task = output.action, output.task
    message = encode(envelope.child_submitted(action.child, task))
    return ops.BeginChild(
        local(action.id),
        action.child,
        encode(task).decode(),
        message.decode(),
        str(output.deadline),
        envelope.trace or "",
    )


def _report(output: Report, envelope: Envelope) -> ops.Operation:
    outcome = encode(output.outcome)
    head, tail = completed_parts(output.action_id, None, chain_of(output.action_id), envelope.trace, output.known)
    message = (head + outcome + tail).decode()
    return ops.ReportToParent(output.action_id, outcome.decode(), output.data, message)


def _ask(chain: Chain, output: Ask, envelope: Envelope, now: int) -> ops.Operation:
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
        approved_preview=output.approved_preview,
        digest=output.digest,
        preview_digest=output.preview_digest,
        priority=output.priority,
        strikes=output.strikes,
        reasons=output.reasons,
        sources=output.sources,
        path=chain.task.path,
        asked_at=now,
        deadline=request.deadline,
    )
    return ops.OpenRequest(
        local(question.request_id),
        encode(question).decode(),
        str(request.deadline),
        now + _RANKS.get(output.priority or "", 1) * _RANK,
        encode(envelope.human_request(question)).decode(),
    )
