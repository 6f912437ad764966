"""Chains in which nothing moves although they are not over (R11).

A living chain has something under way, an open question or a timer: one commit writes all that it
needs. What removes a message by other means (an operator, an eviction, a fault of ours) leaves it
waiting for nothing. Each minute such chains are found. A result that is on record is told again.
Where there is none the chain hears that the message is lost: it ends with a code, and a call that
may have taken effect is in doubt.
"""

from collections.abc import Iterable
from typing import Final

from haltpoint.chain.handlers.results import report_id
from haltpoint.chain.model.statuses import ActionStatus
from haltpoint.runtime.observability import logs
from haltpoint.runtime.store.committing import Loaded
from haltpoint.runtime.store.store import Store

EVERY: Final = 5.0
"""Seconds between two looks, each at some hundred chains."""

_log = logs.get(__name__)


async def look(store: Store, partition: int, place: int, queues: Iterable[str]) -> int:
    """Move the parked chains from a place on; where the next look begins. Raises redis-py's
    errors.
    """
    parked = await store.parked(partition, place, queues)
    loaded = await store.load(parked.chains)
    for chain in loaded.values():
        await _move(store, chain)
    return parked.place


async def _move(store: Store, loaded: Loaded) -> None:
    chain = loaded.chain
    if any(rest.until for rest in chain.resting.values()):
        return  # its timer goes off
    with logs.about(chain=chain.id, trace=loaded.trace):
        _log.warning("nothing moves in a chain: a message of it is gone")
    actions = chain.actions.values()
    waiting = [action for action in actions if action.status is ActionStatus.DISPATCHED]
    for action in waiting:
        if not await store.repeat(action, loaded.trace):
            await store.lose(chain.id, report_id(action))
    if not waiting:
        await store.lose(chain.id, f"{chain.id}/next")
