"""`haltpoint agent`: who works on tasks, and the file that says so."""

from pathlib import Path
from typing import Annotated

import typer

from haltpoint.cli.shell import Shell, verb

_FILE = Annotated[Path, typer.Argument(metavar="FILE", help="The agents file (TOML).")]


def add_to(parent: typer.Typer) -> None:
    """Add the verbs."""
    app = typer.Typer(help="Check and apply the agents file.", no_args_is_help=True)
    parent.add_typer(app, name="agent")

    @verb(app, "check")
    def check(shell: Shell, file: _FILE) -> None:
        """Check the agents file, and show everything that is wrong with it."""
        from haltpoint.runtime.config.agents_file import read

        found = read(file)
        if shell.json:
            shell.emit({"version": found.digest, "agents": [one.name for one in found.agents]})
        else:
            shell.note(f"{file} is valid (version {found.digest}); agents: {found.names}")

    @verb(app, "apply")
    def apply(shell: Shell, file: _FILE) -> None:
        """Make the agents file count for every chain that begins from now on; a file without agents takes all away."""
        import asyncio

        from haltpoint.cli.local.system import apply_agents
        from haltpoint.runtime.config.agents_file import read

        found = read(file)
        applied = asyncio.run(apply_agents(shell.settings, found))
        if shell.json:
            shell.emit({"version": found.digest, "applied": applied})
        else:
            words = "counts for chains that begin from now on" if applied else "was applied before"
            shell.note(f"version {found.digest} {words}; agents: {found.names}")
