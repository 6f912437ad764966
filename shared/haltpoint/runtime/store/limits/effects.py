"""Effects that happen once, whichever chain asks for them (CONTRACT E6).

A record says which action has reserved an effect. The fate of that action is in its own chain, in
another partition: it is read there, and judged here (`standing_of`), when another action wants the
same effect.
"""

import asyncio
import hashlib
import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.base import chain_of, value
from haltpoint.contracts.results import DeedWords, ErrorType, Outcome
from haltpoint.runtime.store.chain_reader import ChainReader
from haltpoint.runtime.store.rows import (
    ActionRow,
    ActionState,
    Head,
    StoredAction,
    action_of,
    action_parts,
    local,
)
from haltpoint.runtime.streams.connection import AutoPipeline, Side
from haltpoint.runtime.streams.topology import Topology

_NOTHING_HAPPENED: Final = frozenset(
    {
        ErrorType.VALIDATION,
        ErrorType.NOT_FOUND,
        ErrorType.PERMISSION,
        ErrorType.RATE_LIMIT,
        ErrorType.BLOCKED,
        ErrorType.DENIED,
    }
)
"""Refusals by a tool, of a call to itself."""

_KEPT: Final = 30 * 86_400_000
"""Ms for which an effect is remembered."""

_RECORD: Final = ("owner", "n", "at", "until", "state", "says")


_RESERVED: Final = "reserved"
"""The state of a record whose call is not known to have ended."""


class Standing(StrEnum):
    """What is known of an effect that another action has reserved."""

    FREE = "free"
    UNDER_WAY = "under_way"
    IN_DOUBT = "in_doubt"
    DONE = "done"
    UNKNOWN = "unknown"
    """It may have happened, and its chain will not find out any more."""


@value
class OwnEffect:
    """An effect that an action has reserved."""

    digest: str
    n: int | str = ""
    """The number of its reservation; empty: any of this action."""


@value
class Prior:
    """An earlier reservation of an effect, and its fate."""

    owner: str
    """The action that it is for."""
    n: int
    """Its number, which no other reservation has."""
    at: int
    """When it was made (ms)."""
    standing: Standing
    says: str = ""
    """The line of the deed."""


def digest_of_effect(tenant: str | None, parts: Sequence[Any]) -> str:
    """The name of an effect: of a tenant and the parts of its key."""
    text = json.dumps([tenant or "", *parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def standing_of_outcome(
    outcome: Outcome, deed: DeedWords | None, *, tried_before: bool
) -> Standing:
    """What a receipt says of its effect. A question was asked instead of acting.

    A `deed` has happened, also when a hook withholds the result. `tried_before`: an earlier attempt
    of the action may have had the effect, and this attempt says nothing of that.
    """
    if deed is not None:
        return Standing.DONE
    fault = outcome.error
    if fault is None:
        return Standing.DONE if outcome.satisfies else Standing.FREE
    if fault.error_type is ErrorType.IN_DOUBT:
        return Standing.IN_DOUBT
    refused = fault.error_type in _NOTHING_HAPPENED if fault.no_effect is None else fault.no_effect
    return Standing.FREE if refused and not tried_before else Standing.UNKNOWN


def standing_of(action: StoredAction | None, *, lives: bool, late: bool) -> tuple[Standing, str]:
    """The fate of the action that has an effect, by its chain, and the line of its deed.

    While the chain `lives` it takes care of the action: it runs it again, or has a person decide.
    `late`: no run of it that was begun when the effect was reserved can act any more.
    """
    if action is None:
        return Standing.UNKNOWN, ""
    row = action.row
    if action.counts is None:
        return _without_receipt(row, lives=lives, late=late), ""
    outcome = msgspec.json.decode(action.counts.outcome, type=Outcome)
    metadata = outcome.metadata
    tried_before = row.repeatable and row.attempt > 1
    standing = standing_of_outcome(outcome, metadata.deed, tried_before=tried_before)
    if standing is Standing.UNKNOWN and lives and metadata.again:
        return Standing.UNDER_WAY, ""
    resolved = action.resolution is not None or not lives
    if standing is Standing.IN_DOUBT and resolved:
        return Standing.UNKNOWN, ""
    return standing, metadata.deed.says if metadata.deed else ""


def _without_receipt(row: ActionRow, *, lives: bool, late: bool) -> Standing:
    if lives:
        return Standing.UNDER_WAY
    if row.state is ActionState.SENT and row.attempt == 1:
        return Standing.FREE  # a chain that is over lets nothing begin
    return Standing.UNKNOWN if late else Standing.UNDER_WAY


class EffectStore(Side):
    """A worker's side of effects that happen once. `lease` in seconds, as that of entries."""

    def __init__(self, calls: AutoPipeline, topology: Topology, lease: float) -> None:
        super().__init__(calls, topology)
        self._reader = ChainReader(calls, topology)
        self._lease = lease

    async def prior(self, digest: str, action: str) -> Prior | None:
        """The reservation of another action, and its fate; None: there is none.

        A deed that is done and not yet on record is put there.
        """
        key = self._topology.key_of("effect", digest)
        fields = self._calls.call("HMGET", key, *_RECORD)
        record, (seconds, _) = await asyncio.gather(fields, self._calls.call("TIME"))
        if record[0] is None:
            return None
        owner, n, at, until, state, says = [text.decode(errors="replace") for text in record]
        if owner == action:
            return None
        standing = Standing.DONE
        if state != Standing.DONE:
            standing, says = await self._standing(owner, late=int(seconds) * 1000 > int(until))
            if standing is Standing.DONE:
                await self.settle(OwnEffect(digest, int(n)), owner, standing, says)
        return Prior(owner, int(n), int(at), standing, says)

    async def _standing(self, owner: str, *, late: bool) -> tuple[Standing, str]:
        chain = chain_of(owner)
        name = local(owner)
        # In one command: an action that was sent in a chain that is over has not begun.
        head = self._reader.head(chain, name, Head.STATUS)
        data = self._reader.data(chain, *action_parts(name))
        fields, texts = await asyncio.gather(head, data)
        status = fields.get(Head.STATUS)
        lives = status is not None and not ChainStatus(status).final
        return standing_of(action_of(owner, fields, texts), lives=lives, late=late)

    async def reserve(
        self,
        digest: str,
        action: str,
        seconds: float,
        over: Prior | None = None,
        *,
        keep: bool,
    ) -> OwnEffect | None:
        """Reserve an effect for a call of so many seconds, also `over` an earlier reservation.

        None: another action has it. `keep`: the earlier reservation stays on record, should this
        call not happen.
        """
        judged = "" if over is None else over.n
        run = round((seconds + self._lease) * 1000)
        args = (action, judged, int(keep), run, _KEPT)
        taken, *n = await self._functions.about(digest, "reserve_effect", *args)
        return OwnEffect(digest, *n) if taken else None

    async def recall(self, digest: str, action: str, says: str | None) -> None:
        """Reserve an effect again that the server has lost; `says` is the line of a deed, None: it
        is not known to be done (R10).
        """
        state = _RESERVED if says is None else Standing.DONE.value
        args = (action, state, says or "", _KEPT)
        await self._functions.about(digest, "recall_effect", *args)

    def settle(
        self, own: OwnEffect, action: str, standing: Standing, says: str
    ) -> "asyncio.Future[Any]":
        """The effect is `DONE`, or `FREE` again."""
        args = (action, own.n, standing.value, says, _KEPT)
        return self._functions.about(own.digest, "settle_effect", *args)
