"""The soak: all services as processes under load, and everything that can go wrong, at random but
by a seed.

The services reach the server over a bad network; those who observe them do not.
"""

import asyncio
import itertools
import random
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Final

from redis.exceptions import RedisError

from haltpoint.client import GatewayError
from haltpoint.contracts.catalogue import Party, Stream
from haltpoint.runtime.streams import presence
from haltpoint.runtime.streams.broker import UNREACHABLE
from tests.chaos.nursery import Child
from tests.chaos.proxy import Proxy
from tests.chaos.system import QUEUE, System, task
from tests.proofs.records import Claimed, Decided, Seen, Submitted, Told, of
from tests.support.builders import open_task

ROLES: Final = (
    Party.EXECUTOR,
    Party.EXECUTOR,
    Party.WORKER,
    Party.WORKER,
    Party.PLANNER,
    Party.GATEWAY,
)
EVERY_KILL: Final = 1.8
"""Seconds from one SIGKILL to the next: a thousand in half an hour."""
BLOCKED: Final = 3
"""The exit code of a worker whose event loop a call blocks (HP-038)."""
LOST: Final = (*UNREACHABLE, RedisError, GatewayError)

POISON: Final[dict[str, bytes | None]] = {
    "no_data": None,
    "bad_encoding": b"\xff\xfe",
    "bad_json": b"{",
    "too_deep": b"[" * 5000,
    "unknown_version": b'{"type": "tool.requested.v9", "id": "x", "source": "y", "data": {}}',
    "unknown_message": b'{"type": "no.such.v1", "id": "x", "source": "y", "data": {}}',
    "bad_fields": (
        b'{"type": "tool.requested.v1", "id": "x", "source": "y", "data": {"action_id": 7}}'
    ),
}
"""What is put on streams, by the reason with which it has to lie among the dead letters."""


