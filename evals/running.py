"""The suite at work: a system of its own, many chains at a time, and their histories."""

import asyncio
import dataclasses
from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from evals import history
from evals.case import Case
from evals.history import History
from evals.kinds import Player, is_routed
from evals.playing import play
from haltpoint.cli.gateway import KEY_FILE
from haltpoint.cli.local.system import local_system
from haltpoint.client import Client
from haltpoint.contracts.base import root_of
from haltpoint.contracts.work.tasks import Mode
from haltpoint.runtime.config.settings_sources import load
from haltpoint.testing.script_model import ScriptedModel

AT_ONCE: Final = 24
"""Chains under way at a time; with a real model one, so that its time is that of one chain."""

AGENTS: Final = Path(__file__).with_name("agents.toml")
POLICY: Final = Path(__file__).with_name("policy.toml")

Work = Sequence[tuple[Case, Mode]]
Settings = dict[str, Any]


def run(work: Work, *, real: bool) -> list[History]:
    """Run every case under its mode, with the model of the settings if it is a real one."""
    with TemporaryDirectory(prefix="haltpoint-eval-") as folder:
        place = Path(folder)
        histories = asyncio.run(_run(place, work, real))
        # Only now that the workers have ended: a call that came too late is in the record too.
        ran = history.read(place / "effects.jsonl")
    runs = defaultdict[str, list[history.Ran]](list)
    for run in ran:
        runs[root_of(run.action)].append(run)
    return [dataclasses.replace(chain, ran=runs[chain.view.id]) for chain in histories]


async def _run(folder: Path, work: Work, real: bool) -> list[History]:
    histories: list[History] = []
    async with ScriptedModel(Player(case for case, _ in work)) as scripted:
        model = {} if real else {"model": {"base_url": scripted.base_url, "name": "suite"}}
        for agents in (None, AGENTS):  # where there is a supervisor it routes every task
            part = [each for each in work if is_routed(each[0]) == bool(agents)]
            if part:
                async with _system(folder, agents, model) as client:
                    histories += await _play_all(client, part, 1 if real else AT_ONCE)
    return histories


async def _play_all(client: Client, work: Work, at_once: int) -> list[History]:
    gate = asyncio.Semaphore(at_once)

    async def one(case: Case, mode: Mode) -> History:
        async with gate:
            return await play(client, case, mode)

    return await asyncio.gather(*(one(case, mode) for case, mode in work))


@asynccontextmanager
async def _system(folder: Path, agents: Path | None, model: Settings) -> AsyncGenerator[Client]:
    """A system with the suite's tools, and a client of it."""
    settings = load(state_dir=str(folder), tools="evals.tools", gateway={"port": 0}, **model)
    only = {
        "redis_url": None,
        "agents_file": agents,
        "policy_file": POLICY,
    }  # whatever is configured: no data of the user are touched
    environment = {history.PLACE: str(folder / "effects.jsonl")}
    log = folder / "services.log"
    whole = settings.model_copy(update=only)
    async with local_system(whole, environment=environment, output=log) as system:
        key = (folder / KEY_FILE).read_text().strip()
        async with Client(system.url, key) as client:
            yield client
