"""`haltpoint stats`: the failure history, by tool and model."""

from typing import TYPE_CHECKING, Annotated

import typer

from haltpoint.cli.gateway import talk
from haltpoint.cli.shell import Shell, verb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from haltpoint.contracts.views.deployment import StatsRow, StatsView

_COLUMNS = ("calls", "failures", "violations", "strikes", "escalations")
_QUESTIONS = ("asked", "answered", "none", "undecided", "direct", "corrections")


app = typer.Typer()


@verb(app, "stats", gateway=True)
def stats(
    shell: Shell,
    days: Annotated[int, typer.Option(min=1, max=30, help="Number of days, including today.")] = 7,
) -> None:
    """Show calls, failures and violations by tool and model.

    Needs a key with the scope admin.
    """
    found = talk(shell, lambda client: client.stats(days))
    if shell.json:
        shell.emit(found)
        return
    _print(shell, found, "tool", found.tools, _COLUMNS)
    _print(shell, found, "model", found.models, _COLUMNS)
    _print(shell, found, "questions about", found.tools, _QUESTIONS)
    if not found.tools and not found.models:
        shell.note(f"No calls since {found.since}.")


def _print(
    shell: Shell,
    found: "StatsView",
    what: str,
    counted: "Sequence[StatsRow]",
    columns: "Sequence[str]",
) -> None:
    """A table below its names; nothing where nothing was counted."""
    rows = [(row.name, *(getattr(row, column) for column in columns)) for row in counted]
    rows = [row for row in rows if any(row[1:])]
    if rows and not shell.out.is_terminal:
        print(what, *columns, sep="\t")
    shell.table(found, (what, *columns), rows, right=columns)
