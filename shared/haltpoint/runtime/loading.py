"""Chains from Redis: head and steps in one round trip, and in a second what a decision may need beside them."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import structlog
from pydantic import TypeAdapter

from haltpoint.chain.graph import Graph
from haltpoint.chain.needs import needed_actions, needed_thoughts, with_places
from haltpoint.chain.state import Action, ActionStatus, Chain, ChainError, Failure, OpenRequest, Rest
from haltpoint.contracts.answers import NotDone
from haltpoint.contracts.base import request_id
from haltpoint.contracts.events import ProposedActions, TaskSubmitted
from haltpoint.contracts.humans import Question
from haltpoint.contracts.intent import ChainIntent
from haltpoint.contracts.plans import Plan
from haltpoint.contracts.reasons import Grant
from haltpoint.contracts.tasks import Task
from haltpoint.contracts.thoughts import Correction, Strike
from haltpoint.contracts.tools import Outcome
from haltpoint.runtime.chain_codec import decode_head, open_numbers
from haltpoint.runtime.committing import BESIDE_PLAN, Loaded
from haltpoint.runtime.connection import Coalescer
from haltpoint.runtime.topology import Topology

_log = structlog.get_logger(__name__)

Fields = Mapping[bytes, bytes]


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """What lies under plan:<id>: the plan, unless it is the task's own or there is none yet, and its tools' digests.

    `goal` are a person's words in place of the task's; `case` the row of violations that is being counted; `inside` the
    tools that succeeded inside the skills that were called, `effects` the signatures of their calls,
    `questions` those that the model asked while planning, `granted` the yeses that cover later calls,
    `verdicts` the calls of proposals that are refused, `resting` the actions that wait for a moment.
    """

    digests: dict[str, str]
    plan: Plan | None = None
    goal: str | None = None
    case: tuple[Strike, ...] = ()
    inside: tuple[str, ...] = ()
    intent: ChainIntent | None = None
    effects: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    granted: tuple[Grant, ...] = ()
    failing: Failure | None = None
    verdicts: dict[int, dict[int, Correction]] = field(default_factory=dict)
    resting: dict[str, Rest] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredEnd:
    """What lies under end:<id>: how a chain ended."""

    answer: str | None = None
    error: ChainError | None = None
    unproven: tuple[str, ...] = ()
    unfulfilled: tuple[NotDone, ...] = ()


_PLAN = TypeAdapter(StoredPlan)
_END = TypeAdapter(StoredEnd)


def end_of(stored: bytes) -> StoredEnd:
    """How a chain ended, from what lies under its key."""
    return _END.validate_json(stored)


def arrived(message: TaskSubmitted, fields: Fields) -> Loaded | None:
    """A new chain as its own first message brings it (see `begin_chain` in lua/base.lua); None when it brings none.

    It may be further by now, or the message may lie: then the version does not fit, and the chain is loaded.
    """
    try:
        text, created = fields[b"task"], int(fields[b"created"])
        chain = Chain(
            id=message.subject,
            task=Task.model_validate_json(text),
            created_at=created,
            updated_at=created,
            deadline=int(fields[b"deadline"]),
        )
        return Loaded(chain, fields[b"ver"].decode(), message.traceparent, len(text))
    except (KeyError, ValueError):
        return None


async def load(calls: Coalescer, topology: Topology, partition: int, chain_ids: Sequence[str]) -> dict[str, Loaded]:
    """Read chains of one partition; what is missing or cannot be read is left out (the latter is logged)."""
    found = await asyncio.gather(*(_load_one(calls, topology, partition, one) for one in chain_ids))
    return {loaded.chain.id: loaded for loaded in found if loaded is not None}


async def _load_one(calls: Coalescer, topology: Topology, partition: int, chain_id: str) -> Loaded | None:
    """A chain is read by several commands, and somebody may commit between them. What was read then may fit together,
    and its commit will be a conflict; or it does not, and is read again for as long as the version moves on.
    """
    before = None
    while True:
        try:
            return await _read_one(calls, topology, partition, chain_id)
        except Exception as error:  # noqa: BLE001 - one chain that cannot be read must not stop its neighbours
            version = await calls.call("HGET", topology.key(partition, "chain", chain_id), "ver")
            if version == before:
                _log.error("chain cannot be read", chain=chain_id, exc_info=error)
                return None
            before = version


async def _read_one(calls: Coalescer, topology: Topology, partition: int, chain_id: str) -> Loaded | None:
    """Raises ValueError, KeyError or TypeError when the parts do not fit together."""

    def key(kind: str, name: str = chain_id) -> str:
        return topology.key(partition, kind, name)

    fields, (task, plan, end) = await asyncio.gather(
        calls.call("HGETALL", key("chain")), calls.call("MGET", key("task"), key("plan"), key("end"))
    )
    if not fields or task is None or fields.get(b"ver") == b"fault":
        return None
    chain = _bare(chain_id, fields, task, plan, end)
    version, trace = fields[b"ver"].decode(), fields.get(b"trace", b"").decode() or None
    numbers = open_numbers(fields)
    if chain.plan is None and not numbers:
        return Loaded(chain, version, trace, len(task))  # as every chain is at first: nothing was sent or asked yet
    questions = [
        Question.model_validate_json(text)
        for text in await asyncio.gather(
            *(calls.call("HGET", key("request", request_id(chain_id, n)), "question") for n in numbers)
        )
    ]
    asked_about = {question.action_id for question in questions if question.action_id}
    action_ids = needed_actions(chain)
    thoughts = needed_thoughts(chain)
    hashes, proposals = await asyncio.gather(
        asyncio.gather(*(calls.call("HGETALL", key("action", one)) for one in action_ids)),
        asyncio.gather(*(calls.call("HGET", key("thought", one), "data") for one in thoughts.values())),
    )
    actions = {
        one: decode_action(one, fields, _status(chain, fields, asked_about, one))
        for one, fields in zip(action_ids, hashes, strict=True)
        if fields
    }
    chain = replace(
        chain,
        actions=actions,
        requests=tuple(
            _open_request(chain, number, question) for number, question in zip(numbers, questions, strict=True)
        ),
        proposals={
            index: ProposedActions.model_validate_json(data).proposal
            for index, data in zip(thoughts, proposals, strict=True)
            if data is not None
        },
    )
    return Loaded(with_places(chain), version, trace, len(task))


def _bare(chain_id: str, fields: Fields, task: bytes, plan: bytes | None, end: bytes | None) -> Chain:
    """The chain by its own keys."""
    chain = decode_head(chain_id, Task.model_validate_json(task), fields)
    if plan is not None:
        stored = _PLAN.validate_json(plan)
        chain = replace(chain, **{name: getattr(stored, name) for name in BESIDE_PLAN})
        adopted = stored.plan or chain.task.plan
        if adopted is not None:
            chain = replace(chain, plan=adopted, digests=stored.digests, graph=Graph.of(adopted))
    if end is not None:
        ended = end_of(end)
        chain = replace(chain, **{name: getattr(ended, name) for name in StoredEnd.__slots__})
    return chain


def as_worked_on(stored: bytes | None, task: Task) -> tuple[Task, Plan | None]:
    """The task with the goal that counts, and the plan that its chain carries out: None before it has one."""
    if stored is None:
        return task, None
    found = _PLAN.validate_json(stored)
    if found.goal is not None:
        task = task.model_copy(update={"goal": found.goal})
    return task, found.plan or task.plan


def stored_plan(stored: bytes | None) -> StoredPlan:
    """What is stored with a chain's plan."""
    return StoredPlan({}) if stored is None else _PLAN.validate_json(stored)


