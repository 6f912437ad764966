"""A cell of the crash matrix for each service, and the death of the master, on each topology."""

from pathlib import Path

import pytest

from tests.chaos.matrix import FEW, Cell, run_cell
from tests.topologies.servers import TOPOLOGIES, VALKEY, Servers

DEATHS = [Cell(None, ("after submit",), effects) for effects in ("idempotent", "destructive")]


@pytest.mark.parametrize("cell", [*FEW, *DEATHS], ids=str)
@pytest.mark.parametrize("topology", TOPOLOGIES.values(), ids=list(TOPOLOGIES))
async def test_whoever_dies_the_history_is_right(
    topology: type[Servers], cell: Cell, tmp_path: Path
) -> None:
    with topology(tmp_path / "servers", VALKEY) as servers:
        await run_cell(cell, tmp_path, servers)
