"""An example by itself: a server, four services and a model that follows a script, each a process
of its own.

With HALTPOINT_MODEL__BASE_URL and HALTPOINT_MODEL__NAME that model is asked instead of a scripted
one.
"""

import os
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from haltpoint.cli.commands.models import play_script
from haltpoint.cli.gateway import KEY_FILE
from haltpoint.cli.local.keeper import Child
from haltpoint.cli.local.system import free_port, local_system
from haltpoint.cli.render.asking import ask
from haltpoint.cli.render.following import follow
from haltpoint.cli.render.picture import Teller
from haltpoint.client import Client
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.views.chains import ChainView, RequestView
from haltpoint.runtime.config.settings_sources import load

CONSOLE = Console()


@asynccontextmanager
async def alone(example: str, **environment: str) -> AsyncGenerator[Client]:
    """A client of a system that serves the tools of this example, with its agents if it has any;
    both end with the block. The scripted model makes mistakes when the command line says
    `careless`.
    """
    folder = Path(__file__).with_name(example)
    script = folder / ("careless.json" if "careless" in sys.argv else "good.json")
    agents = folder / "agents.toml"
    with tempfile.TemporaryDirectory(prefix="haltpoint-example-") as state:
        own, port = load().model, free_port()
        scripted = {"base_url": f"http://127.0.0.1:{port}/v1", "name": example}
        model = Child("script-model", play_script, (script, port))
        settings = load(
            state_dir=state,
            tools=f"examples.{example}.tools",
            gateway={"port": 0},
            model={} if own.base_url else scripted,
        )
        only = {
            "redis_url": None,
            "agents_file": agents if agents.exists() else None,
        }  # whatever is configured
        system = local_system(
            settings.model_copy(update=only),
            environment=environment,
            output=Path(state) / "log",
            beside=() if own.base_url else (model,),
        )
        async with (
            system as here,
            Client(here.url, (Path(state) / KEY_FILE).read_text().strip()) as client,
        ):
            yield client


async def told(
    client: Client, goal: str, answers: Mapping[RequestKind, str] | None = None, **fields: Any
) -> ChainView:
    """Run a goal, with more `fields` of the task, to its end and show it meanwhile. Questions go to
    the terminal. Without one a confirmation gets a yes, a question of another kind the words or the
    option that `answers` has for it, and all else ends the chain.
    """
    CONSOLE.print()
    picture = Teller(CONSOLE)

    async def answer(request: RequestView) -> bool:
        picture.close()
        if sys.stdin.isatty() and not os.environ.get("CI"):
            await ask(client, request)
        else:
            await client.answer(request.id, **_said(request.kind, answers or {}))
        return True

    try:
        return await follow(client, (await client.run(goal, **fields)).id, picture.show, answer)
    finally:
        picture.close()


def _said(kind: RequestKind, answers: Mapping[RequestKind, str]) -> dict[str, Any]:
    if kind is RequestKind.CONFIRMATION:
        return {"decision": Choice.APPROVE}
    if kind not in answers:
        return {"decision": Choice.ABORT}
    return {"option_id" if kind is RequestKind.CLARIFICATION else "text": answers[kind]}
