"""The limits of tools on paper: what Redis would answer, and what a worker has asked it."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from haltpoint.contracts.tools import ToolSpec
from haltpoint.runtime.store.limits.reserving import Place, Reserved, Turn
from haltpoint_tool_worker.admission.shared import Shared

GO = Reserved(Turn.GO, 0.0, "")


def rests(seconds: float, words: str = "the rate_limit 1/s of send") -> Reserved:
    """Come back in so many seconds."""
    return Reserved(Turn.REST, seconds, words)


@dataclass
class PaperLimits:
    """Answers in their order; `GO` when there are no more. `told` are what a worker has asked and
    said.
    """

    answers: list[Reserved] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    async def reserve(
        self, spec: ToolSpec, action: str, _caller: str, tenant: str | None, _deadline: int
    ) -> Reserved:
        self.told.append(f"reserve {spec.name} {action} {tenant or ''}".strip())
        return self.answers.pop(0) if self.answers else GO

    def rest(self, queue: str, action: str, _seconds: float, words: str) -> "asyncio.Future[Any]":
        return self._done(f"rest {queue} {action} {words}")

    def give_back(self, place: Place, _seconds: float) -> "asyncio.Future[Any]":
        return self._done(f"give back {' '.join(place.names)}")

    def _done(self, words: str) -> "asyncio.Future[Any]":
        self.told.append(words)
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        done.set_result(b"1")
        return done


def unlimited(limits: PaperLimits | None = None, effects: Any = None) -> Shared:
    """What a worker keeps to together with others; nothing is asked of effects for tools without an
    effect_key.
    """
    return Shared(limits or PaperLimits(), effects)  # type: ignore[arg-type]
