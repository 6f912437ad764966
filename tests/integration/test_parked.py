"""Questions three levels below their roots outlive everything that stops; a hundred seeds of it are in tests/chaos."""

from pathlib import Path

import pytest

from tests.chaos.parked import run_parked


@pytest.mark.parametrize("seed", [0, 1])
async def test_i4_each_answer_reaches_the_chain_that_asked(seed: int, tmp_path: Path) -> None:
    await run_parked(seed, tmp_path)
