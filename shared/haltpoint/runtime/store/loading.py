"""Chains from Redis: head and steps in one round trip, and in a second what a decision may need beside them."""

import asyncio
from collections.abc import Sequence

import msgspec
import structlog
from msgspec import field
from msgspec.structs import replace

from haltpoint.chain.model.needs import needed_actions, needed_thoughts, with_places
from haltpoint.chain.model.references import Graph
from haltpoint.chain.model.state import (
    Action,
    Chain,
    ChainError,
    Dropped,
    Failure,
    OpenRequest,
    Rest,
    Routing,
    goal_in_full,
)
from haltpoint.chain.model.statuses import ActionStatus
from haltpoint.contracts.answers import Deed, NotDone
from haltpoint.contracts.base import Strict, request_id
from haltpoint.contracts.events import ActionProposed, TaskSubmitted
from haltpoint.contracts.people.approvals import Approval
from haltpoint.contracts.people.humans import Question
from haltpoint.contracts.reasons import Grant, Heard
from haltpoint.contracts.results import Outcome
from haltpoint.contracts.work.bounds import ChainBounds, LeftOut
from haltpoint.contracts.work.known import KnownReceipt
from haltpoint.contracts.work.ledger import Ledger
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import Correction, Strike
from haltpoint.runtime.store.chain_codec import decode_head, open_numbers
from haltpoint.runtime.store.committing import BESIDE_PLAN, Loaded
from haltpoint.runtime.store.rows import (
    Data,
    Fields,
    Head,
    Key,
    StoredAction,
    action_of,
    action_parts,
    local,
    thought_of,
)
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.topology import Topology

_log = structlog.get_logger(__name__)