def _status(chain: Chain, fields: Fields, asked_about: set[str], name: str) -> ActionStatus:
    """What the chain has made of an action so far, whatever its hash says by now."""
    if name in asked_about:
        return ActionStatus.ASKING
    sent = int(fields[b"n"]) in chain.runs[int(fields[b"step"])].pending
    return ActionStatus.DISPATCHED if sent else ActionStatus.DONE


def decode_action(name: str, fields: Fields, status: ActionStatus) -> Action:
    """An action by its hash, with the outcome that counts: a person's, else the worker's, else its doubt.

    One that is under way has none: its receipt may be there already, but the message that tells of it decides.
    """
    settled = fields.get(b"settled")
    outcome = settled or fields.get(b"receipt") or fields.get(b"doubt")
    data = fields.get(b"settled_data" if settled else b"data", b"")
    if status is ActionStatus.DISPATCHED:
        outcome, data = None, b""
    return Action(
        id=name,
        step=int(fields[b"step"]),
        number=int(fields[b"n"]),
        tool=fields[b"tool"].decode(),
        arguments=fields[b"args"].decode(),
        status=status,
        attempt=int(fields[b"attempt"]),
        outcome=Outcome.model_validate_json(outcome) if outcome else None,
        data=data.decode(),
        child=fields.get(b"child", b"").decode(),
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
    )
