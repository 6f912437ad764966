"""`haltpoint script-model`: an OpenAI-compatible server that follows a script."""

from pathlib import Path
from typing import Annotated

import typer

from haltpoint.cli.shell import Shell, verb


def add_to(app: typer.Typer) -> None:
    """Add the verb."""

    @verb(app, "script-model")
    def script_model(
        shell: Shell,
        file: Annotated[Path, typer.Argument(metavar="FILE", help="The script (JSON).")],
        host: Annotated[str, typer.Option()] = "127.0.0.1",
        port: Annotated[int, typer.Option(help="0: a free one.")] = 18080,
        owner_fd: Annotated[int | None, typer.Option(hidden=True)] = None,
    ) -> None:
        """Serve a model that says what a script says."""
