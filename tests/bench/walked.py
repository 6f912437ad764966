"""How much code one plain action walks: the functions and files of ours that each stop enters, by
sys.setprofile.

A service runs in this process and the other one beside it, with a chain of plain steps between
them. Counted is what is entered from one batch to the next: each function once, a comprehension as
part of its function. `calls` are all calls in between, of libraries and C too. Shown is the batch
that enters more than a quarter of the others do: on a busy machine heartbeats and renewals fall
into many, and what a step enters by itself is in every one.
"""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from redis.asyncio import Redis

import haltpoint
import haltpoint_executor.app
import haltpoint_planner
import haltpoint_tool_worker.app
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.store.store import Store
from haltpoint.runtime.streams.connection import AutoPipeline, connect
from haltpoint.runtime.streams.topology import Topology
from tests.bench.processes import running
from tests.bench.system import prepare, sequence

STEPS = 16
TOOLS = "tests.bench.tools"
_OURS = tuple(
    str(Path(module.__file__ or "").parent)
    for module in (haltpoint, haltpoint_executor, haltpoint_planner, haltpoint_tool_worker)
)


class Walked(NamedTuple):
    """What was entered: distinct functions and files of ours, and all calls."""

    functions: int
    files: int
    calls: int


@dataclass
class Steps:
    """A profiler: the code objects that are entered, and a new round at each entry of `first` (the
    end of a path).
    """

    first: str
    only: str = ""
    rounds: list[list[CodeType | None]] = field(default_factory=list[list[CodeType | None]])
    began: FrameType | None = None
    inside: FrameType | None = None

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "return" and frame is self.inside:
            self.inside = None
        if event not in ("call", "c_call"):
            return
        entered = code if event == "call" and is_ours(code) else None
        if entered is not None and frame is not self.began and _name(entered).endswith(self.first):
            self.began = frame  # a coroutine enters it again each time it is resumed
            self.rounds.append([])
        if entered is not None and self.only and _name(entered).endswith(self.only):
            self.inside = frame
        if self.rounds and (not self.only or self.inside is not None):
            self.rounds[-1].append(entered)

    def usual(self) -> Walked:
        """The round at the lower quartile, by what is entered: one plain action."""
        return walked(self._plain())

    def names(self) -> list[str]:
        """Its functions, in the order in which they are entered."""
        return list(
            dict.fromkeys(
                _name(code) for code in self._plain() if code is not None and _counts(code)
            )
        )

    def _plain(self) -> list[CodeType | None]:
        return sorted(self.rounds, key=walked)[len(self.rounds) // 4]


def _name(code: CodeType) -> str:
    return f"{code.co_filename} {code.co_qualname}"


def is_ours(code: CodeType) -> bool:
    """Whether code is of the product."""
    return code.co_filename.startswith(_OURS)


def _counts(code: CodeType) -> bool:
    return code.co_name not in ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")


def walked(one: Sequence[CodeType | None]) -> Walked:
    """What was entered, counted."""
    ours = {code for code in one if code is not None and _counts(code)}
    return Walked(len(ours), len({code.co_filename for code in ours}), len(one))


async def walk(url: str, run: Callable[[Settings], Awaitable[None]], steps: Steps) -> None:
    """Run a service here, its other one being there already, and a chain through both; `steps`
    hears of it.
    """
    settings = Settings(redis_url=url, tools=(TOOLS,), allow_unsafe=True, profile="dev")
    service = asyncio.ensure_future(run(settings))
    topology, plain = Topology(settings.partitions), Redis.from_url(url)
    async with connect(url) as redis, AutoPipeline(redis) as calls:
        while not await _are_ready(plain, topology, service):  # noqa: ASYNC110 - no event tells it
            await asyncio.sleep(0.02)
        chain = (await Store(calls, topology).submit(sequence(STEPS))).chain_id
    sys.setprofile(steps)
    completed = topology.key(topology.partition(chain), "index", "status", "completed")
    while await plain.zscore(completed, chain) is None:  # noqa: ASYNC110 - no event tells it
        await asyncio.sleep(0.02)
    sys.setprofile(None)
    await plain.aclose()
    service.cancel()
    await service


async def _are_ready(plain: Any, topology: Topology, service: "asyncio.Future[None]") -> bool:
    if service.done():
        await service
    names = {key.decode().split(":")[3] for key in await plain.keys("hp:{0}:service:*")}
    owners = [await plain.get(topology.key(p, "owner")) for p in range(topology.partitions)]
    return {"executor", "tool-worker"} <= names and None not in owners


def measure(folder: Path, here: str, steps: Steps) -> Steps:
    """Walk the service `here` (executor or tool-worker), the other one as a process."""
    run = haltpoint_executor.app.run if here == "executor" else haltpoint_tool_worker.app.run
    other = "tool-worker" if here == "executor" else "executor"
    folder.mkdir(parents=True, exist_ok=True)
    with EmbeddedServer(folder / "data") as server:
        asyncio.run(prepare(server.url))
        environment = {
            "HALTPOINT_REDIS_URL": server.url,
            "HALTPOINT_TOOLS": TOOLS,
            "HALTPOINT_STATE_DIR": str(folder / "state"),
        }
        with running(["haltpoint", "up", other], environment, folder / f"{other}.log"):
            asyncio.run(walk(server.url, run, steps))
    return steps


PATHS = {
    "decide": (
        "executor",
        Steps("haltpoint_executor/executor.py Executor.handle", "chain/decide.py decide"),
    ),
    "executor": ("executor", Steps("haltpoint_executor/executor.py Executor.handle")),
    "worker": ("tool-worker", Steps("haltpoint_tool_worker/handlers.py Handlers.handle")),
}
"""What is measured: in which service, and where its rounds begin."""


def main(wanted: list[str]) -> None:
    """Print a row for each path; with names of paths, the functions of these too."""
    with tempfile.TemporaryDirectory() as folder:
        for name, (here, steps) in PATHS.items():
            usual = measure(Path(folder) / name, here, steps).usual()
            print(
                f"{name:10} {usual.functions:4} functions in {usual.files:3} files, "
                f"{usual.calls:5} calls"
            )
            if name in wanted:
                print(*steps.names(), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
