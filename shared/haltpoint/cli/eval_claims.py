"""`haltpoint eval --claims`: precision and recall of a check of an answer's words, on the texts of the source."""

import asyncio
from typing import TYPE_CHECKING, Final

from rich.table import Table

from haltpoint.cli.errors import Exit, usage
from haltpoint.cli.eval_show import numbers
from haltpoint.evals.claims import PLACE, Count, figures, measure, read
from haltpoint.runtime.settings_sources import load

if TYPE_CHECKING:
    from haltpoint.cli.model import OwnModel
    from haltpoint.cli.shell import Shell

_COLUMNS: Final = ("honest", "flagged", "made up", "found", "precision", "recall")


def perform(shell: "Shell", check: str, real: "OwnModel | None", most: int | None) -> int:
    """Measure and show. Raises HaltpointError."""
    if check not in ("hint", "model") and ":" not in check:
        raise usage(f"there is no check {check!r}", "a check is a word or a function", "hint, model or module:function")
    if (check == "model") != (real is not None):
        why = "a model is asked at an address" if check == "model" else f"{check} asks no model"
        raise usage("--check model and --model-url go together", why, "Give both or none")
    texts = read()
    if not texts:
        why = f"there is nothing at {PLACE}: the texts are part of the source, not of the installed package"
        raise usage("the texts are not here", why, "Run it in a checkout of the source")
    texts = texts[:: max(1, len(texts) // most)][:most] if most else texts
    shell.note(f"{len(texts)} texts, checked by {check} ...")
    model = {"base_url": real.url, "name": real.name} if real else {}
    found = figures(texts, asyncio.run(measure(texts, check, load(model=model).model)))
    if shell.json:
        told = {table: {name: one.as_json() for name, one in rows.items()} for table, rows in found.items()}
        held_out = sorted({text.set for text in texts if text.held_out})
        shell.emit({"check": check, "held_out": held_out, **told})
    else:
        for name, rows in found.items():
            shell.out.print(_table(f"By {name.removesuffix('s')}", rows))
    return Exit.OK


def _table(title: str, rows: dict[str, Count]) -> Table:
    table = numbers(title, "", _COLUMNS)
    for name, one in rows.items():
        told = one.as_json().values()
        table.add_row(name, *("-" if it is None else f"{it:.1%}" if isinstance(it, float) else str(it) for it in told))
    return table
