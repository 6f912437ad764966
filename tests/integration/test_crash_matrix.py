"""A cell of the crash matrix for each service and the server; all of it is in tests/chaos."""

from pathlib import Path

import pytest

from tests.chaos.matrix import FEW, Cell, run_cell


@pytest.mark.parametrize("cell", FEW, ids=str)
async def test_whoever_dies_the_history_is_right(cell: Cell, tmp_path: Path) -> None:
    await run_cell(cell, tmp_path)
