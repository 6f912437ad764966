"""Two hundred chains race for twenty effects over four partitions, with workers killed (CONTRACT
E6).
"""

from pathlib import Path

import pytest

from tests.chaos.effects import race_for_effects

POINTS = (
    "before reserve_effect",
    "after reserve_effect",
    "after claim",
    "effect",
    "before complete",
    "after complete",
)


@pytest.mark.parametrize("first", range(len(POINTS)))
async def test_e6_an_effect_happens_once_and_every_loser_is_told_why(
    first: int, tmp_path: Path
) -> None:
    points = (*POINTS[first:], *POINTS[:first])[:3]
    print(await race_for_effects(tmp_path, chains=200, keys=20, points=points))
