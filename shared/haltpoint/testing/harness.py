"""A whole system inside of a test: a server, the four services and a scripted model, on a clock
that the test moves.

    def test_a_person_chooses(harness):
        harness.start(tools="shop.tools", script="model.json")
        run = harness.run("Order 1 mugs")
        question = run.expects_request("clarification", tool="find_product")
        harness.client.answer(question.id, option_id="p-1")
        assert run.result().calls("order_product")

The services run in threads of the test's own process, so the tools see what the test has put in
place: variables, fakes, a breakpoint. The server is a process that ends with ours, however that
ends.
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn, Self

from anyio.from_thread import start_blocking_portal
from redis import Redis

from haltpoint.cli.local.system import initialise
from haltpoint.contracts.answers import FinalAnswer
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.views.chains import ChainView, RequestView
from haltpoint.runs import NotEndedError, Result
from haltpoint.runtime.config.settings_sources import load_given
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.streams import presence
from haltpoint.runtime.streams.connection import connect
from haltpoint.runtime.views.question import asked_in
from haltpoint.sync_client import SyncClient
from haltpoint.testing.clock import TOPOLOGY, Clock
from haltpoint.testing.crashes import Crashes, Place
from haltpoint.testing.script import Script
from haltpoint.testing.script_model import ScriptedModel
from haltpoint.tools.declaration import seconds_of
from haltpoint_executor import app as executor
from haltpoint_gateway import app as gateway
from haltpoint_planner import app as planner
from haltpoint_tool_worker import app as worker
from haltpoint_tool_worker.registry import registry_of

__all__ = ("Harness", "Trial")

Task = asyncio.Task[None]

_DRAIN: Final = 5.0  # seconds that services have to end
_LOOK: Final = 0.01  # seconds between two looks


class Harness:
    """From `start` to the end of its `with`. `client` may do everything; `model.requests` are what
    the model was asked.
    """

    client: SyncClient
    model: ScriptedModel

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._crashes = Crashes()

    def __enter__(self) -> Self:
        return self

    def __getattr__(self, name: str) -> NoReturn:
        """Raises AttributeError: it has no such thing, or has it only once it has started."""
        raise AttributeError(f"{name!r}: call harness.start(tools=...) first")

    def __exit__(self, raised: type[BaseException] | None, *_: object) -> None:
        self._stack.close()
        if raised is None:
            self._crashes.all_came()

    def start(
        self,
        tools: str | Sequence[str],
        script: Path | str | Sequence[Mapping[str, Any]] = (),
        **settings: Any,
    ) -> None:
        """Start it with these modules of tools. `script` is what the model says: a file, the name
        of a shipped script, or its rules. `settings` are by the names of haltpoint.toml
        (`agents_file`, `policy_file`, `limits={...}`); nothing is read from the environment.

        Raises HaltpointError and SettingsError, as `haltpoint up` would.
        """
        enter = self._stack.enter_context
        server = enter(EmbeddedServer(self._folder / "data"))
        redis = enter(Redis.from_url(server.url))
        services = enter(start_blocking_portal())
        apart = enter(start_blocking_portal())
        self.model = ScriptedModel(_script(script))
        enter(services.wrap_async_context_manager(self.model))
        key = secrets.token_urlsafe()
        ours = {
            "redis_url": server.url,
            "partitions": 1,
            "tools": tools,
            "state_dir": self._folder,
            "heartbeat": 0.25,
            "gateway": {"port": 0, "admin_key": key},
            "model": {"base_url": self.model.base_url, "name": "scripted"},
        }
        given = load_given(**{**ours, **settings})
        registry = registry_of(given, ())
        self._crashes = Crashes(redis)
        registry.wrap(self._crashes.around)
        services.call(initialise, given)
        # Apart: a tool that blocks its event loop blocks nothing else.
        working = _running(worker.serve(given, registry, _stay))
        others = _running(*(service.run(given) for service in (gateway, planner, executor)))
        working_tasks = enter(apart.wrap_async_context_manager(working))
        other_tasks = enter(services.wrap_async_context_manager(others))
        tasks = working_tasks + other_tasks
        url = services.call(_ready, server.url, tasks)
        self._clock = Clock(redis, _streams(registry.queues), partial(_look_at, tasks))
        self.client = enter(SyncClient(url, key))

    def run(self, goal: str = "", **fields: Any) -> "Trial":
        """Submit a goal, with more `fields` of the task, as `Client.run` does."""
        run = self.client.run(goal, **fields)
        return Trial(run.id, self.client, self._clock)

    def call(self, tool: str, /, **arguments: Any) -> "Trial":
        """Call one tool, without a model."""
        action = {"tool": tool, "arguments": arguments}
        step = {"id": "call", "required_tools": [tool], "actions": [action]}
        return self.run(f"Call {tool}", plan={"steps": [step]})

    def skip_time(self, length: float | str) -> None:
        """Let time pass, in seconds or as "2h": what falls due happens in its order. It waits
        before and after until nothing is under way.
        """
        self._clock.skip(seconds_of(length, "length"))

    def crash_before(self, tool: str, times: int = 1) -> None:
        """Let the worker of the tool's next call die before its effect. Raises LookupError for a
        tool that is not served; the test fails at its end when the call did not come.
        """
        self._crashes.let_die(tool, Place.BEFORE, times)

    def crash_after(self, tool: str, times: int = 1) -> None:
        """Let the worker of the tool's next call die after its effect, before anyone hears of it;
        else as `crash_before`.
        """
        self._crashes.let_die(tool, Place.AFTER, times)


@dataclass(frozen=True, slots=True)
class Trial:
    """One chain under test. It waits for no time: what has not happened when nothing is under way
    will not happen.
    """

    id: str
    client: SyncClient
    clock: Clock

    def expects_request(
        self, kind: RequestKind | str | None = None, tool: str | None = None
    ) -> RequestView:
        """The open question of this kind, about a call of this tool. Raises LookupError with what
        happened instead.
        """
        chain = self._settled()
        for request in _open(chain):
            is_of_kind = kind in (None, request.kind)
            if is_of_kind and tool in (None, request.tool):
                return request
        wanted = f"{kind or ''} question"
        if tool:
            wanted += f" of {tool}"
        raise LookupError(f"there is no open {wanted.strip()}: {_told(chain)}")

    def result(self) -> Result:
        """How the chain ended. Raises NotEndedError when it waits for a person, or for its time."""
        chain = self._settled()
        if chain.status in ("completed", "failed", "cancelled"):
            return Result(chain.status, chain.answer or FinalAnswer(), chain)
        error = NotEndedError(self.id, _open(chain))
        error.add_note(_told(chain))
        raise error

    def _settled(self) -> ChainView:
        self.clock.settle()
        return self.client.chain(self.id, story=True)


def _open(chain: ChainView) -> list[RequestView]:
    return [request for request in asked_in(chain) if request.is_open]


def _told(chain: ChainView) -> str:
    story = [f"{line.text} {line.struck}".rstrip() for line in chain.story]
    lines = [f"chain {chain.id} is {chain.status}", *story]
    return "\n  ".join(lines)


def _script(given: Path | str | Sequence[Mapping[str, Any]]) -> Script:
    if isinstance(given, Path | str):
        return Script.read(Path(given))
    return Script.model_validate({"rules": given})


def _streams(queues: Sequence[str]) -> list[str]:
    """All that services read."""
    of_partition = partial(TOPOLOGY.stream, 0)
    of_queue = partial(of_partition, Stream.TOOLS)
    others = (Stream.EVENTS, Stream.PLANS, Stream.HUMANS)
    return [*map(of_queue, queues), *map(of_partition, others)]


def _stay(_: Exception) -> None:
    """The process of a test lives on when a tool blocks the event loop of its worker."""


def _look_at(tasks: Sequence[Task]) -> None:
    """Raise what has ended a service."""
    for task in tasks:
        if task.done():
            task.result()


@asynccontextmanager
async def _running(*services: Coroutine[Any, Any, None]) -> AsyncGenerator[list[Task]]:
    tasks = [asyncio.create_task(service) for service in services]
    try:
        yield tasks
    finally:
        for _ in range(2):  # the first cancellation lets it finish what runs, the second does not
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=_DRAIN)


async def _ready(redis_url: str, tasks: Sequence[Task]) -> str:
    """The address of the gateway, once all are ready."""
    async with connect(redis_url) as redis:
        while len(alive := await presence.alive(redis, TOPOLOGY)) < len(tasks):
            _look_at(tasks)
            await asyncio.sleep(_LOOK)
    urls = [str(service["url"]) for service in alive if "url" in service]
    return urls[0]
