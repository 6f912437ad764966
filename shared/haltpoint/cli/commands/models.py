"""`haltpoint script-model`, and the options that name a model of the user's own."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from haltpoint.cli.errors import usage
from haltpoint.cli.shell import Shell, verb

ModelUrl = Annotated[
    str | None,
    typer.Option("--model-url", metavar="URL", help="Your own model (OpenAI-compatible)."),
]
ModelName = Annotated[str | None, typer.Option("--model", metavar="NAME", help="Model name.")]


@dataclass(frozen=True, slots=True)
class OwnModel:
    """A model of the user's."""

    url: str
    name: str


def own_model(url: str | None, name: str | None) -> OwnModel | None:
    """What --model-url and --model name; both or none. Raises HaltpointError."""
    if (url is None) != (name is None):
        raise usage(
            "--model-url and --model go together",
            "one was given without the other",
            "Give both or none",
        )
    return OwnModel(url, name) if url and name else None


app = typer.Typer()


@verb(app, "script-model")
def script_model(
    _: Shell,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A script (JSON), or the name of one, as contacts_good."
        ),
    ],
    host: Annotated[str, typer.Option()] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.")] = 18080,
) -> None:
    """Serve a model that follows a script (OpenAI-compatible), for the demo and for your
    tests.
    """
    play_script(file, port, host)


def play_script(file: Path, port: int, host: str = "127.0.0.1") -> None:
    """Let this process be a model that follows a script, until it is told to stop."""
    from haltpoint.testing.script import Script
    from haltpoint.testing.script_model import run

    run(Script.read(file), host, port)
