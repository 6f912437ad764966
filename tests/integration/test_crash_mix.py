"""One seed of each class of effects of the crash matrix with chains of all kinds; all of it is in
tests/chaos.
"""

from pathlib import Path

import pytest

from tests.chaos.mix import CLASSES, run_mix


@pytest.mark.parametrize("effects", CLASSES)
async def test_whoever_dies_wherever_chains_of_all_kinds_are_right(
    effects: str, tmp_path: Path
) -> None:
    await run_mix(effects, 0, tmp_path)
