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
    from rich.text import Text

    counted = [(row.name, [getattr(row, column) for column in columns]) for row in rows]
    counted = [(name, numbers) for name, numbers in counted if any(numbers)]
    if not counted:
        return
    lines: list[list[str | Text]] = []
    if not shell.out.is_terminal:
        lines.append([what, *columns])
    for name, numbers in counted:
        faults = zip(columns, numbers, strict=True)
        styles = ["yellow" if one and column in _FAULTS else "" for column, one in faults]
        cells = [Text(str(one), style) for one, style in zip(numbers, styles, strict=True)]
        lines.append([name, *cells])
    shell.table([what, *columns], lines, right=columns)
