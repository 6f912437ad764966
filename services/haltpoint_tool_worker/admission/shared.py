"""May it begin now? What all workers keep to together (CONTRACT E6), so it is in Redis: the limits
of tools, and effects that happen once. A tool without asks nothing there.

A call looks for an earlier one with its effect before a person is asked about it, and reserves the
effect right before it is claimed. Of two calls one runs. The other is denied, with what the first
one did; it rests while the first is under way or in doubt, until the chain of the first has
resolved the doubt. Where a person is asked about the call anyway, they see what the first one did:
their yes, which is bound to it, allows it once more. A person is always asked about a doubt that no
chain will resolve any more.
"""

import asyncio
import time
from dataclasses import dataclass, replace
from typing import Final

from msgspec import json

from haltpoint.contracts.reasons import Reason, ReasonKind
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.tools import LimitKind
from haltpoint.runtime.store.limits.effects import (
    EffectStore,
    OwnEffect,
    Standing,
    standing_of_outcome,
)
from haltpoint.runtime.store.limits.reserving import PATIENCE, LimitStore, Place, Turn, name_of
from haltpoint.runtime.store.receipts import Finished, recorded_outcome
from haltpoint_tool_worker.admission.calls import ToolCall
from haltpoint_tool_worker.admission.effects import Effect, effect_of
from haltpoint_tool_worker.results.reading import RefusedError, failed
from haltpoint_tool_worker.running.job import Job

_FIRST_REST, _LONGEST_REST = 0.3, 5.0
"""Seconds that a call rests for another one: at first, and when it has rested often."""
_RESTS: Final = {
    Standing.UNDER_WAY: "is under way",
    Standing.IN_DOUBT: "is in doubt, until that is resolved",
}
_ADVICE: Final = (
    "Do not call it again. A person can allow it once more where they are "
    "asked about this tool ([[approvals]])."
)


@dataclass
class Shared:
    """For all calls of a worker. What cannot be written down ends by itself, and the receipt of an
    action still says what became of it.
    """

    limits: LimitStore
    effects: EffectStore

    async def look(self, call: ToolCall) -> None:
        """Find the call's effect, and an earlier call of it. Raises RefusedError for one that rests
        or is denied.
        """
        request, spec = call.job.request, call.tool.spec
        effect = effect_of(spec, request.tenant, call.text)
        first = await self.effects.prior(effect.digest, request.action_id)
        call.effect = effect
        call.over = first
        if first is None:
            return
        # Where people are asked they are asked first: what rests comes back without their reasons.
        if first.standing in _RESTS and not call.asks:
            raise self._rests(call, f"{first.owner} {_RESTS[first.standing]}")
        if first.standing is Standing.DONE and not call.asks:
            words = f"{spec.name} was not called: {effect.told(first)}"
            denied = failed(ErrorType.DENIED, words, suggestion=_ADVICE)
            data = {"first": {"action_id": first.owner, "says": first.says}}
            raise RefusedError(replace(denied, data=json.encode(data).decode()))
        if first.standing in (Standing.DONE, Standing.UNKNOWN):
            call.again = first
            words = f"{effect.told(first)} Make it again?"
            call.reasons.append(Reason(ReasonKind.REPEAT, words))

    async def reserve(self, call: ToolCall, effect: Effect) -> None:
        """Reserve the effect for the call, until `settle`. Raises RefusedError when it came too
        late, and rests.
        """
        request, keep = call.job.request, call.again is not None
        call.job.effect = await self.effects.reserve(
            effect.digest, request.action_id, request.timeout, call.over, keep=keep
        )
        if call.job.effect is None:
            raise self._rests(call, "another call of it began first")

    async def enter(self, call: ToolCall) -> None:
        """Wait for the call's moment when it is near. Raises RefusedError for one that comes back
        later, and redis-py's errors. What it takes is its job's until `leave`.
        """
        job, request, spec, patience = call.job, call.job.request, call.tool.spec, PATIENCE
        caller = f"{request.action_id} {job.ref.entry} {job.deliveries}"
        while True:
            reserved = await self.limits.reserve(
                spec, request.action_id, caller, request.tenant, request.deadline
            )
            if reserved.turn is Turn.GO:
                break
            if reserved.seconds > patience:
                raise _held_back(job, reserved.seconds, reserved.words)
            patience -= reserved.seconds
            await asyncio.sleep(reserved.seconds)
        names = [
            name_of(limit, spec.name, request.tenant)
            for limit in spec.recovery.limits
            if limit.kind is LimitKind.AT_ONCE
        ]
        if names:
            job.place = Place(spec.queue, caller, (*names,))
        await asyncio.sleep(reserved.seconds)
        job.placed_at = time.monotonic()

    def leave(self, job: Job, place: Place) -> None:
        """Nothing of the call runs any more: others may have its places."""
        seconds = time.monotonic() - job.placed_at
        self.limits.give_back(place, seconds).add_done_callback(asyncio.Future.exception)
        job.place = None

    def settle(self, job: Job, own: OwnEffect, finished: Finished) -> None:
        """The receipt is on record, so the effect is done, or free again. A doubt stays that of the
        chain.
        """
        request = job.request
        was_tried = job.repeatable and request.attempt - request.limited > 1
        deed = recorded_outcome(finished).metadata.deed
        standing = standing_of_outcome(finished.outcome, deed, tried_before=was_tried)
        if standing in (Standing.DONE, Standing.FREE):
            says = "" if deed is None else deed.says
            settled = self.effects.settle(own, request.action_id, standing, says)
            settled.add_done_callback(asyncio.Future.exception)

    def _rests(self, call: ToolCall, why: str) -> RefusedError:
        request, spec = call.job.request, call.tool.spec
        seconds = min(_LONGEST_REST, _FIRST_REST * 2 ** min(request.limited, 10))
        words = f"the effect_key {spec.recovery.effect_key} of {spec.name}"
        resting = self.limits.rest(spec.queue, request.action_id, seconds, words)
        resting.add_done_callback(asyncio.Future.exception)
        return _held_back(call.job, seconds, words, f": {why}")


def _held_back(job: Job, seconds: float, words: str, why: str = "") -> RefusedError:
    """A call rests for a limit: it does not run, and comes back at its moment."""
    job.limited = words
    words = f"{job.request.tool} waits for {words}{why}"
    return RefusedError(failed(ErrorType.RATE_LIMIT, words, retry_after=seconds))
