"""A few chains with effects, while their model comes and goes and the planner is killed; many are
in tests/chaos.
"""

from pathlib import Path

from tests.chaos.model import run_trouble


async def test_chains_wait_for_a_model_in_trouble_and_do_each_effect_once(tmp_path: Path) -> None:
    print(await run_trouble(tmp_path, 1, chains=6, kills=2, longest=2.0, within=240.0))
