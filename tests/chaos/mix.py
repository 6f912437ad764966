"""Chains of all kinds are under way while a worker and an executor die, one after the other, at
each point there is.

A seed draws the order of the points, the chains, and how each of their calls ends. The chains of
one class of effects are retried, reconciled, approved, cancelled and fail; some of their calls are
skills, which are chains of their own.
"""

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.catalogue import Party
from haltpoint.contracts.events import TaskCancelled
from haltpoint.contracts.views.chains import ChainView
from haltpoint.contracts.work.tasks import Task
from tests.chaos.nursery import Child
from tests.chaos.system import System
from tests.support import wait_until
from tests.support.builders import call, plan, tool_step

CLASSES: Final = ("read_only", "idempotent", "other")
SEEDS: Final = 20


def around(function: str) -> tuple[str, str]:
    """The points before and after a function of the library."""
    return f"before {function}", f"after {function}"


_READS: Final = ("read", "refusal", "effect", *around("complete"), "while resting")
_ASKS: Final = ("preview", "while asked", "after the yes")
WORKER: Final = {
    "read_only": _READS,
    "idempotent": _READS,
    "other": (
        *(*_READS, *_ASKS, *around("claim"), "reconcile"),
        *(*around("reserve_effect"), *around("settle_effect")),
    ),
}
_DECIDES: Final = ("read", *around("commit"), *around("fire_due"), "while resting")
EXECUTOR: Final = {
    "read_only": _DECIDES,
    "idempotent": _DECIDES,
    "other": (*_DECIDES, "while asked", "after the yes"),
}

_TOOLS: Final = {
    "read_only": ("peek",),
    "idempotent": ("keep", "keep", "errand"),
    "other": ("mail", "charge", "bill", "erase", "errand"),
}
_HOW: Final = {
    "read_only": ("", "busy", "broken", "down", "busy busy"),
    "idempotent": ("", "busy", "broken", "lost", "down", "busy broken", "lost down", "moody"),
    "other": ("", "busy", "lost", "never", "busy lost", "down", "busy busy"),
}
_MAY_FAIL: Final = ("down", "busy busy", "busy broken", "lost down", "moody")
"""Its attempts are used up, or its error allows no other."""
_NEEDS: Final = {
    "refusal": ("", "busy"),
    "while resting": ("", "busy"),
    "reconcile": ("charge", "lost"),
    **dict.fromkeys(_ASKS, ("erase", "")),
    **dict.fromkeys((*around("reserve_effect"), *around("settle_effect")), ("bill", "")),
}
"""What a chain has to call, and how that ends, so that it passes a point."""


