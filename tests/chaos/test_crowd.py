"""At once 20,000 chains, 5,000 questions, 2,000 watchers and 200 restarts: CROWD is how much of
that.
"""

import os
from pathlib import Path

import pytest

from tests.chaos.crowd import Crowd, most
from tests.chaos.system import System

SIZE = float(os.environ.get("CROWD", "0.02"))


@pytest.mark.timeout(3000)
async def test_nobody_else_waits_and_nothing_is_lost_in_a_crowd(tmp_path: Path) -> None:
    async with System(tmp_path, partitions=2, chain_timeout=3600, observed=False) as system:
        crowd = Crowd(system, SIZE)
        await crowd.start()
        await crowd.all_at_once()
        print(crowd)
        await crowd.judge()
        assert most(crowd.waits) < 0.25 * crowd.slowness, str(crowd)
        grown = [name for name, told in crowd.memory.items() if told[-1] > 1.5 * told[0]]
        assert not grown, str(crowd)
