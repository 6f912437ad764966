"""Servers that lose acknowledged writes under a load of short effects: which effects happen twice,
and who says so.
"""

import asyncio
import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from haltpoint.cli.local.system import free_port
from haltpoint.client import GatewayError
from haltpoint.contracts.catalogue import Party
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.store import library
from haltpoint.runtime.streams.broker import UNREACHABLE
from haltpoint.runtime.streams.connection import connect
from tests.chaos.system import System, task
from tests.proofs.records import effects_in
from tests.support import wait_until

CHAINS: Final = 60
"""Submitted before the loss, and as many while the server is back."""


class Losing:
    """A system whose server loses what it did in the last moments."""

    def __init__(self, system: System, chance: random.Random) -> None:
        self.system = system
        self.chance = chance
        self.found: float | None = None
        """Seconds from the server's return until a loss was on record."""

    async def run(self, lose: "Callable[[Losing], Awaitable[None]]") -> None:
        """An executor and two workers under load, the loss, and the load until all is over."""
        system = self.system
        await system.host(Party.EXECUTOR)
        await system.host(Party.GATEWAY)
        await system.launch(Party.WORKER)
        await system.launch(Party.WORKER)
        load = asyncio.create_task(self._load(2 * CHAINS))
        await wait_until(lambda: len(system.accepted) >= CHAINS // 2)
        await lose(self)
        back = time.monotonic()
        await wait_until(self._is_found)
        self.found = time.monotonic() - back
        await load
        await wait_until(self._is_settled)

    async def _load(self, chains: int) -> None:
        """Chains of three effects each, some at once."""
        for _ in range(chains):
            with suppress(GatewayError):
                await self.system.submit(task("send", "send", "send"), over_http=True)
            await asyncio.sleep(0.02)

    async def _is_found(self) -> bool:
        with suppress(*UNREACHABLE):
            return bool(await self.system.redis.exists(self.system.topology.key(0, "lost")))
        return False

    async def _is_settled(self) -> bool:
        """Whether each accepted chain is over, or said to be gone: the services that know it look
        at the server every half second.
        """
        with suppress(*UNREACHABLE):
            return not await self.system.open_chains()
        return False

    async def keeps_its_promise(self) -> None:
        """The judgement."""
        assert self.twice() == []
        assert self.found is not None
        assert self.found < 2

    def twice(self) -> list[str]:
        """The actions whose effect happened more than once."""
        effects = Counter(
            effect.key for effect in effects_in(self.system.history) if effect.effects == "other"
        )
        return [key for key, times in effects.items() if times > 1]

    # ---- losses

    async def tail(self) -> None:
        """Up to two seconds of the append-only file are cut away."""
        (file,) = self._folder.glob("*.incr.aof")
        seconds = self.chance.uniform(0.1, 2)
        size = file.stat().st_size
        await asyncio.sleep(seconds)
        server = self.system.server
        await asyncio.to_thread(server.kill)
        os.truncate(file, size)
        await asyncio.to_thread(server.start)

    async def snapshot(self) -> None:
        """The server comes back with a copy of its data of two seconds before."""
        copy = self.system.folder / "copy"
        shutil.copytree(self._folder, copy)
        await asyncio.sleep(2)  # what the copy lacks
        server = self.system.server
        await asyncio.to_thread(server.kill)
        shutil.rmtree(self._folder)
        shutil.move(copy, self._folder)
        await asyncio.to_thread(server.start)

    async def empty(self) -> None:
        """The server comes back without data, and its operator runs `haltpoint init`."""
        server = self.system.server
        await asyncio.to_thread(server.kill)
        shutil.rmtree(self._folder)
        await asyncio.to_thread(server.start)
        await self._initialise(self.system.redis)

    async def flush(self) -> None:
        """FLUSHALL."""
        await self.system.redis.flushall()

    async def laggard(self) -> None:
        """A replica is promoted that has heard nothing for a second."""
        replica = EmbeddedServer(self.system.folder / "replica", grace=1.0)
        self.system.keep(replica)
        await asyncio.to_thread(replica.start)
        redis: Any = self.system.redis
        port = free_port()
        await redis.config_set("port", port)
        async with connect(replica.url) as other:
            await other.replicaof("127.0.0.1", port)

            async def is_in_step() -> bool:
                info = await other.info("replication")
                return bool(info["master_link_status"] == "up")

            await wait_until(is_in_step)
            await asyncio.sleep(0.5)
            await other.replicaof("NO", "ONE")
            await asyncio.sleep(1)  # what the replica lacks
        await asyncio.to_thread(self.system.server.kill)
        place = self.system.server.url.removeprefix("unix://")
        os.rename(replica.url.removeprefix("unix://"), place)  # noqa: PTH104

    @property
    def _folder(self) -> Path:
        server = self.system.server
        assert isinstance(server, EmbeddedServer)
        return server.data_dir / "appendonlydir"

    async def _initialise(self, redis: Any) -> None:
        await library.load(redis)
        await self.system.topology.ensure(redis, ["chaos"])


KINDS: Final = (Losing.tail, Losing.snapshot, Losing.laggard, Losing.empty, Losing.flush)