class StoredPlan(Strict):
    """What is stored with the plan: the plan, unless it is the task's own or there is none yet, and its tools' digests.
    `begun`: that of the task, if it has one, was taken up.

    `goal` are a person's words in place of the task's; `case` the row of violations that is being counted;
    `nested_successes` the tools that succeeded inside the skills that were called, `ledger` what became of its
    effects, `known` the receipts that its agents made known, `questions` those that the model asked while planning,
    `answers` a person's words to them, `granted` the yeses that cover later calls, `verdicts` the calls of proposals
    that are refused, `resting` the actions that wait for a moment, `approvals` a person's yes to an action.
    """

    digests: dict[str, str]
    begun: bool = True
    plan: Plan | None = None
    goal: str | None = None
    case: tuple[Strike, ...] = ()
    nested_successes: tuple[str, ...] = ()
    bounds: ChainBounds | None = None
    left_out: tuple[LeftOut, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    heard: Heard = Heard.NOTHING
    ledger: Ledger = field(default_factory=dict)
    known: tuple[KnownReceipt, ...] = ()
    questions: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    granted: tuple[Grant, ...] = ()
    failing: Failure | None = None
    verdicts: dict[int, dict[int, Correction]] = field(default_factory=dict)
    resting: dict[str, Rest] = field(default_factory=dict)
    approvals: dict[str, Approval] = field(default_factory=dict)
    routing: Routing | None = None

    def carried_out(self, task: Task) -> Plan | None:
        """The plan that the chain of this task carries out; None before it has one."""
        return self.plan or (task.plan if self.begun else None)


class StoredEnd(Strict):
    """What is stored of the end of a chain."""

    answer: str | None = None
    error: ChainError | None = None
    deeds: tuple[Deed, ...] = ()
    not_done: tuple[NotDone, ...] = ()
    unfinished: bool = False


def end_of(stored: bytes) -> StoredEnd:
    """How a chain ended, from its field."""
    return msgspec.json.decode(stored, type=StoredEnd)


def arrived(message: TaskSubmitted, fields: Fields) -> Loaded | None:
    """A new chain as its own first message brings it (see `begin_chain` in lua/base.lua); None when it brings none.

    It may be further by now, or the message may lie: then the version does not fit, and the chain is loaded. That of a
    gateway of another release has no field of this name: its rows are not ours (HP-022).
    """
    try:
        text, created = fields[Data.TASK.encode()], int(fields[Head.CREATED.encode()])
        chain = Chain(
            id=message.subject,
            task=msgspec.json.decode(text, type=Task),
            created_at=created,
            updated_at=created,
            deadline=int(fields[Head.DEADLINE.encode()]),
        )
        return Loaded(chain, fields[Head.VERSION.encode()].decode(), message.traceparent)
    except (KeyError, ValueError):
        return None


async def load(calls: AutoPipeline, topology: Topology, partition: int, chain_ids: Sequence[str]) -> dict[str, Loaded]:
    """Read chains of one partition; what is missing or cannot be read is left out (the latter is logged)."""
    found = await asyncio.gather(*(_load_one(calls, topology, partition, one) for one in chain_ids))
    return {loaded.chain.id: loaded for loaded in found if loaded is not None}


async def _load_one(calls: AutoPipeline, topology: Topology, partition: int, chain_id: str) -> Loaded | None:
    """A chain is read by several commands, and somebody may commit between them. What was read then may fit together,
    and its commit will be a conflict; or it does not, and is read again for as long as the version moves on.
    """
    before = None
    while True:
        try:
            return await _read_one(calls, topology, partition, chain_id)
        except Exception as error:  # noqa: BLE001 - one chain that cannot be read must not stop its neighbours
            version = await calls.call("HGET", topology.key(partition, Key.CHAIN, chain_id), Head.VERSION)
            if version == before:
                _log.error("chain cannot be read", chain=chain_id, exc_info=error)
                return None
            before = version


async def _read_one(calls: AutoPipeline, topology: Topology, partition: int, chain_id: str) -> Loaded | None:
    """Raises ValueError, KeyError or TypeError when the parts do not fit together."""
    head_key, data_key = (topology.key(partition, key, chain_id) for key in (Key.CHAIN, Key.DATA))
    head, (task, plan, end) = await asyncio.gather(
        calls.call("HGETALL", head_key), calls.call("HMGET", data_key, *Data)
    )
    if task is None or head.get(Head.VERSION.encode()) in (None, b"quarantined"):
        return None
    chain = _bare(chain_id, head, task, plan, end)
    version = head[Head.VERSION.encode()].decode()
    trace = head.get(Head.TRACE.encode(), b"").decode() or None
    numbers = open_numbers(head)
    if chain.plan is None and not numbers:
        return Loaded(chain, version, trace)  # as every chain is at first: nothing was sent or asked yet
    requests = [request_id(chain_id, number) for number in numbers]
    action_ids, thoughts = needed_actions(chain), needed_thoughts(chain)
    fields = [
        *map(local, requests),
        *(part for one in action_ids for part in action_parts(local(one))),
        *map(local, thoughts.values()),
    ]
    found = await calls.call("HMGET", data_key, *fields) if fields else ()
    data = {name.encode(): text for name, text in zip(fields, found, strict=True) if text is not None}
    questions = [msgspec.json.decode(data[local(one).encode()], type=Question) for one in requests]
    asked_about = {question.action_id for question in questions if question.action_id}
    stored = [action for one in action_ids if (action := action_of(one, head, data)) is not None]
    chain = replace(
        chain,
        actions={one.id: _action(chain, one, asked_about) for one in stored},
        requests=tuple(
            _open_request(chain, number, question) for number, question in zip(numbers, questions, strict=True)
        ),
        proposals={
            index: msgspec.json.decode(thought_of(text).data, type=ActionProposed.Data).proposal
            for index, thought in thoughts.items()
            if (text := data.get(local(thought).encode())) is not None
        },
    )
    return Loaded(with_places(chain), version, trace)


def _bare(chain_id: str, head: Fields, task: bytes, plan: bytes | None, end: bytes | None) -> Chain:
    """The chain by its own fields."""
    chain = decode_head(chain_id, msgspec.json.decode(task, type=Task), head)
    if plan is not None:
        stored = msgspec.json.decode(plan, type=StoredPlan)
        chain = replace(chain, **{name: getattr(stored, name) for name in BESIDE_PLAN})
        if (adopted := stored.carried_out(chain.task)) is not None:
            chain = replace(chain, plan=adopted, digests=stored.digests, graph=Graph.of(adopted))
    if end is not None:
        ended = end_of(end)
        chain = replace(chain, **{name: getattr(ended, name) for name in StoredEnd.__struct_fields__})
    return chain


def as_worked_on(stored: bytes | None, task: Task) -> tuple[Task, Plan | None]:
    """The task with the goal that counts, and the plan that its chain carries out: None before it has one."""
    if stored is None:
        return task, None
    found = msgspec.json.decode(stored, type=StoredPlan)
    goal = goal_in_full(task, found.goal, found.answers)
    return msgspec.structs.replace(task, goal=goal), found.carried_out(task)


def stored_plan(stored: bytes | None) -> StoredPlan:
    """What is stored with a chain's plan."""
    return StoredPlan(digests={}) if stored is None else msgspec.json.decode(stored, type=StoredPlan)


def _action(chain: Chain, stored: StoredAction, asked_about: set[str]) -> Action:
    """What the chain has made of an action so far, whatever is stored of it by now: of one that is under way the
    receipt may be there already, but the message that brings it decides.
    """
    step_id, _, number = local(stored.id).rpartition(".")
    step = chain.graph.index[step_id]
    if stored.id in asked_about:
        return decode_action(stored, step, ActionStatus.ASKING)
    sent = int(number) in chain.runs[step].pending
    return decode_action(stored, step, ActionStatus.DISPATCHED if sent else ActionStatus.DONE)


def decode_action(stored: StoredAction, step: int, status: ActionStatus) -> Action:
    """An action with the outcome that counts; one that is under way has none."""
    counts = None if status is ActionStatus.DISPATCHED else stored.counts
    return Action(
        id=stored.id,
        step=step,
        number=int(stored.id.rpartition(".")[2]),
        tool=stored.tool,
        arguments=stored.arguments,
        status=status,
        attempt=stored.row.attempt,
        outcome=msgspec.json.decode(counts.outcome, type=Outcome) if counts else None,
        data=counts.data if counts else "",
        child=stored.child,
    )


def _open_request(chain: Chain, number: int, question: Question) -> OpenRequest:
    return OpenRequest(
        number=number,
        kind=question.kind,
        step=chain.graph.index[question.step_id] if question.step_id else -1,
        action_id=question.action_id,
        deadline=question.deadline,
        options=question.options,
        form=question.form,
        tool=question.tool,
        question=question.question,
    )
