"""Chains race for the same effects while two workers are killed; the long race is in
tests/chaos.
"""

from pathlib import Path

from tests.chaos.effects import race_for_effects


async def test_e6_an_effect_happens_once_and_every_loser_is_told_why(tmp_path: Path) -> None:
    await race_for_effects(tmp_path, chains=40, keys=8, points=("after reserve_effect", "effect"))
