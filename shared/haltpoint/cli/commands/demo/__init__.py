"""`haltpoint demo`: the whole system on this machine, five cases, and a look into the outbox."""

import sys
from typing import Annotated

import typer

from haltpoint.cli.errors import usage
from haltpoint.cli.shell import Shell, verb

app = typer.Typer()


@verb(app, "demo")
def demo(
    shell: Shell,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Answer the questions automatically.")
    ] = False,
    own_model: Annotated[
        bool, typer.Option("--own-model", help="Ask the configured model, not a careless one.")
    ] = False,
    page: Annotated[
        bool, typer.Option("--page", help="Leave the cases on the page until Ctrl-C.")
    ] = False,
) -> None:
    """See it work: a careless model, four services, and no wrong message."""
    if own_model and not shell.settings.model.base_url:
        fix = "Set HALTPOINT_MODEL__BASE_URL and HALTPOINT_MODEL__NAME"
        raise usage("--own-model asks the configured model", "none is configured", fix)
    if not shell.json:
        print(
            "Haltpoint demo: a server, four services and a model are starting, a process each ..."
        )
        sys.stdout.flush()
    # Only now: this import takes longer than the first line may.
    from haltpoint.cli.commands.demo.show import perform

    perform(shell, by_itself=yes, own=own_model, page=page)
