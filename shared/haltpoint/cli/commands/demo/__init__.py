"""`haltpoint demo`: the whole system on this machine, five cases, and a look into the outbox."""

import sys
from typing import Annotated

import typer

from haltpoint.cli.commands.models import ModelName, ModelUrl, own_model
from haltpoint.cli.shell import Shell, verb

app = typer.Typer()


@verb(app, "demo")
def demo(
    shell: Shell,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Answer the questions automatically.")
    ] = False,
    model_url: ModelUrl = None,
    model: ModelName = None,
) -> int:
    """See it work: an embedded server, four services, a careless model, and no wrong
    message.
    """
    own = own_model(model_url, model)
    if not shell.json:
        print(
            "Haltpoint demo: a server, four services and a model are starting, each "
            "a process of its own ..."
        )
        sys.stdout.flush()
    # Only now: this import takes longer than the first line may.
    from haltpoint.cli.commands.demo.show import perform

    return perform(shell, by_itself=yes, own=own)
