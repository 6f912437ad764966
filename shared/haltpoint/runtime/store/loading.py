"""Chains from Redis: the head and the steps in one round trip, the needs of a decision in a
second.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
import structlog
from msgspec.structs import replace

from haltpoint.chain.model.needs import live_steps, needed_actions, needed_thoughts
from haltpoint.chain.model.references import Graph
from haltpoint.chain.model.state import Action, Chain, OpenProposal
from haltpoint.chain.model.statuses import ActionStatus
from haltpoint.contracts.events import ActionProposed, TaskSubmitted
from haltpoint.contracts.people.humans import Question
from haltpoint.contracts.results import Outcome
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store.chain_codec import decode_chain
from haltpoint.runtime.store.chain_reader import ChainReader
from haltpoint.runtime.store.committing import Loaded
from haltpoint.runtime.store.rows import (
    Data,
    Fields,
    Head,
    StoredAction,
    action_of,
    action_parts,
    local,
    thought_of,
)

_log = structlog.get_logger(__name__)
read_outcome: Final = msgspec.json.Decoder(Outcome).decode


def arrived(message: TaskSubmitted, fields: Mapping[bytes, bytes]) -> Loaded | None:
    """A new chain out of its first message (see `begin_chain` in lua/base.lua); None: not in there.

    The chain may be further by now, or the message may lie: then the version does not fit, and the
    chain is loaded. The message of a gateway of another release has no field of this name: its rows
    are not ours (HP-022).
    """
    try:
        created = int(fields[Head.CREATED.encode()])
        deadline = int(fields[Head.DEADLINE.encode()])
        task = msgspec.json.decode(fields[Data.TASK.encode()], type=Task)
        version = fields[Head.VERSION.encode()].decode()
    except (KeyError, ValueError):
        return None
    chain = Chain(message.subject, task, created_at=created, updated_at=created, deadline=deadline)
    return Loaded(chain, version, message.traceparent)


async def load(reader: ChainReader, chain_ids: Iterable[str]) -> dict[str, Loaded]:
    """Read chains. Left out: missing, or not readable (logged)."""
    chains = await asyncio.gather(*(_load_one(reader, chain_id) for chain_id in chain_ids))
    return {loaded.chain.id: loaded for loaded in chains if loaded is not None}


async def _load_one(reader: ChainReader, chain_id: str) -> Loaded | None:
    """A chain is read by several commands, and another commit may come between them.

    The parts that were read then may fit together, and their commit will be a conflict; or they do
    not, and are read again for as long as the version moves on.
    """
    before = None
    while True:
        try:
            return await _read(reader, chain_id)
        except Exception as error:  # noqa: BLE001 - one chain that cannot be read must not stop its neighbours
            version = await reader.head(chain_id, Head.VERSION)
            if version == before:
                _log.error("chain cannot be read", chain=chain_id, exc_info=error)
                return None
            before = version


async def _read(reader: ChainReader, chain_id: str) -> Loaded | None:
    """Raises ValueError, KeyError or TypeError when the parts do not fit together."""
    head, data = await asyncio.gather(reader.head(chain_id), reader.data(chain_id, *Data))
    version = head.get(Head.VERSION, "quarantined")
    if version == "quarantined" or Data.TASK not in data:
        return None
    chain = decode_chain(chain_id, head, data)
    if chain.plan is not None:
        chain = replace(chain, graph=Graph.of(chain.plan))
    numbers = head.get(Head.OPEN, "").split()
    if chain.plan is not None or numbers:  # else it is new: nothing was sent or asked yet
        chain = await _with_needs(reader, chain, numbers, head)
    return Loaded(chain, version, head.get(Head.TRACE) or None)


async def _with_needs(
    reader: ChainReader, chain: Chain, numbers: Iterable[str], head: Fields
) -> Chain:
    """The chain with the actions, requests and proposals that a decision may need."""
    asked = [f"r{number}" for number in numbers]
    actions = needed_actions(chain)
    thoughts = {index: local(thought) for index, thought in needed_thoughts(chain).items()}
    names = [*asked, *thoughts.values()]
    for action in actions:
        name = local(action)
        names += action_parts(name)
    data = await reader.data(chain.id, *names) if names else {}
    questions = [msgspec.json.decode(data[name], type=Question) for name in asked]
    asked_about = {question.action_id for question in questions}
    stored = [action_of(action, head, data) for action in actions]
    proposals: dict[int, OpenProposal] = {}
    for index, name in thoughts.items():
        if name in data:
            reply = msgspec.json.decode(thought_of(data[name]).data, type=ActionProposed.Data)
            judged = chain.proposals.get(index)
            proposals[index] = OpenProposal(reply.proposal, judged.refused if judged else {})
    return replace(
        chain,
        live=live_steps(chain.runs),
        actions={row.id: _action(chain, row, asked_about) for row in stored if row},
        requests=tuple(questions),
        proposals=proposals,
    )


def _action(chain: Chain, stored: StoredAction, asked_about: set[str]) -> Action:
    """The chain's view of an action so far, whatever is stored of it by now.

    The receipt of an action that is under way may be there already, but the message that brings it
    decides.
    """
    step_id, _, number = local(stored.id).rpartition(".")
    step = chain.graph.index[step_id]
    status = ActionStatus.DONE
    if stored.id in asked_about:
        status = ActionStatus.ASKING
    elif int(number) in chain.runs[step].pending:
        status = ActionStatus.DISPATCHED
    return decode_action(stored, step, status)


def decode_action(stored: StoredAction, step: int, status: ActionStatus) -> Action:
    """An action with the outcome that counts; an action that is under way has none."""
    counts = None if status is ActionStatus.DISPATCHED else stored.counts
    return Action(
        id=stored.id,
        step=step,
        number=int(stored.id.rpartition(".")[2]),
        tool=stored.tool,
        arguments=stored.arguments,
        status=status,
        attempt=stored.row.attempt,
        outcome=read_outcome(counts.outcome) if counts else None,
        data=counts.data if counts else "",
        child=stored.child,
    )
