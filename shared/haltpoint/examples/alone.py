"""An example by itself: a server, four services and a model that follows a script, each a process of its own.

With HALTPOINT_MODEL__BASE_URL and HALTPOINT_MODEL__NAME that model is asked instead of a scripted one.
"""

import os
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from rich.console import Console

from haltpoint.cli.gateway import KEY_FILE
from haltpoint.cli.local.supervisor import Child
from haltpoint.cli.local.system import System, free_port
from haltpoint.cli.render.asking import ask
from haltpoint.cli.render.following import follow
from haltpoint.cli.render.picture import teller
from haltpoint.client import Client
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.views import ChainView, RequestView
from haltpoint.runtime.config.settings_sources import load

CONSOLE = Console()


@asynccontextmanager
async def alone(tools: str, script: str, **environment: str) -> AsyncGenerator[Client]:
    """A client of a system that serves this module of tools; both end with the block."""
    with tempfile.TemporaryDirectory(prefix="haltpoint-example-") as state, (Path(state) / "log").open("wb") as log:
        own, port = load().model, free_port()
        scripted = {"base_url": f"http://127.0.0.1:{port}/v1", "name": script}
        model = Child("script-model", ("script-model", script, "--port", str(port)))
        settings = load(state_dir=state, tools=tools, gateway={"port": 0}, model={} if own.base_url else scripted)
        system = System(
            settings.model_copy(update={"redis_url": None}),  # a server of its own, whatever is configured
            environment=environment,
            output=log,
            beside=() if own.base_url else (model,),
        )
        async with system, Client(system.url, (Path(state) / KEY_FILE).read_text().strip()) as client:
            yield client


async def told(client: Client, goal: str) -> ChainView:
    """Run a goal to its end and show it meanwhile. Questions go to the terminal; without one confirmations get a yes,
    and all else ends the chain.
    """
    CONSOLE.print()
    picture = teller(CONSOLE)

    async def answer(request: RequestView) -> bool:
        with picture.pause():
            if sys.stdin.isatty() and not os.environ.get("CI"):
                await ask(client, request)
            else:
                approved = request.kind is RequestKind.CONFIRMATION
                await client.answer(request.id, decision=Choice.APPROVE if approved else Choice.ABORT)
        return True

    try:
        return await follow(client, (await client.run(goal)).id, picture.show, answer)
    finally:
        picture.close()
