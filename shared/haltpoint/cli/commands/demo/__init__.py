"""`haltpoint demo`: the whole system on this machine, five cases, and a look into the outbox."""

import sys
from typing import Annotated

import typer

from haltpoint.cli.shell import Shell, verb

app = typer.Typer()


@verb(app, "demo")
def demo(
    shell: Shell,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Answer the questions automatically.")
    ] = False,
    page: Annotated[
        bool, typer.Option("--page", help="Leave the cases on the page until Ctrl-C.")
    ] = False,
) -> None:
    """See it work: a careless model, four services, and no wrong message."""
    if not shell.json:
        print(
            "Haltpoint demo: a server, four services and a model are starting, a process each ..."
        )
        sys.stdout.flush()
    # Only now: this import takes longer than the first line may.
    from haltpoint.cli.commands.demo.show import perform

    perform(shell, by_itself=yes, page=page)
