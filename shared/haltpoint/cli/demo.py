"""`haltpoint demo`: the whole system on this machine, five cases, and a look into the outbox."""

import sys
from typing import Annotated

import typer

from haltpoint.cli.errors import usage
from haltpoint.cli.shell import Shell, verb


def add_to(app: typer.Typer) -> None:
    """Add the verb."""

    @verb(app, "demo")
    def demo(
        shell: Shell,
        yes: Annotated[bool, typer.Option("--yes", "-y", help="Answer by itself, after a moment.")] = False,
        kill_worker: Annotated[
            bool, typer.Option("--kill-worker", help="Kill the worker in the middle of sending a message.")
        ] = False,
        model_url: Annotated[
            str | None, typer.Option("--model-url", metavar="URL", help="A model of yours (OpenAI-compatible).")
        ] = None,
        model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="Its name.")] = None,
    ) -> int:
        """See it work: embedded server, four services, a careless model, and nobody gets a wrong message."""
        if (model_url is None) != (model is None):
            raise usage("--model-url and --model go together", "one was given without the other", "Give both or none")
        if not shell.json:
            print("Haltpoint demo: a server, four services and a model are starting, each a process of its own ...")
            sys.stdout.flush()
        # Only now: these imports take longer than the first line may.
        from haltpoint.cli.demo_cases import Own
        from haltpoint.cli.demo_show import perform

        return perform(
            shell, by_itself=yes, kill_worker=kill_worker, own=Own(model_url, model) if model_url and model else None
        )
