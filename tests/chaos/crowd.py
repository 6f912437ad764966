"""Very much at once: chains, open questions, watchers, large results, and workers that are killed.
What others wait meanwhile, and what each process keeps.
"""

import asyncio
import itertools
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from haltpoint.client import GatewayError
from haltpoint.contracts.catalogue import Party
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.streams.tasks import end
from tests.chaos.nursery import Child
from tests.chaos.system import KEY, System, task
from tests.proofs.records import effects_in
from tests.support import wait_until
from tests.support.builders import line_plan

SUBMITTERS: Final = 16
STEPS: Final = 500
PAUSE: Final = 0.02
"""Seconds between two looks of somebody else."""
LARGE: Final = 15_000_000
"""Bytes of a large result."""
UNDER_WAY: Final = (b"accepted", b"planning", b"executing")
ENDED: Final = (b"chain.completed", b"chain.failed", b"chain.cancelled")


def most(seconds: list[float]) -> float:
    """What 99 % of them are not longer than."""
    return sorted(seconds)[int(len(seconds) * 0.99)]


class Crowd:
    """What happens at once, `size` times as much as the bar asks for, on a system that runs."""

    def __init__(self, system: System, size: float) -> None:
        self.system = system
        self.waits: list[float] = []
        """Seconds that each request of somebody else took."""
        self.late: list[float] = []
        """Seconds by which this process itself was late before each of them: of a busy machine."""
        self.memory: dict[str, list[float]] = {}
        """MB of each process at times."""
        self.restarts = 0
        self._size = size
        self._services: dict[str, Child] = {}

    def many(self, number: int) -> int:
        """So many of these, at this size."""
        return max(1, round(number * self._size))

    async def start(self) -> None:
        """The services, and a first few chains, so that all have done everything once."""
        for party in (Party.EXECUTOR, Party.GATEWAY, Party.WORKER):
            self._services[party.value] = await self.system.launch(party)
        for _ in range(20):
            await self._submit(task("send"))
        await self._submit(task("bulk", bytes=LARGE))
        await wait_until(self._is_calm)
        self.weigh()

    async def all_at_once(self) -> None:
        """Until each of them is over, but for the questions."""
        watched = await self._submit(task("ask"))
        long = await self._submit(Task(plan=line_plan(STEPS, "look", text="x")))
        looking = asyncio.create_task(self._look(watched))
        killing = asyncio.create_task(self._restart())
        streams = [
            asyncio.create_task(self._watch(chain))
            for chain in (long, watched)
            for _ in range(self.many(1_000))
        ]
        work = [task("send")] * self.many(20_000) + [task("ask")] * self.many(5_000)
        work += [task("bulk", bytes=LARGE)] * self.many(20)
        random.Random(0).shuffle(work)
        left = iter(work)
        await asyncio.gather(*(self._submit_all(left) for _ in range(SUBMITTERS)))
        await killing
        await wait_until(self._is_calm, timeout=1200)
        answering = asyncio.create_task(self._answer())
        await self.system.settle(within=1200)
        await end(answering)
        await asyncio.gather(*streams)
        await end(looking)

    def weigh(self) -> None:
        """What each process keeps now."""
        for name, child in self._services.items():
            with suppress(OSError):
                pages = int(Path(f"/proc/{child.pid}/statm").read_text().split()[1])
                self.memory.setdefault(name, []).append(pages * 4096 / 1e6)

    async def judge(self) -> None:
        """Nothing is lost, and nothing happened twice."""
        letters = await self.system.dead_letters()
        assert not letters, (len(letters), letters[0])
        ends = Counter([await self._status(chain) for chain in self.system.accepted])
        assert ends == {b"completed": len(self.system.accepted)}
        sent = Counter(one.key for one in effects_in(self.system.history) if one.effects == "other")
        assert set(sent.values()) == {1}

    @property
    def slowness(self) -> float:
        """How many times as long a pause is on this machine, beside its other work."""
        return 1 + most(self.late) / PAUSE

    def __str__(self) -> str:
        waits = sorted(self.waits)
        memory = ", ".join(
            f"{name} {told[0]:.0f} -> {told[-1]:.0f} (at most {max(told):.0f}) MB"
            for name, told in self.memory.items()
        )
        return (
            f"{len(self.system.accepted)} chains, {self.restarts} restarts; {len(waits)} others "
            f"waited {waits[len(waits) // 2] * 1000:.0f} ms, 99 % at most "
            f"{most(self.waits) * 1000:.0f} ms, all at most {waits[-1] * 1000:.0f} ms (this test "
            f"itself was late, 99 % by at most {most(self.late) * 1000:.0f} ms); {memory}"
        )

    async def _submit(self, work: Task) -> str:
        return await self.system.submit(work, over_http=True)

    async def _submit_all(self, work: Iterator[Task]) -> None:
        for each in work:
            await self._submit(each)

    async def _look(self, chain: str) -> None:
        """Somebody else looks at one chain again and again."""
        for turn in itertools.count():
            begun = time.monotonic()
            await asyncio.sleep(PAUSE)
            asked = time.monotonic()
            self.late.append(asked - begun - PAUSE)
            with suppress(GatewayError):
                await self.system.client.chain(chain)
                self.waits.append(time.monotonic() - asked)
            if turn % 100 == 0:
                self.weigh()

    async def _restart(self) -> None:
        """Kill the worker as soon as it has done something, and start another one."""
        for _ in range(self.many(200)):
            worker = self._services[Party.WORKER.value]
            await wait_until(partial(self._has_begun, worker))
            worker.signal(9)
            await worker.dies()
            self._services[Party.WORKER.value] = await self.system.launch(Party.WORKER)
            self.restarts += 1

    def _has_begun(self, worker: Child) -> bool:
        file = self.system.history / f"{Party.WORKER.value}.{worker.pid}.jsonl"
        return file.stat().st_size > 0

    async def _answer(self) -> None:
        while True:
            await self.system.person.look()

    async def _watch(self, chain: str) -> None:
        """An event stream, until its chain is over."""
        port = self.system.settings.gateway.port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        lines = (
            f"GET /v1/chains/{chain}/events HTTP/1.1",
            *(f"Host: 127.0.0.1:{port}", f"Authorization: Bearer {KEY}"),
            "Accept: text/event-stream",
        )
        writer.write("\r\n".join((*lines, "", "")).encode())
        tail = b""
        while not any(fact in tail for fact in ENDED):
            piece = await reader.read(65536)
            assert piece, tail
            tail = tail[-20:] + piece
        writer.close()

    async def _is_calm(self) -> bool:
        """Whether every chain is over, or has asked."""
        return not any([await self._status(chain) in UNDER_WAY for chain in self.system.accepted])

    async def _status(self, chain: str) -> Any:
        return await self.system.redis.hget(self.system.topology.key_of("chain", chain), "status")
