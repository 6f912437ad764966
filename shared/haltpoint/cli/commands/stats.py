"""`haltpoint stats`: the failure history, by tool and model."""

from typing import TYPE_CHECKING, Annotated

import typer

from haltpoint.cli.gateway import talk
from haltpoint.cli.shell import Shell, verb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from haltpoint.contracts.views.deployment import StatsRow

_COLUMNS = ("calls", "failures", "violations", "strikes", "escalations")
_QUESTIONS = ("asked", "answered", "none", "direct", "corrections")
_FAULTS = frozenset({"failures", "violations", "strikes", "escalations", "none", "corrections"})


app = typer.Typer()


@verb(app, "stats", gateway=True)
def stats(
    shell: Shell,
    days: Annotated[int, typer.Option(min=1, max=30, help="Number of days, including today.")] = 7,
) -> None:
    """Show calls, failures and violations by tool and model. Needs a key with the scope
    admin.
    """
    found = talk(shell, lambda client: client.stats(days))
    if shell.json:
        shell.emit(found.model_dump(mode="json"))
        return
    _print(shell, "tool", found.tools)
    _print(shell, "model", found.models)
    questions = [
        one.model_copy(update={"name": "no tool"}) if one.name == "?" else one
        for one in found.tools
    ]
    _print(shell, "questions about", questions, _QUESTIONS)
    if not found.tools and not found.models:
        shell.note(f"No calls since {found.since}.")


def _print(
    shell: Shell, what: str, rows: "Sequence[StatsRow]", columns: "Sequence[str]" = _COLUMNS
) -> None:
    """A table at a terminal, tabs below their names elsewhere; nothing when nothing was counted."""
    from haltpoint.cli.wording import visible

    lines = [(visible(row.name), [getattr(row, column) for column in columns]) for row in rows]
    lines = [(name, numbers) for name, numbers in lines if any(numbers)]
    if not lines:
        return
    if not shell.out.is_terminal:
        kind = what.partition(" ")[0]
        shell.row(kind, "name", *columns)
        for name, numbers in lines:
            shell.row(kind, name, *map(str, numbers))
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(what, min_width=24, overflow="fold")
    for column in columns:
        table.add_column(column, justify="right")
    for name, numbers in lines:
        counted = zip(columns, numbers, strict=True)
        cells = (
            Text(str(one), style="yellow" if one and column in _FAULTS else "")
            for column, one in counted
        )
        table.add_row(Text(name), *cells)
    shell.out.print(table)
    shell.out.print()
