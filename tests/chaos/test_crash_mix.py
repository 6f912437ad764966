"""The crash matrix with chains of all kinds under way: each class of effects with twenty seeds."""

from pathlib import Path

import pytest

from tests.chaos.mix import CLASSES, SEEDS, run_mix


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("effects", CLASSES)
async def test_the_matrix_with_chains_of_all_kinds_under_way(
    effects: str, seed: int, tmp_path: Path
) -> None:
    print(await run_mix(effects, seed, tmp_path))
