"""A cell of the crash matrix for each service, and the death of the master, on each topology."""

from pathlib import Path

import pytest

from haltpoint.contracts.catalogue import Party
from tests.chaos.matrix import CELLS, Cell, run_cell
from tests.topologies.servers import ENGINES, TOPOLOGIES, Servers

CHOSEN = (
    Cell(Party.WORKER, ("after claim", "before complete"), "other"),
    Cell(Party.WORKER, ("effect", "after claim"), "idempotent"),
    Cell(Party.EXECUTOR, ("before commit",), "other", 2),
    Cell(Party.PLANNER, ("before record_thought",), "other"),
    Cell(Party.GATEWAY, ("after answer",), "destructive"),
    Cell(Party.WORKER, ("after reserve_effect",), "once"),
    *(Cell(None, ("while a tool runs",), effects) for effects in ("read_only", "other")),
    *(Cell(None, ("after submit",), effects) for effects in ("idempotent", "destructive")),
)


@pytest.mark.parametrize("cell", CHOSEN, ids=str)
@pytest.mark.parametrize("topology", TOPOLOGIES.values(), ids=list(TOPOLOGIES))
async def test_whoever_dies_the_history_is_right(
    topology: type[Servers], cell: Cell, tmp_path: Path
) -> None:
    assert cell in CELLS
    with topology(tmp_path / "servers", ENGINES["valkey"]) as servers:
        await run_cell(cell, tmp_path, servers)
