"""The suite at work: a system of its own, many chains at a time, and the histories that come of them."""

import asyncio
import json
import shutil
import tempfile
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from haltpoint.cli.commands.models import OwnModel
from haltpoint.cli.errors import CliError, Exit
from haltpoint.cli.gateway import KEY_FILE, unreachable
from haltpoint.cli.local.system import System
from haltpoint.client import Client, GatewayError
from haltpoint.contracts.base import root_of
from haltpoint.contracts.work.tasks import Mode
from haltpoint.evals import effects, turns
from haltpoint.evals.case import AGENTS, ROUNDS, Case
from haltpoint.evals.history import History
from haltpoint.evals.player import Player
from haltpoint.evals.playing import play
from haltpoint.runtime.config.settings_sources import load
from haltpoint.testing.script_model import ScriptedModel

AT_ONCE: Final = 24
"""Chains under way at a time; with a real model one, so that its time is that of one chain."""

_SECONDS: Final = 120.0
_SECONDS_REAL: Final = 900.0


def run(
    cases: Sequence[Case], modes: Sequence[Mode], real: OwnModel | None, done: Callable[[History], None]
) -> list[History]:
    """Run every case under every mode; `done` hears of each that is over. Raises HaltpointError.

    When something goes wrong the folder with the services' log is kept; Ctrl-C leaves nothing.
    """
    # An unreachable model ends the command at once, not after the retries of every chain.
    if real and (why := unreachable(real.url)):
        fix = "Start it, or correct --model-url: it usually ends in /v1"
        raise CliError("HP-302", f"no model answers at {real.url}", why, fix, exit_code=Exit.UNREACHABLE)
    folder = Path(tempfile.mkdtemp(prefix="haltpoint-eval-"))
    try:
        histories = _all(folder, [(case, mode) for case in cases for mode in modes], real, done)
    except KeyboardInterrupt:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    # Only now that the workers have ended: a call that came too late is in the record too.
    runs: defaultdict[str, list[effects.Ran]] = defaultdict(list)
    for ran in effects.read(folder / "effects.jsonl"):
        runs[root_of(ran.action)].append(ran)
    shutil.rmtree(folder, ignore_errors=True)
    return [replace(history, ran=tuple(runs[history.chain])) for history in histories]


def _all(
    folder: Path, work: Sequence[tuple[Case, Mode]], real: OwnModel | None, done: Callable[[History], None]
) -> list[History]:
    try:
        return asyncio.run(_run(folder, work, real, done))
    except* GatewayError as group:
        first = next(error for error in group.exceptions if isinstance(error, GatewayError))
        log = folder / "services.log"
        raise CliError("HP-052", "the gateway refused", first.detail, f"The services' log is {log}") from first


def run_turns(setting: int) -> list[turns.Played]:
    """Run the set `turns`, task by task, with so many actions in a turn. Raises HaltpointError, GatewayError."""

    async def whole(folder: Path) -> list[turns.Played]:
        async with ScriptedModel(turns.AllAtOnce()) as model:
            own = OwnModel(model.base_url, turns.AllAtOnce.model)
            async with _system(folder, own, limits={"actions_per_turn": setting}) as client:
                return [await turns.play(client, task) for task in turns.TASKS]

    with tempfile.TemporaryDirectory(prefix="haltpoint-eval-") as folder:
        return asyncio.run(whole(Path(folder)))


async def _run(
    folder: Path, work: Sequence[tuple[Case, Mode]], real: OwnModel | None, done: Callable[[History], None]
) -> list[History]:
    gate = asyncio.Semaphore(1 if real else AT_ONCE)

    async def one(client: Client, case: Case, mode: Mode) -> History:
        async with gate:
            history = await play(client, case, mode, _SECONDS_REAL if real else _SECONDS, named=real is None)
        done(history)
        return history

    async with AsyncExitStack() as stack:
        model = real
        if model is None:
            scripted = await stack.enter_async_context(ScriptedModel(Player(case for case, _ in work)))
            model = OwnModel(scripted.base_url, "suite")
        histories: list[History] = []
        for routed in sorted({case.routed for case, _ in work}):  # where there is a supervisor it routes every task
            settings = {"agents_file": _agents(folder)} if routed else {}
            async with _system(folder, model, **settings) as client, asyncio.TaskGroup() as group:
                own = (each for each in work if each[0].routed is routed)
                tasks = [group.create_task(one(client, case, mode)) for case, mode in own]
            histories += [task.result() for task in tasks]
    return histories


def _agents(folder: Path) -> Path:
    """The agents file of the cases that are routed."""
    file = folder / "agents.toml"
    offered = [name for name in AGENTS if name != "stranger"]
    lines = [
        "[supervisor]",
        f"agents = {json.dumps(offered)}",
        'tools = ["search_pages"]',
        f"max_tool_retries = {ROUNDS}",
    ]
    lines += ["threshold = 0.5", "max_iterations = 3"]
    for name, tools in AGENTS.items():
        lines += ["[[agents]]", f'name = "{name}"', f'description = "Has {", ".join(tools)}."', 'style = "react"']
        lines += [f"tools = {json.dumps(tools)}"]
    file.write_text("\n".join(lines))
    return file


@asynccontextmanager
async def _system(folder: Path, model: OwnModel, **settings: Any) -> AsyncGenerator[Client]:
    """A system with the suite's tools and these settings, and a client of it. Its log is in the folder."""
    with (folder / "services.log").open("ab") as log:
        loaded = load(
            state_dir=str(folder),
            tools="haltpoint.evals.tools",
            gateway={"port": 0},
            model={"base_url": model.url, "name": model.name, "timeout": _SECONDS_REAL},
            **settings,
        )
        system = System(
            # Always a server of its own, whatever is configured: no data of the user are touched.
            loaded.model_copy(update={"redis_url": None}),
            environment={effects.PLACE: str(folder / "effects.jsonl")},
            output=log,
        )
        async with system, Client(system.url, (folder / KEY_FILE).read_text().strip()) as client:
            yield client
