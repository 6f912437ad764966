"""Decisions as operations of a commit (runtime/store/operations.py).

Pure, and the executor's hottest path: what an output needs is written once, and nothing is parsed.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, assert_never

from msgspec import Struct
from msgspec.structs import replace

from haltpoint.chain.model.outputs import (
    CancelChild,
    Decision,
    Dispatch,
    Output,
    Record,
    Report,
    Resolve,
    StartChild,
    Withdraw,
)
from haltpoint.chain.model.state import Action, Chain, next_due
from haltpoint.contracts import events
from haltpoint.contracts.base import chain_of, value
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.events import Received
from haltpoint.contracts.people.humans import Question
from haltpoint.contracts.work.tasks import OwnSpan
from haltpoint.runtime.config.errors import in_words
from haltpoint.runtime.observability.telemetry import title_of
from haltpoint.runtime.store import operations as ops
from haltpoint.runtime.store.chain_codec import changed_data, changed_head
from haltpoint.runtime.store.counting import count
from haltpoint.runtime.store.log_lines import encode_line
from haltpoint.runtime.store.rows import Head, local
from haltpoint.runtime.streams.outgoing import (
    Envelope,
    completed_parts,
    public_facts,
    rfc3339,
)
from haltpoint.runtime.streams.wire import encode

_RANKS: Final = {"low": 1, "high": 3}
_RANK: Final = 10**14
"""The weight of a rank in the inbox's order: more than any time in ms, so that urgent questions
come first, and of these the question that is closest to its deadline.
"""


class Loaded(Struct, frozen=True, gc=False):
    """A chain as it was read."""

    chain: Chain
    version: str
    """To be checked against by its commit."""
    trace: str | None = None
    """The traceparent that it was submitted with."""


class Decided(Struct, frozen=True, gc=False):
    """One input, and its decision."""

    received: Received
    decision: Decision
    now: int
    """The time of the decision in ms."""
    trace: str | None = None
    """The context of its outputs."""
    children: dict[str, str] = {}
    """The contexts of the chains that it begins, by their ids; none where it is not traced."""


@value
class ChainCommit:
    """All that happened to one chain in a batch."""

    loaded: Loaded
    decided: Sequence[Decided]
    """In the order of the decisions, the second with the first one's chain."""
    entries: list[str]
    """The ids of the entries of the events stream that are finished with it."""
    fault: Exception | None = None
    """Nothing could be decided, not even that the chain has failed."""

    @property
    def chain(self) -> Chain:
        """The chain afterwards."""
        return self.decided[-1].decision.chain if self.decided else self.loaded.chain

    @property
    def ends(self) -> bool:
        """Whether the chain ends with it."""
        return self.chain.status.final and not self.loaded.chain.status.final


def writes(commit: ChainCommit, version: str, retention: int, facts_age: int) -> bytes:
    """The argument for one chain. `retention` in seconds, `facts_age` in ms (0: no public facts).

    The new `version` equals the old one when nothing changed: a repeat or a late message is only
    acknowledged.
    """
    old = commit.loaded.chain
    new = commit.chain
    expected = commit.loaded.version
    operations: list[ops.Operation] = []
    counts: defaultdict[str, int] = defaultdict(int)
    if version != expected:
        touched = {index for each in commit.decided for index in each.decision.touched}
        head = [Head.VERSION, version, *changed_head(old, new, touched)]
        operations.append(ops.WriteHead(head))
        for field, text in changed_data(old, new).items():
            operations.append(ops.WriteData(field, text))
        before = old
        for each in commit.decided:
            if each.decision.chain is not before:
                operations += _decision(each)
                count(counts, before, each.received.message, each.decision)
            before = each.decision.chain
        if new.status is not old.status:
            operations.append(ops.MoveStatus(old.status, new.status, new.updated_at))
    operations += _timer(commit, old, new, retention)
    if facts_age:  # last: a fact cannot be taken back when an operation fails
        for each in commit.decided:
            facts = public_facts(each.decision, each.now, each.trace)
            operations += [ops.PublishFact(facts_age, fact.decode()) for fact in facts]
    return ops.pack(ops.ChainWrites(old.id, expected, version, commit.entries, operations, counts))


