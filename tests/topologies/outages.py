"""What happens to a topology while chains of all kinds are under way, and what it costs."""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from operator import methodcaller as do
from pathlib import Path
from typing import Final

from haltpoint.contracts.base import chain_of
from haltpoint.contracts.catalogue import Party
from haltpoint.contracts.people.humans import Choice, RequestStatus
from haltpoint.runtime.store.store import new_chain_id
from haltpoint.runtime.streams.broker import UNREACHABLE
from tests.chaos.system import System, task
from tests.proofs.records import Answered, Effect, of, read
from tests.support import PATIENCE, wait_until
from tests.support.processes import until
from tests.support.stored import Stored
from tests.topologies.servers import Servers

KINDS: Final = (("look", "send", "save"), ("drop",), ("ask", "send"), ("send", "look"))
ROLES: Final = (Party.EXECUTOR, Party.WORKER, Party.WORKER, Party.GATEWAY)
EVERY: Final = 0.1
"""Seconds from one submission to the next."""
AROUND: Final = 3.0
"""Seconds of load before what happens, and after the work goes on."""


@dataclass(frozen=True)
class Price:
    """What an outage has cost. `told`: accepted chains of which people read that they are gone.
    `doubled`: effects that ran twice and nobody was asked.
    """

    seconds: float
    chains: int
    lost: int
    told: int
    doubled: int
    answers: int
    answers_lost: int
    doubts: int

    @property
    def nothing_lost(self) -> bool:
        """The bar."""
        return self.lost == self.doubled == self.answers_lost == 0


@dataclass(frozen=True)
class Outage:
    """`begin` lets it happen, `is_felt` says when services have to do without the master, `end`
    brings back what is missing when the work has gone on for a while.
    """

    name: str
    begin: Callable[[Servers], None]
    end: Callable[[Servers], None] = lambda _: None
    is_felt: Callable[[Servers], bool] = lambda _: True


KILLED: Final = Outage("killed", do("kill"), do("start"))
STOPPED: Final = Outage("stopped", do("stop"), do("go_on"))
CUT_OFF: Final = Outage(
    "cut off", do("cut_off"), do("mend"), lambda servers: servers.promoted(servers.fallen)
)
PLANNED: Final = Outage("planned", do("fail_over"))
MOVED: Final = Outage("slot moved", do("move_slot"))
MOVED_WHOLE: Final = Outage("slot moved whole", do("move_slot_whole"))
JOINED: Final = Outage("slot moved to a new node", do("move_slot_to_a_new_node"))


async def survive(
    servers: Servers,
    outage: Outage,
    folder: Path,
    partitions: int = 1,
    durability: str = "everysec",
) -> Price:
    """Let it happen under load, and judge: the price, when all chains that can end have ended."""
    async with System(folder, server=servers, partitions=partitions) as system:
        system.settings = system.settings.model_copy(update={"durability": durability})
        await asyncio.gather(*(system.launch(party) for party in ROLES))
        load = Load(system)
        loading = asyncio.create_task(load.run())
        await asyncio.sleep(AROUND)
        seconds = await _seconds_until_work_goes_on(system, servers, outage)
        await asyncio.sleep(AROUND)
        await asyncio.to_thread(outage.end, servers)
        await asyncio.sleep(AROUND)
        load.over = True
        await loading
        with suppress(AssertionError):
            await system.settle(within=PATIENCE)
        assert not any(child.code is not None for child in system.children), "a service ended"
        return await _price(system, seconds)


class Load:
    """Submits a chain every moment, each until it is accepted."""

    def __init__(self, system: System) -> None:
        self.over = False
        self._system = system

    async def run(self) -> None:
        """Until it is over, and everything was accepted."""
        submitting: list[asyncio.Task[str]] = []
        while not self.over:
            number = len(submitting)
            work = task(*KINDS[number % len(KINDS)], seconds=0.2)
            submission = self._system.submit(work, f"load-{number}", over_http=True)
            submitting.append(asyncio.create_task(submission))
            await asyncio.sleep(EVERY)
        await asyncio.gather(*submitting)


async def _seconds_until_work_goes_on(system: System, servers: Servers, outage: Outage) -> float:
    """From what happens until a chain of partition 0 that is submitted then has ended."""
    loop = asyncio.get_running_loop()
    await asyncio.to_thread(outage.begin, servers)
    begun = loop.time()
    await asyncio.to_thread(until, lambda: outage.is_felt(servers))

    async def goes_on() -> bool:
        with suppress(*UNREACHABLE, AssertionError):
            await _do_one(system)
            return True
        return False

    await wait_until(goes_on)
    return loop.time() - begun


async def _do_one(system: System) -> None:
    """A chain of partition 0; a server that is cut off may accept it, and then nobody works at
    it.
    """
    chain = new_chain_id()
    while system.topology.partition(chain) != 0:
        chain = new_chain_id()
    work = system.with_history(task("look"))
    await system.store.submit(work, chain_id=chain)
    await wait_until(lambda: system.is_over(chain), timeout=2)


async def _price(system: System, seconds: float) -> Price:
    seen = read(system.history.glob("*.jsonl"))
    answers = {record.request: record for _, record in of(seen, Answered) if record.taken}
    decisions = {one.action: one.decision for one in answers.values()}
    effects = Counter(
        effect.key
        for _, effect in of(seen, Effect)
        if effect.effects in ("other", "destructive")
        and decisions.get(effect.key) != Choice.NOT_HAPPENED
    )
    stored = Stored(system.redis, system.topology)
    gone = await system.gone()
    asked = [await stored.request(name) for name in answers if chain_of(name) not in gone]
    doubts = (Choice.HAPPENED, Choice.NOT_HAPPENED)
    return Price(
        seconds=round(seconds, 1),
        chains=len(system.accepted),
        lost=len(await system.open_chains()),
        told=len(gone),
        doubled=sum(times > 1 for times in effects.values()),
        answers=len(answers),
        answers_lost=sum(not row or row.status is not RequestStatus.ANSWERED for row in asked),
        doubts=sum(one.decision in doubts for one in answers.values()),
    )
