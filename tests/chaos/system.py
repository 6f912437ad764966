"""A server, services as processes or in this one, a client, a person who tells the truth, and a
watcher.

async with System(folder) as system:
await system.host(Party.EXECUTOR)                        # in this process: cheap, lives
victim = await system.launch(Party.WORKER, "after claim")  # a process of its own that dies there
await system.submit(task("send"), "a")
await victim.dies()
await system.launch(Party.WORKER)                        # as a supervisor would
await system.settle()
system.keeps_its_promises()
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self

import msgspec
from pydantic import SecretStr

from haltpoint.cli.local.system import free_port
from haltpoint.client import Client
from haltpoint.contracts.catalogue import Party, Stream
from haltpoint.contracts.views.chains import ChainView
from haltpoint.contracts.work.agents import Agents
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.config.settings import (
    GatewaySettings,
    LimitSettings,
    ModelSettings,
    Settings,
)
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.store import library
from haltpoint.runtime.store.chain_codec import end_of
from haltpoint.runtime.store.rows import Data, Key
from haltpoint.runtime.store.store import Store, SubmitStatus, new_chain_id
from haltpoint.runtime.streams import presence
from haltpoint.runtime.streams.broker import UNREACHABLE
from haltpoint.runtime.streams.connection import AutoPipeline, connect
from haltpoint.runtime.streams.tasks import end
from haltpoint.runtime.streams.topology import Topology
from haltpoint.runtime.views.views import Views
from tests.chaos import launcher, nursery
from tests.chaos.nursery import Child
from tests.chaos.people import Person, Watcher
from tests.proofs.history import check
from tests.proofs.records import Ended, Recorder, Submitted
from tests.support import PATIENCE, wait_until
from tests.support.agents_toml import written
from tests.support.builders import call, plan, tool_step

QUEUE: Final = "chaos"
KEY: Final = "chaos-admin-key-0123456789"


def task(*tools: str, **context: Any) -> Task:
    """A literal plan that calls these tools one after the other."""
    steps = [
        tool_step(f"s{n}", call(tool, text=f"{tool} {n}"), after=(f"s{n - 1}",) if n else ())
        for n, tool in enumerate(tools)
    ]
    return Task(plan=plan(*steps), context=context)


class Server(Protocol):
    """Where it is, how it dies (`kill`), and how it is there again (`start`)."""

    @property
    def url(self) -> str: ...
    def kill(self) -> None: ...
    def start(self) -> object: ...
    def __enter__(self) -> object: ...
    def __exit__(self, *_: object) -> None: ...


class System:
    """All of it on one folder, from entering to leaving. `server` is what it runs on: an embedded
    server, or one that is there already. Without being `observed` nobody answers, and no history is
    written of it. `release`: the folders with the code of another one, of which services are from
    then on.
    """

    def __init__(
        self,
        folder: Path,
        *,
        server: Server | None = None,
        partitions: int = 1,
        model_url: str | None = None,
        agents: Agents | None = None,
        chain_timeout: float = 120,
        observed: bool = True,
    ) -> None:
        self.folder = folder
        self.history = folder / "history"
        self.history.mkdir()
        self._starts_server = server is None
        self.server: Server = server or EmbeddedServer(folder / "data", grace=1.0)
        self.topology = Topology(partitions)
        self.accepted: list[str] = []
        self.settings = Settings(
            redis_url=self.server.url,
            partitions=partitions,
            tools=("tests.chaos.tools", "tests.chaos.mixed_tools"),
            skills=(Path(__file__).with_name("skills"),),
            state_dir=folder,
            agents_file=None if agents is None else written(agents, folder),
            lease=2,
            heartbeat=0.5,
            executor_lease=1,
            slots=8,
            deliveries=10,
            model=ModelSettings(base_url=model_url, name="scripted"),
            gateway=GatewaySettings(port=free_port(), admin_key=SecretStr(KEY)),
            limits=LimitSettings(chain_deadline=chain_timeout),
        )
        self.children: list[Child] = []
        self.release: tuple[Path, ...] = ()
        self._observed = observed
        self._stack = AsyncExitStack()
        self._markers = 0

    async def __aenter__(self) -> Self:
        try:
            await self._enter()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def _enter(self) -> None:
        stack = self._stack
        self._environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("HALTPOINT_", "COV"))
        }
        await asyncio.to_thread(nursery.place)
        if self._starts_server:
            stack.enter_context(self.server)
        self.redis: Any = await stack.enter_async_context(connect(self.server.url))
        await library.load(self.redis)
        await self.topology.ensure(self.redis, [QUEUE])
        self._calls = await stack.enter_async_context(AutoPipeline(self.redis))
        self.store = Store(self._calls, self.topology, self.settings.limits)
        self.client = await stack.enter_async_context(
            Client(f"http://127.0.0.1:{self.settings.gateway.port}", KEY, timeout=10)
        )
        self._recorder = Recorder(self.history, "client")
        stack.callback(self._recorder.close)
        self.person = Person(self.redis, self._calls, self.topology, self.history)
        self.watcher = Watcher(self.redis, self.topology, self.history)
        stack.callback(self.person.close)
        stack.callback(self.watcher.close)
        for part in (self.person, self.watcher) if self._observed else ():
            self._in_background(_for_ever(part.look))

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for child in self.children:
            child.signal(18)  # SIGCONT: one that was stopped cannot end
            child.signal(9)
        await asyncio.gather(*(child.end for child in self.children))
        await self._stack.aclose()

    # ---- services

    async def host(self, party: Party) -> None:
        """Run a service in this process until the end."""
        app = import_module(launcher.SERVICES[party])
        before = await self._instances()
        running = self._in_background(app.run(self.settings))
        await wait_until(lambda: self._is_ready(party, before, running.done))

    async def launch(self, party: Party, point: str = "", nth: int = 1) -> Child:
        """Start a service as a process, which dies at the n-th passage of `point`; it is ready, or
        dead already.
        """
        before = await self._instances()
        child = await self.spawn(party, point, nth)

        def ended() -> bool:
            assert child.code in (None, -9), f"{party.value} ended:\n{child.words()}"
            return child.code is not None

        await wait_until(lambda: self._is_ready(party, before, ended))
        return child

    async def spawn(self, party: Party, point: str = "", nth: int = 1) -> Child:
        """Start a service as a process, and do not wait for it."""
        self._markers += 1
        log = self.folder / f"{party.value}.{self._markers}.log"
        environment = {
            **self._environment,
            **variables(self.settings),
            "CHAOS_HISTORY": str(self.history),
            "CHAOS_POINT": point,
            "CHAOS_NTH": str(nth),
            "CHAOS_MARKER": str(self.folder / f"died.{self._markers}"),
        }
        child = await nursery.bear(
            "tests.chaos.launcher:main",
            party.value,
            environment=environment,
            log=log,
            release=self.release,
        )
        self.children.append(child)
        return child

    async def _instances(self) -> set[str]:
        with suppress(*UNREACHABLE):
            return {one["instance"] for one in await presence.alive(self.redis, self.topology)}
        return set()

    async def _is_ready(self, party: Party, before: set[str], ended: Callable[[], bool]) -> bool:
        if ended():
            return True
        try:
            alive = await presence.alive(self.redis, self.topology)
        except UNREACHABLE:
            return False
        return any(one["name"] == party.value and one["instance"] not in before for one in alive)

    def _in_background(self, work: Any) -> "asyncio.Task[None]":
        running: asyncio.Task[None] = asyncio.ensure_future(work)
        # A hosted service drains after the first cancellation, which takes up to some seconds.
        self._stack.push_async_callback(end, running, pause=10.0)
        return running

    def keep(self, server: EmbeddedServer) -> None:
        """End another server with the system."""
        self._stack.callback(server.stop)

    # ---- tasks

    async def submit(self, task: Task, key: str = "", *, over_http: bool = False) -> str:
        """Submit a task, write down that it was accepted, and give its chain's id.

        Over HTTP, or straight into the store, where the same key is another task each time.
        """
        task = self.with_history(task)
        if over_http:
            chain = (await self.client.run(task=task, idempotency_key=key or None)).id
        else:
            submitted = await self.store.submit(task, chain_id=new_chain_id())
            assert submitted.status is not SubmitStatus.CONFLICT
            chain = submitted.chain_id
        self._recorder.write(Submitted(key or chain, chain))
        self.accepted.append(chain)
        return chain

    def with_history(self, task: Task) -> Task:
        """The task, whose tools write down what they do."""
        context = {"history": str(self.history), **task.context}
        return msgspec.structs.replace(task, context=context)

    async def settle(self, within: float = PATIENCE) -> None:
        """Wait until every accepted chain is over, nothing is left in any stream, and the watcher
        has seen it all.
        """
        try:
            await wait_until(self._is_settled, timeout=within)
        except AssertionError as error:
            raise AssertionError(await self._picture()) from error
        if self._observed:
            await self.watcher.look(again=True)

    async def _is_settled(self) -> bool:
        try:
            return await self.open_chains() == [] and set((await self._backlogs()).values()) <= {0}
        except UNREACHABLE:
            return False

    async def is_over(self, chain: str) -> bool:
        """Whether a chain has reached its final state."""
        status = await self._calls.call("HGET", self.topology.key_of("chain", chain), "status")
        return status in (b"completed", b"failed", b"cancelled")

    async def gone(self) -> set[str]:
        """The chains that a server has lost, and of which people are told."""
        keys = [self.topology.key(p, "gone") for p in range(self.topology.partitions)]
        return {name.decode() for key in keys for name in await self.redis.smembers(key)}

    async def open_chains(self) -> list[str]:
        """The accepted chains that are neither over nor gone."""
        gone = await self.gone()
        left = [chain for chain in self.accepted if chain not in gone]
        return [chain for chain in left if not await self.is_over(chain)]

    async def read_answers(self) -> dict[str, ChainView]:
        """Write down what the answer of each chain says, all of which are over; the chains as
        people see them.
        """
        views, ends = Views(self.redis, self._calls, self.topology), dict[str, ChainView]()
        for chain in self.accepted:
            view = await views.chain(chain, lambda _: True)
            assert view is not None
            assert view.answer is not None
            deeds = [deed.action_id for deed in view.answer.deeds]
            not_done = [str(call.action_id) for call in view.answer.not_done]
            self._recorder.write(Ended(chain, view.status, deeds, not_done))
            ends[chain] = view
        return ends

    async def _backlogs(self) -> dict[str, int]:
        streams = [(Stream.EVENTS, ""), (Stream.PLANS, ""), (Stream.TOOLS, QUEUE)]
        keys = [
            self.topology.stream(p, *stream)
            for p in range(self.topology.partitions)
            for stream in streams
        ]
        return {key: int(await self.redis.xlen(key)) for key in keys}

    async def dead_letters(self) -> list[dict[bytes, bytes]]:
        """What was put aside."""
        keys = [self.topology.key(p, "dead") for p in range(self.topology.partitions)]
        return [fields for key in keys for _, fields in await self.redis.xrange(key)]

    async def _picture(self) -> str:
        """What is left, for people."""
        lines = [f"backlogs {await self._backlogs()}"]
        for chain in await self.open_chains():
            fields = await self.redis.hgetall(self.topology.key_of("chain", chain))
            lines.append(f"chain {chain}: {fields}")
            lines.append(
                f"  data: {await self.redis.hgetall(self.topology.key_of(Key.DATA, chain))}"
            )
        lines += [f"{child.log.name}: {child.words()}" for child in self.children]
        return "\n".join(lines)

    def errors(self) -> list[str]:
        """What the processes had to say about faults of ours."""
        lines = (
            line
            for child in self.children
            for line in child.log.read_text(errors="replace").splitlines()
        )
        return [
            line for line in lines if '"level": "error"' in line or '"level": "critical"' in line
        ]

    def keeps_its_promises(self) -> None:
        """The judgement of the history."""
        violations = check(sorted(self.history.glob("*.jsonl")))
        assert not violations, json.dumps([str(each) for each in violations], indent=1)

    async def all_succeeded(self) -> None:
        """No promise is broken, nothing was put aside, and each chain has its answer."""
        self.keeps_its_promises()
        assert await self.dead_letters() == []
        for chain in self.accepted:
            end = await self.redis.hget(self.topology.key_of(Key.DATA, chain), Data.END)
            assert end_of(end).error is None, end


async def _for_ever(look: Callable[[], Awaitable[None]]) -> None:
    while True:
        with suppress(*UNREACHABLE):
            await look()
        await asyncio.sleep(0.05)


def variables(settings: Settings) -> dict[str, str]:
    """The environment that makes these settings of ours."""
    found = {
        "REDIS_URL": settings.redis_url,
        "PARTITIONS": settings.partitions,
        "TOOLS": ",".join(settings.tools),
        "SKILLS": ",".join(map(str, settings.skills)),
        "STATE_DIR": settings.state_dir,
        "LEASE": settings.lease,
        "HEARTBEAT": settings.heartbeat,
        "EXECUTOR_LEASE": settings.executor_lease,
        "SLOTS": settings.slots,
        "DELIVERIES": settings.deliveries,
        "MODEL__BASE_URL": settings.model.base_url or "",
        "MODEL__NAME": settings.model.name or "",
        "LOG__FORMAT": "json",
        "DURABILITY": settings.durability,
        "GATEWAY__PORT": settings.gateway.port,
        "GATEWAY__ADMIN_KEY": KEY,
        "LIMITS__CHAIN_DEADLINE": settings.limits.chain_deadline,
        "AGENTS_FILE": settings.agents_file or "",
    }
    return {f"HALTPOINT_{name}": str(value) for name, value in found.items() if value != ""}
