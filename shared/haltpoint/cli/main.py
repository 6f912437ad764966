"""The command `haltpoint`: all verbs in one place. What a verb needs is imported when it runs."""

import gc
import io
import sys
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from haltpoint.cli import shell
from haltpoint.cli.commands import (
    agent,
    audit,
    chains,
    demo,
    deployment,
    inbox,
    key,
    model,
    models,
    notify,
    operating,
    policy,
    recover,
    run,
    schema,
    stats,
    tool,
    up,
)
from haltpoint.cli.errors import usage

_UsageError: Any = typer.BadParameter.__base__


class Root(TyperGroup):
    """What was typed wrongly is told as every other error is."""

    def main(self, *arguments: Any, **settings: Any) -> Any:
        """Run the command that was typed, and exit."""
        typed = partial(super().main, *arguments, **{**settings, "standalone_mode": False})
        sys.exit(shell.run(shell.Shell(), partial(_understood, typed)))


def _understood(typed: Callable[[], int]) -> int:
    """The exit code of what was typed. Raises HaltpointError where it was typed wrongly."""
    try:
        return typed()
    except _UsageError as error:
        path = error.ctx.command_path if error.ctx else "haltpoint"
        why = _why(error)
        if type(error).__name__ != "NoArgsIsHelpError":
            wrong = usage(f"{path} was not understood", why, f"{path} --help shows how")
            raise wrong from error
        print(why)
        return int(error.exit_code)


def _why(error: Any) -> str:
    """What is wrong with what was typed; of a value in the words of all our files."""
    cause: Any = error.__cause__
    if not hasattr(cause, "errors"):
        message = str(error.format_message())
        return message.rstrip(".")
    from haltpoint.runtime.config.faults import in_words

    (fault,) = cause.errors()
    words = in_words(fault).rstrip(".")
    return f"{error.param.opts[0]}: {words}"


app = typer.Typer(
    name="haltpoint",
    cls=Root,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(version("haltpoint"))
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Run agents' tool calls as typed events, and verify what the model claims."""


for module, name in (
    (demo, None),
    (up, None),
    (run, None),
    (chains, "chain"),
    (inbox, None),
    (key, "key"),
    (audit, "audit"),
    (tool, "tool"),
    (agent, "agent"),
    (policy, "policy"),
    (notify, "notify"),
    (stats, None),
    (deployment, None),
    (schema, None),
    (model, "model"),
    (models, None),
):
    app.add_typer(module.app, name=name)
app.add_typer(operating.worker, name="worker")
app.add_typer(operating.queue, name="queue")
app.add_typer(operating.dlq, name="dlq")
app.add_typer(recover.app, name="recover")


def app_entry() -> None:
    """The console script."""
    gc.set_threshold(
        50_000
    )  # most commands do little but import, which leaves no garbage to search for
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(
                errors="replace"
            )  # a terminal without UTF-8 gets question marks, not an exception
    app()
