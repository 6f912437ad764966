"""`haltpoint script-model`: a model for the demo and for tests."""

from pathlib import Path
from typing import Annotated

import typer

from haltpoint.cli.shell import Shell, verb

app = typer.Typer()


@verb(app, "script-model")
def script_model(
    _: Shell,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A script (JSON), or the name of a shipped script, such as contacts_good.",
        ),
    ],
    host: Annotated[str, typer.Option()] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.")] = 18080,
) -> None:
    """Serve a scripted model (OpenAI-compatible), for the demo and your tests."""
    play_script(str(file), port, host)


def play_script(file: str, port: int, host: str = "127.0.0.1") -> None:
    """Let this process be a model that follows a script, until it is told to stop."""
    from haltpoint.testing.script import Script
    from haltpoint.testing.script_model import run

    run(Script.read(Path(file)), host, port)
