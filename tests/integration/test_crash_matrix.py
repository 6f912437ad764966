"""A cell of the crash matrix for each service and the server; all of it is in tests/chaos."""

from pathlib import Path

import pytest

from haltpoint.contracts.catalogue import Party
from tests.chaos.matrix import CELLS, Cell, run_cell

CHOSEN = (
    Cell(Party.WORKER, ("after claim", "before complete"), "other"),
    Cell(Party.WORKER, ("effect", "after claim"), "idempotent"),
    Cell(Party.EXECUTOR, ("before commit",), "other", 2),
    Cell(Party.PLANNER, ("before record_thought",), "other"),
    Cell(Party.GATEWAY, ("after answer",), "destructive"),
    Cell(Party.WORKER, ("preview",), "destructive", 2),
    Cell(Party.WORKER, ("after reserve_effect",), "once"),
    Cell(Party.WORKER, ("effect",), "once"),
    Cell(Party.WORKER, ("after claim", "after claim"), "destructive"),
    Cell(None, ("while a tool runs",), "read_only"),
)


@pytest.mark.parametrize("cell", CHOSEN, ids=str)
async def test_whoever_dies_the_history_is_right(cell: Cell, tmp_path: Path) -> None:
    assert cell in CELLS
    await run_cell(cell, tmp_path)