class Soak:
    """Load and trouble on a system that stands, until told to stop."""

    def __init__(self, system: System, network: Proxy, chance: random.Random) -> None:
        self.system = system
        self.network = network
        self.chance = chance
        self.children: list[Child] = []
        self.odd_ends: list[str] = []
        self.poisoned: list[str] = []
        self.deadly: list[str] = []
        """Chains with a call that takes each of its workers with it."""
        self.troubles: Counter[str] = Counter()
        self._fallen: dict[int, list[int]] = defaultdict(list)
        """When each process was killed or stopped, or ended, by its id: monotonic ns."""

    async def start(self) -> None:
        """All services, ready."""
        self.system.settings = self.system.settings.model_copy(
            update={"redis_url": self.network.url}
        )
        self.children = list(await asyncio.gather(*(self.system.launch(party) for party in ROLES)))

    async def supervise(self) -> None:
        """Start again what has ended."""
        while True:
            for place, child in enumerate(self.children):
                code = child.code
                if code is not None:
                    self._fell(child)
                    if code not in (-signal.SIGKILL, BLOCKED):
                        self.odd_ends.append(
                            f"{ROLES[place].value} ended with {code}:\n{child.words()}"
                        )
                    self.children[place] = await self.system.spawn(ROLES[place])
            await asyncio.sleep(0.1)

    async def load(self) -> None:
        """Submit tasks of all kinds, some by HTTP and then twice under the same key."""
        for number in itertools.count():
            tools = self.chance.choices(
                ("look", "save", "send", "ask"), k=self.chance.randint(1, 3)
            )
            if number % 80 == 20:
                tools.append("block")
            work = task(*tools, seconds=self.chance.choice((0, 0, 0.1, 0.5)))
            if number % 10 == 9:
                work = open_task("Send it.")
            over_http = self.chance.random() < 0.5
            with suppress(*LOST):
                if number % 240 == 40:
                    self.deadly.append(await self.system.submit(task("die")))
                for _ in range(1 + (over_http and self.chance.random() < 0.3)):
                    await self.system.submit(work, f"soak-{number}", over_http=over_http)
            await asyncio.sleep(self.chance.uniform(0.1, 0.4))

    async def kill(self) -> None:
        """Kill one service after the other, while most of them serve."""
        while True:
            await asyncio.sleep(EVERY_KILL * self.chance.uniform(0.5, 1.5))
            with suppress(*LOST):
                serving = await self._serving()
                if len(serving) > len(ROLES) // 2:
                    victim = self.chance.choice(serving)
                    self._fell(victim)
                    victim.signal(signal.SIGKILL)
                    self.troubles["kill"] += 1

    async def _serving(self) -> list[Child]:
        alive = await presence.alive(self.system.redis, self.system.topology)
        pids = {one["pid"] for one in alive}
        return [child for child in self.children if child.pid in pids and child.code is None]

    async def trouble(self) -> None:
        """One misfortune after the other."""
        kinds = {
            self._stop: 3,
            self._copy: 6,
            self._poison: 3,
            self._crash_server: 1,
            self._refuse: 2,
            self._cut: 3,
            self._lose_replies: 4,
            self._slow: 4,
        }
        while True:
            await asyncio.sleep(self.chance.uniform(0.3, 1.5))
            (kind,) = self.chance.choices([*kinds], [*kinds.values()])
            self.troubles[kind.__name__.strip("_")] += 1
            with suppress(*LOST):
                await kind()

    async def calm(self) -> None:
        """No more trouble: the server stands, its network is quick, and nobody is stopped."""
        self.network.slow(0)
        await asyncio.to_thread(self.system.server.start)
        for child in self.children:
            child.signal(signal.SIGCONT)

    def innocents(self, letters: Iterable[dict[bytes, bytes]]) -> Iterator[dict[bytes, bytes]]:
        """The dead letters of calls that have killed nobody."""
        deadly = [chain.encode() for chain in self.deadly]
        for letter in letters:
            if not any(chain in text for chain in deadly for text in letter.values()):
                yield letter

    def takeovers(self, seen: list[Seen]) -> list[float]:
        """Seconds from the fall of each process that had a call, or a partition, until another had
        it; the shortest first.
        """
        had: dict[object, list[tuple[int, int]]] = defaultdict(list)
        partition = self.system.topology.partition
        for place, claim in of(seen, Claimed):
            had[claim.action, claim.entry].append((place.at, place.process))
        for place, commit in of(seen, Decided):
            had[partition(commit.chain)].append((place.at, place.process))
        return sorted(
            (later - fell) / 1e9
            for holders in had.values()
            for (at, one), (later, other) in itertools.pairwise(holders)
            if one != other
            for fell in [when for when in self._fallen[one] if at <= when < later][:1]
        )

    def parked(self, seen: list[Seen]) -> float:
        """Seconds for which nothing was told of a chain that was not over, at most."""
        told: dict[str, list[int]] = defaultdict(list)
        for place in seen:
            if isinstance(place.record, Submitted | Told):
                told[place.record.chain].append(place.at)
        pauses = [
            later - at
            for chain in told.keys() - self.deadly
            for at, later in itertools.pairwise(sorted(told[chain]))
        ]
        return max(pauses) / 1e9

    def _fell(self, child: Child) -> None:
        self._fallen[child.pid].append(time.monotonic_ns())

    async def _stop(self) -> None:
        """Longer than the lease: who wakes up has lost what it held."""
        child = self.chance.choice(self.children)
        self._fell(child)
        child.signal(signal.SIGSTOP)
        await asyncio.sleep(self.system.settings.lease * self.chance.uniform(1.0, 1.5))
        child.signal(signal.SIGCONT)

    async def _copy(self) -> None:
        """Entries a second time, as new ones."""
        redis: Any = self.system.redis
        for key in self._streams():
            found = await redis.xrange(key, count=50)
            entries = [entry for entry in found if entry[1].get(b"__data__") not in POISON.values()]
            for _, fields in self.chance.sample(entries, min(len(entries), 3)):
                await redis.xadd(key, fields)

    async def _poison(self) -> None:
        reason, data = self.chance.choice(list(POISON.items()))
        fields = {"hello": b"world"} if data is None else {"__data__": data}
        await self.system.redis.xadd(self.chance.choice(self._streams()), fields)
        self.poisoned.append(reason)

    async def _crash_server(self) -> None:
        await asyncio.to_thread(self.system.server.kill)
        await asyncio.sleep(self.chance.uniform(0, 0.5))
        await asyncio.to_thread(self.system.server.start)

    async def _refuse(self) -> None:
        """No write for a moment: the memory is full, or a replica is missing."""
        redis: Any = self.system.redis
        name = self.chance.choice(("maxmemory", "min-replicas-to-write"))
        await redis.config_set(name, 1)
        try:
            await asyncio.sleep(self.system.settings.lease * self.chance.uniform(0.2, 1.5))
        finally:
            await redis.config_set(name, 0)

    async def _cut(self) -> None:
        self.network.cut()

    async def _lose_replies(self) -> None:
        self.network.lose_replies()

    async def _slow(self) -> None:
        """Late by more than a lease at times, and each connection by itself: what was sent first
        comes second. For a moment, as all else: a start takes a dozen replies, one after the other.
        """
        settings = self.system.settings
        self.network.slow(settings.executor_lease * self.chance.choice((0.05, 0.3, 1.2)))
        await asyncio.sleep(settings.lease * self.chance.uniform(0.5, 2))
        self.network.slow(0)

    def _streams(self) -> list[str]:
        topology = self.system.topology
        streams = ((Stream.EVENTS, ""), (Stream.PLANS, ""), (Stream.TOOLS, QUEUE))
        return [
            topology.stream(p, *stream) for p in range(topology.partitions) for stream in streams
        ]
