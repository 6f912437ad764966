"""Effects that happen once, whichever chain asks for them (CONTRACT E6): who has one, and what became of it.

A record says which action has reserved an effect. What became of that action its own chain says, in its own partition:
it is read there, and judged here (`standing_of`), when another action wants the same effect.
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
from haltpoint.runtime.store.rows import ActionRow, ActionState, Head, Key, Receipt, action_parts, local
from haltpoint.runtime.streams.connection import Argument, AutoPipeline
from haltpoint.runtime.streams.topology import PREFIX, Topology

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
"""What a tool says of its own call counts: these it refused."""


class Standing(StrEnum):
    """What is known of an effect that another action has reserved.

    `unknown`: it may have happened, and its chain will not find out any more.
    """

    FREE = "free"
    UNDER_WAY = "under_way"
    IN_DOUBT = "in_doubt"
    DONE = "done"
    UNKNOWN = "unknown"


@value
class Reservation:
    """An effect's record: the `n`-th reservation, by `owner`, at (ms). `says` is the deed's line once it is done."""

    owner: str
    n: int
    at: int
    until: int = 0
    done: bool = False
    says: str = ""


@value
class OwnEffect:
    """An effect that an action has reserved: `n` is the number of its reservation, empty for whichever it has."""

    digest: str
    n: int | str = ""


@value
class Prior:
    """What became of an earlier reservation."""

    reservation: Reservation
    standing: Standing
    says: str = ""


def digest_of_effect(tenant: str | None, parts: Sequence[Any]) -> str:
    """The name of an effect: of a tenant, and the parts of its key, texts and values in their one form."""
    return hashlib.sha256(json.dumps([tenant or "", *parts], sort_keys=True).encode()).hexdigest()[:32]


def standing_of_outcome(outcome: Outcome, deed: DeedWords | None, *, tried_before: bool) -> Standing:
    """What a receipt says of its effect. A question was asked instead of acting.

    What did its `deed` has happened, also when a hook withholds the result. `tried_before`: an earlier attempt of the
    action may have had it, and this one says nothing of that.
    """
    if deed is not None:
        return Standing.DONE
    fault = outcome.error
    if fault is None:
        return Standing.DONE if outcome.satisfies else Standing.FREE
    if fault.error_type is ErrorType.IN_DOUBT:
        return Standing.IN_DOUBT
    nothing = fault.no_effect or (fault.no_effect is None and fault.error_type in _NOTHING_HAPPENED)
    return Standing.FREE if nothing and not tried_before else Standing.UNKNOWN


def standing_of(
    row: ActionRow | None, status: ChainStatus | None, receipt: Receipt | None, resolved: Receipt | None, *, late: bool
) -> tuple[Standing, str]:
    """What became of the action that has an effect, by its chain, and the line of its deed. `late`: no run of it that
    was begun when the effect was reserved can act any more.

    While the chain lives it takes care of the action: it runs it again, or has a person decide.
    """
    lives = status is not None and not status.final
    counts = resolved or receipt
    if row is None:
        return Standing.UNKNOWN, ""
    if counts is None:
        if lives:
            return Standing.UNDER_WAY, ""
        if row.state is ActionState.SENT and row.attempt == 1:
            return Standing.FREE, ""  # a chain that is over lets nothing begin
        return (Standing.UNKNOWN if late else Standing.UNDER_WAY), ""
    outcome = msgspec.json.decode(counts.outcome, type=Outcome)
    deed = outcome.metadata.deed
    found = standing_of_outcome(outcome, deed, tried_before=row.repeatable and row.attempt > 1)
    if found is Standing.UNKNOWN and lives and outcome.metadata.again:
        return Standing.UNDER_WAY, ""
    if found is Standing.IN_DOUBT and (resolved is not None or not lives):
        return Standing.UNKNOWN, ""
    return found, "" if deed is None else deed.says


class EffectStore:
    """A worker's side of effects that happen once. `lease` in seconds, as that of entries."""

    def __init__(self, calls: AutoPipeline, topology: Topology, lease: float) -> None:
        self._calls = calls
        self._topology = topology
        self._lease = lease

    async def prior(self, digest: str, action: str) -> Prior | None:
        """The reservation of another action, and what became of it; None: there is none. What was done and not yet on
        record is put there.
        """
        key = self._topology.key_of("effect", digest)
        found, (seconds, _) = await asyncio.gather(
            self._calls.call("HMGET", key, "owner", "n", "at", "until", "state", "says"), self._calls.call("TIME")
        )
        if found[0] is None or found[0].decode() == action:
            return None
        owner, n, at, until, state, says = (one.decode(errors="replace") for one in found)
        reservation = Reservation(owner, int(n), int(at), int(until), state == "done", says)
        if reservation.done:
            return Prior(reservation, Standing.DONE, says)
        standing, says = await self._standing(reservation, int(seconds) * 1000)
        if standing is Standing.DONE:
            ttl = max(1, await self._calls.call("PTTL", key))
            await self.settle(OwnEffect(digest, reservation.n), owner, Standing.DONE, says, ttl / 1000)
        return Prior(reservation, standing, says)

    async def _standing(self, reservation: Reservation, now: int) -> tuple[Standing, str]:
        chain, name = chain_of(reservation.owner), local(reservation.owner)
        (row, status), (receipt, resolved) = await asyncio.gather(
            self._calls.call("HMGET", self._topology.key_of(Key.CHAIN, chain), name, Head.STATUS),
            self._calls.call("HMGET", self._topology.key_of(Key.DATA, chain), *action_parts(name)[1:]),
        )
        return standing_of(
            None if row is None else ActionRow.parse(row),
            None if status is None else ChainStatus(status.decode()),
            None if receipt is None else Receipt.parse(receipt),
            None if resolved is None else Receipt.parse(resolved),
            late=now > reservation.until,
        )

    async def reserve(
        self, digest: str, action: str, seconds: float, ttl: float, over: Reservation | None = None, *, keep: bool
    ) -> OwnEffect | None:
        """Reserve an effect for a call of so many seconds, also `over` an earlier reservation; None: another has it.

        `keep`: the earlier one stays on record, should this one not happen.
        """
        judged = "" if over is None else over.n
        run = round((seconds + self._lease) * 1000)
        args = (digest, action, judged, int(keep), run, round(ttl * 1000))
        reply = await self._function("reserve_effect", digest, *args)
        return OwnEffect(digest, int(reply[1])) if reply[0] == 1 else None

    def settle(self, own: OwnEffect, action: str, standing: Standing, says: str, ttl: float) -> "asyncio.Future[Any]":
        """The effect is `DONE`, or `FREE` again."""
        args = (own.digest, action, own.n, standing.value, says, round(ttl * 1000))
        return self._function("settle_effect", own.digest, *args)

    def _function(self, name: str, digest: str, *args: Argument) -> "asyncio.Future[Any]":
        partition = self._topology.partition(digest)
        return self._calls.call("FCALL", PREFIX + name, 1, self._topology.key(partition, "events"), *args)
