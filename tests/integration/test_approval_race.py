"""A race for a yes with each rival; two hundred of them are in tests/chaos."""

from pathlib import Path

from tests.chaos.approval_race import RIVALS, race


async def test_r5_whoever_wins_nothing_happens_without_a_yes_to_it(tmp_path: Path) -> None:
    await race(tmp_path, range(len(RIVALS)))