class Mix:
    """What one seed draws for one class of effects, on a system that runs."""

    def __init__(self, system: System, effects: str, seed: int) -> None:
        self.system = system
        self.effects = effects
        self.chance = random.Random(f"{effects} {seed}")
        self.fails: dict[str, bool | None] = {}
        """Whether a chain has to fail; None: it may, or it is cancelled."""
        self.drawn: dict[str, list[tuple[str, str]]] = {}
        self.deaths = 0
        self._calls = 0
        self._cancels: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        """Let a worker and an executor die at all of their points, and all chains come to their
        ends.
        """
        first = await self.system.launch(Party.WORKER)  # no chain begins before its tools are known
        first.signal(9)
        await asyncio.gather(
            self._die(Party.WORKER, WORKER[self.effects]),
            self._die(Party.EXECUTOR, EXECUTOR[self.effects]),
        )
        await asyncio.gather(*self._cancels)
        await self.system.settle()

    async def _die(self, party: Party, points: tuple[str, ...]) -> None:
        for point in self.chance.sample(points, len(points)):
            moment = self._moments(point)
            victim = await self.system.launch(
                party, "" if moment else point, self.chance.choice((1, 1, 2))
            )
            if moment:
                self._cancels.append(
                    asyncio.create_task(self._kill(victim, moment, self._now(moment)))
                )
            while not victim.end.done():
                await self._load(victim, point)
            await victim.dies()
            self.deaths += 1
        await self.system.launch(party)

    async def _load(self, victim: Child, point: str) -> None:
        """A chain that passes the point, beside any other; until it is over, or its victim is."""
        chain, _ = await asyncio.gather(self._submit(point), self._submit(""))

        async def is_over() -> bool:
            return victim.end.done() or await self.system.is_over(chain)

        await wait_until(is_over)

    # ---- moments: the test itself kills, when it sees something

    def _moments(self, point: str) -> str:
        return {
            "while resting": "action.resting",
            "while asked": "request.opened",
            "after the yes": "yes",
        }.get(point, "")

    def _now(self, moment: str) -> int:
        return self.system.person.yes if moment == "yes" else self.system.watcher.facts[moment]

    async def _kill(self, victim: Child, moment: str, before: int) -> None:
        await wait_until(lambda: self._now(moment) > before)
        victim.signal(9)

    # ---- chains

    async def _submit(self, point: str) -> str:
        calls = [self._draw() for _ in range(self.chance.choice((0, 1, 1, 2)))]
        if point:
            tool, how = _NEEDS.get(point, ("", ""))
            calls.insert(self.chance.randint(0, len(calls)), (tool or _TOOLS[self.effects][0], how))
        halts = not calls or self.chance.random() < 0.3
        chain = await self.system.submit(self._task(calls, halts=halts))
        may_fail = any(how in _MAY_FAIL for _, how in calls)
        self.fails[chain] = None if may_fail else halts
        if not point and self.chance.random() < 0.3:
            self.fails[chain] = None
            self._cancels.append(
                asyncio.create_task(self._cancel(chain, self.chance.randint(1, 12)))
            )
        self.drawn[chain] = calls
        return chain

    def _draw(self) -> tuple[str, str]:
        effects = self.effects if self.chance.random() < 0.7 else self.chance.choice(CLASSES)
        tool = self.chance.choice(_TOOLS[effects])
        return tool, self.chance.choice(_HOW[effects])

    def _task(self, calls: list[tuple[str, str]], *, halts: bool) -> Task:
        wished = list[JsonObject]()
        for tool, how in calls:
            self._calls += 1
            wished.append({"tool": tool, "text": f"{tool} {self._calls}", "how": how})
        if halts:
            wished.append({"tool": "halt", "text": "it ends here"})
        steps = [
            tool_step(f"s{number}", call(**one), after=(f"s{number - 1}",) if number else ())
            for number, one in enumerate(wished)
        ]
        return Task(plan=plan(*steps))

    async def _cancel(self, chain: str, facts: int) -> None:
        """Once so much of it was told, if it is not over then."""

        async def is_due() -> bool:
            return self.system.watcher.facts[chain] >= facts or await self.system.is_over(chain)

        await wait_until(is_due)
        data = TaskCancelled.Data(by="a person")
        await self.system.store.cancel(
            TaskCancelled(id=f"{chain}/cancel", source="test", subject=chain, data=data)
        )

    def unexpected(self, ends: dict[str, ChainView]) -> Iterator[str]:
        """The chains that have ended as they should not."""
        for chain, fails in self.fails.items():
            end = ends[chain]
            if fails is not None and end.status != ("failed" if fails else "completed"):
                yield f"{chain} {self.drawn[chain]} is {end.status}: {end.error}"


async def run_mix(effects: str, seed: int, folder: Path) -> dict[str, int]:
    """Let it happen, and judge. Returns figures."""
    async with System(folder, partitions=1 + seed % 2) as system:
        system.settings = system.settings.model_copy(
            update={"lease": 1, "heartbeat": 0.25, "deliveries": 30}
        )
        mix = Mix(system, effects, seed)
        await mix.run()
        ends = await system.read_answers()
        system.keeps_its_promises()
        assert await system.dead_letters() == []
        assert not (wrong := list(mix.unexpected(ends))), "\n".join(wrong)
        return {"deaths": mix.deaths, "chains": len(ends)}
