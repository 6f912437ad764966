"""`haltpoint script-model`: an OpenAI-compatible server that follows a script."""

from pathlib import Path
from typing import Annotated

import typer

from haltpoint.cli.shell import Shell, verb


def add_to(app: typer.Typer) -> None:
    """Add the verb."""

    @verb(app, "script-model")
    def script_model(
        _: Shell,
        file: Annotated[
            Path, typer.Argument(metavar="FILE", help="A script (JSON), or contacts_good, contacts_careless.")
        ],
        host: Annotated[str, typer.Option()] = "127.0.0.1",
        port: Annotated[int, typer.Option(help="0: a free one.")] = 18080,
        owner_fd: Annotated[int | None, typer.Option(hidden=True)] = None,
    ) -> None:
        """Serve a model that says what a script says: the demo's model, and anyone's test model."""
        if owner_fd is not None:
            from haltpoint.cli.supervisor import die_with_owner

            die_with_owner(owner_fd)
        from haltpoint.testing.script_model import serve_file

        serve_file(file, host, port)
