"""Trouble at the model, by a seed: its server comes and goes, refuses, is busy, cuts its replies,
falls silent and answers late, and the planner is killed. Chains with effects go through it.
"""

import asyncio
import json
import random
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Final

from faststream.asgi import AsgiResponse
from h11 import LocalProtocolError

from haltpoint.cli.local.system import free_port
from haltpoint.contracts.catalogue import Party
from haltpoint.contracts.work.tasks import Style, Task
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.streams.tasks import end
from haltpoint.testing.script import Script
from haltpoint.testing.script_model import ScriptedModel
from tests.chaos.nursery import Child
from tests.chaos.system import System

SILENCE: Final = 0.6
"""Seconds without a byte after which the planner leaves its model."""

_SCRIPT: Final = Script.model_validate(
    {
        "rules": [
            {
                "when": {"without": ["look"]},
                "say": {"calls": [{"name": "look", "arguments": {"text": "look"}}]},
            },
            {
                "when": {"without": ["send"]},
                "say": {"calls": [{"name": "send", "arguments": {"text": "send"}}]},
            },
            {"say": {"content": "It is done."}},
        ]
    }
)
_TROUBLES: Final = {"none": 12, "busy": 2, "failing": 2, "cut": 2, "silent": 1, "late": 1}
"""What may become of a question, and how often."""

_ERROR: Final = b'{"error": {"message": "in trouble"}}'
_REFUSED: Final = b'{"error": {"message": "temperature is not supported"}}'


class TroubledModel(ScriptedModel):
    """A server that does what a script says, in all its moods. It takes no `temperature`."""

    def __init__(self, chance: random.Random, port: int, troubles: Counter[str]) -> None:
        super().__init__(_SCRIPT, port=port)
        self._chance = chance
        self._troubles = troubles

    async def _complete(self, headers: dict[str, str], text: bytes) -> AsgiResponse:
        if "temperature" in json.loads(text):
            return AsgiResponse(_REFUSED, 400)
        (trouble,) = self._chance.choices(list(_TROUBLES), list(_TROUBLES.values()))
        self._troubles[trouble] += 1
        match trouble:
            case "busy":
                return AsgiResponse(_ERROR, 429, {"retry-after": "1"})
            case "failing":
                return AsgiResponse(_ERROR, self._chance.choice((500, 502, 503, 529)))
            case "silent":
                await self._wait(4 * SILENCE)
                return AsgiResponse(b"", 503)
            case "late":
                await self._wait(2 * SILENCE)
        response = await super()._complete(headers, text)
        if trouble == "cut":
            body = response.body[: len(response.body) // 2]
            return AsgiResponse(body, 200, {"content-length": str(len(response.body))})
        return response


class Trouble:
    """A model's server and a planner, one after the other, while chains are under way."""

    def __init__(self, system: System, port: int, chance: random.Random) -> None:
        self.seen: Counter[str] = Counter()
        self._system = system
        self._port = port
        self._chance = chance

    async def model(self, longest: float) -> None:
        """The server is there for a moment, and then away for up to `longest` seconds."""
        while True:
            # uvicorn stops badly behind a reply that it has cut; another process may have the port.
            with suppress(LocalProtocolError, HaltpointError):
                async with TroubledModel(self._chance, self._port, self.seen):
                    await asyncio.sleep(self._chance.uniform(0.5, 10.0))
            self.seen["away"] += 1
            await asyncio.sleep(0.1 * (longest / 0.1) ** self._chance.random())

    async def planner(self, kills: int, pause: float) -> None:
        """A planner that is killed so often, and then lives."""
        child: Child = await self._system.launch(Party.PLANNER)
        for _ in range(kills):
            await asyncio.sleep(self._chance.uniform(0.5, 1.5) * pause)
            child.signal(9)
            await child.dies()
            self.seen["killed"] += 1
            child = await self._system.launch(Party.PLANNER)


async def run_trouble(
    folder: Path, seed: int, *, chains: int, kills: int, longest: float, within: float
) -> str:
    """All of it until every chain is over, and the judgement; what was seen, in words."""
    chance = random.Random(seed)
    port = free_port()
    url = f"http://127.0.0.1:{port}/v1"
    system = System(folder, partitions=2, model_url=url, chain_timeout=2 * within)
    impatient = {"silence": SILENCE, "connect_timeout": 1.0}
    model = system.settings.model.model_copy(update=impatient)
    system.settings = system.settings.model_copy(update={"model": model})
    async with system:
        trouble = Trouble(system, port, chance)
        await system.host(Party.EXECUTOR)
        await system.host(Party.WORKER)
        under_way = [
            asyncio.create_task(trouble.model(longest)),
            asyncio.create_task(trouble.planner(kills, within / 10 / max(kills, 1))),
        ]
        for _ in range(chains):
            await system.submit(Task(goal="Look, and send it.", style=Style.REACT))
        try:
            await system.settle(within=within)
        finally:
            await end(*under_way)
        await _judge(system)
        return f"seed {seed}: {dict(trouble.seen)}"


async def _judge(system: System) -> None:
    await system.all_succeeded()
    assert not system.errors(), "\n".join(system.errors())
