"""One seed of the crash matrix with chains of all kinds, whose effects may happen once; all classes
and seeds are in tests/chaos.
"""

from pathlib import Path

from tests.chaos.mix import run_mix


async def test_whoever_dies_wherever_chains_of_all_kinds_are_right(tmp_path: Path) -> None:
    await run_mix("other", 0, tmp_path)
