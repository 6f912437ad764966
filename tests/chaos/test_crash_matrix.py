"""The whole crash matrix, over real processes, judged by the history check."""

from pathlib import Path

import pytest

from tests.chaos.matrix import CELLS, Cell, run_cell


@pytest.mark.parametrize("cell", CELLS, ids=str)
async def test_whoever_dies_wherever_the_history_is_right(cell: Cell, tmp_path: Path) -> None:
    await run_cell(cell, tmp_path)
