"""Effects that happen once, whichever chain of a tenant asks for them (CONTRACT E6): `effect_key`
of a tool.

A call looks for an earlier one before a person is asked about it, and reserves its effect right
before it is claimed. Of two calls one runs. The other is denied, with what the first one did; it
rests while the first is under way or in doubt, until the chain of the first has resolved the doubt.
Where a person is asked about the call anyway, they see what the first one did: their yes, which is
bound to it, allows it once more. A person is always asked about a doubt that no chain will resolve
any more.
"""

from dataclasses import dataclass, replace
from string import Formatter
from typing import Any, Final

from msgspec import json

from haltpoint.chain.checks.answer import shown
from haltpoint.chain.model.limits import minute_of
from haltpoint.chain.model.schemas import defaults
from haltpoint.contracts.base import value
from haltpoint.contracts.reasons import Reason, ReasonKind
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.tools import ToolSpec
from haltpoint.runtime.store.limits.effects import (
    EffectStore,
    Prior,
    Standing,
    digest_of_effect,
    standing_of_outcome,
)
from haltpoint.runtime.store.limits.reserving import LimitStore
from haltpoint.runtime.store.receipts import Finished, recorded_outcome
from haltpoint_tool_worker.admission.limits import held_back, ignored
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


@value
class Effect:
    """The effect of one call."""

    digest: str
    words: str
    """Its name in words."""
    over: Prior | None = None
    """An earlier call with this effect."""

    @property
    def again(self) -> Prior | None:
        """The earlier call, where a person has to allow that it is repeated."""
        is_over = self.over is not None and self.over.standing in (Standing.DONE, Standing.UNKNOWN)
        return self.over if is_over else None

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """What a person is to know."""
        if self.again is None:
            return ()
        words = f"{_told(self.words, self.again)} Make it again?"
        return (Reason(kind=ReasonKind.REPEAT, words=words),)


def effect_of(spec: ToolSpec, tenant: str | None, arguments: str) -> Effect:
    """The effect of a call with these arguments (JSON text): equal values in other spellings make
    the same one.
    """
    given = json.decode(arguments)
    filled = {**defaults(spec.parameters), **given}
    parts: list[Any] = []
    words = ""
    for text, name, _, _ in Formatter().parse(spec.recovery.effect_key or ""):
        parts.append(text)
        words += text
        if name is not None:
            parts.append([filled.get(name)])
            words += shown(name, given.get(name, filled.get(name)))
    return Effect(digest_of_effect(tenant, parts), words)


@dataclass
class EffectKeys:
    """For all calls of a worker."""

    store: EffectStore
    limits: LimitStore

    async def look(self, job: Job, spec: ToolSpec, arguments: str, *, asked: bool) -> Effect:
        """The call's effect, with an earlier call of it. Raises RefusedError for one that rests or
        is denied.

        `asked`: a person is asked about the call anyway.
        """
        effect = effect_of(spec, job.request.tenant, arguments)
        first = await self.store.prior(effect.digest, job.request.action_id)
        if first is None:
            return effect
        effect = replace(effect, over=first)
        if asked:
            return effect  # people are asked first: what rests comes back without their reasons
        if first.standing in _RESTS:
            raise self._rests(job, spec, f"{first.owner} {_RESTS[first.standing]}")
        if first.standing is Standing.DONE:
            words = f"{spec.name} was not called: {_told(effect.words, first)}"
            denied = failed(ErrorType.DENIED, words, suggestion=_ADVICE)
            data = {"first": {"action_id": first.owner, "says": first.says}}
            raise RefusedError(replace(denied, data=json.encode(data).decode()))
        return effect

    async def reserve(self, job: Job, spec: ToolSpec, effect: Effect) -> None:
        """Reserve the effect for the call. Raises RefusedError when it came too late, and rests."""
        job.effect = await self.store.reserve(
            effect.digest,
            job.request.action_id,
            job.request.timeout,
            effect.over,
            keep=effect.again is not None,
        )
        if job.effect is None:
            raise self._rests(job, spec, "another call of it began first")

    def settle(self, job: Job, finished: Finished) -> None:
        """The receipt is on record, so the effect is done, or free again. A doubt stays that of the
        chain.
        """
        own, request = job.effect, job.request
        if own is None:
            return
        was_tried = job.repeatable and request.attempt - request.limited > 1
        deed = recorded_outcome(finished).metadata.deed
        standing = standing_of_outcome(finished.outcome, deed, tried_before=was_tried)
        if standing in (Standing.DONE, Standing.FREE):
            says = "" if deed is None else deed.says
            settled = self.store.settle(own, request.action_id, standing, says)
            settled.add_done_callback(ignored)

    def _rests(self, job: Job, spec: ToolSpec, why: str) -> RefusedError:
        seconds = min(_LONGEST_REST, _FIRST_REST * 2 ** min(job.request.limited, 10))
        words = f"the effect_key {spec.recovery.effect_key} of {spec.name}"
        resting = self.limits.rest(spec.queue, job.request.action_id, seconds, words)
        resting.add_done_callback(ignored)
        return held_back(job, seconds, words, f": {why}")


def _told(words: str, first: Prior) -> str:
    owner, at = first.owner, minute_of(first.at)
    if first.standing is not Standing.DONE:
        return f"{words} was begun at {at} by {owner}, may have happened, and its chain is over."
    says = f": {first.says}" if first.says else ""
    return f"{words} was done at {at} by {owner}{says}."