def poison(commit: ChainCommit, error: Exception) -> bytes:
    """The argument for a chain whose decision cannot be written: it becomes a fault."""
    loaded = commit.loaded
    version = loaded.version
    failed = ops.Fail(in_words(error)[:1000])
    whole = ops.ChainWrites(loaded.chain.id, version, version, commit.entries, [failed])
    return ops.pack(whole)


def _timer(commit: ChainCommit, old: Chain, new: Chain, retention: int) -> list[ops.Operation]:
    if old.status.final:
        return []
    if new.status.final:
        return [ops.EndChain(str(retention))]
    due = next_due(new)
    messages = {type(each.received.message) for each in commit.decided}
    if due == next_due(old) and events.TimerDue not in messages:
        return []
    return [ops.SetTimer(due)]


def _decision(decided: Decided) -> list[ops.Operation]:
    """A line of the log, and all that a decision sends."""
    decision = decided.decision
    line = encode_line(decision.chain.id, decided.received, decision, decided.now)
    operations: list[ops.Operation] = [ops.AppendLog(line, bool(decision.facts))]
    for output in decision.outputs:
        operations += _operations(decided, output)
    return operations


def _operations(decided: Decided, output: Output) -> list[ops.Operation]:
    chain = decided.decision.chain
    envelope = Envelope(chain.id, rfc3339(decided.now), decided.trace)
    match output:
        case Dispatch():
            action = output.action
            order = envelope.tool_request(output, chain.task)
            dispatch = ops.Dispatch(
                id=local(action.id),
                queue=output.spec.queue,
                attempt=str(action.attempt),
                repeatable="1" if order.data.repeatable else "0",
                tool=action.tool,
                arguments=action.arguments,
                message=encode(order).decode(),
                again=output.again,
            )
            return [dispatch]
        case ThoughtRequest():
            thought = envelope.thought_request(output)
            return [ops.AskModel(encode(thought).decode())]
        case Question():
            return [_ask(output, envelope)]
        case Withdraw():
            withdrawn = envelope.withdrawn(output.request_id, output.reason)
            return [ops.WithdrawRequest(local(output.request_id), encode(withdrawn).decode())]
        case Record():
            return [_record(output.action)]
        case Resolve():
            action = output.action
            if action.outcome is None:
                raise ValueError(f"action {action.id} is resolved without an outcome")
            outcome = encode(action.outcome).decode()
            return [ops.ResolveAction(local(action.id), outcome, action.data)]
        case StartChild():
            begun = _begin_child(output, decided)
            return [begun] if output.again else [_record(output.action), begun]
        case CancelChild():
            cancelled = envelope.child_cancelled(output.chain_id, output.reason)
            return [ops.CancelChild(output.chain_id, encode(cancelled).decode())]
        case Report():
            return [_report(output, envelope)]
        case _:
            assert_never(output)


def _record(action: Action) -> ops.Operation:
    return ops.RecordAction(local(action.id), action.tool, action.arguments)


def _begin_child(output: StartChild, decided: Decided) -> ops.Operation:
    action = output.action
    task = output.task
    trace = decided.children.get(action.child)
    if trace is not None:
        own = OwnSpan(title=title_of(task, action.tool), parent=decided.trace or "")
        task = replace(task, handed=replace(task.handed, span=own))
    envelope = Envelope(decided.decision.chain.id, rfc3339(decided.now), trace or decided.trace)
    message = envelope.child_submitted(action.child, task)
    return ops.BeginChild(
        id=local(action.id),
        child=action.child,
        task=encode(task).decode(),
        message=encode(message).decode(),
        deadline=str(output.deadline),
        trace=envelope.trace or "",
    )


def _report(output: Report, envelope: Envelope) -> ops.Operation:
    action = output.action_id
    outcome = encode(output.outcome)
    head, tail = completed_parts(action, None, chain_of(action), envelope.trace, output.known)
    message = head + outcome + tail
    return ops.ReportToParent(action, outcome.decode(), output.data, message.decode())


def _ask(question: Question, envelope: Envelope) -> ops.Operation:
    message = envelope.human_request(question)
    rank = _RANKS.get(question.priority or "", 2)
    return ops.OpenRequest(
        id=local(question.request_id),
        question=encode(question).decode(),
        deadline=str(question.deadline),
        rank=rank * _RANK - question.deadline,
        message=encode(message).decode(),
    )
