"""`haltpoint policy`: the policy that is shipped, and whether a file of one's own is right."""

from pathlib import Path
from typing import Annotated

import typer

from haltpoint.cli.shell import Shell, verb

_FILE = Annotated[Path, typer.Argument(metavar="FILE", help="The policy file (TOML).")]


app = typer.Typer(help="Show the shipped policy; check the policy file.", no_args_is_help=True)


@verb(app, "show")
def show(shell: Shell) -> None:
    """Print the shipped policy as a file."""
    from haltpoint.runtime.config.policy_file import SHIPPED

    text = SHIPPED.read_text(encoding="utf-8")
    shell.show({"policy": text}, text.splitlines())


@verb(app, "check")
def check(shell: Shell, file: _FILE) -> None:
    """Check the policy file and list all its faults."""
    from haltpoint.runtime.config.policy_file import read
    from haltpoint_gateway.notices.channels import channel_of

    found = read(file)
    for rule in found.notify:
        if rule.url is not None:
            channel_of(rule)
    patterns = [pattern.id for pattern in found.patterns if pattern.on]
    note = f"{file} is valid; patterns that are on: {', '.join(patterns) or 'none'}"
    shell.show({"patterns": patterns}, note=note)
