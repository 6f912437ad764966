"""Many chains with effects, while their model comes and goes, refuses, cuts, falls silent and
answers late, and the planner is killed ten times. `make chaos-long`: 500 of them, and a model that
is away for up to five minutes.

MODEL_CHAINS, MODEL_SECONDS and MODEL_SEED say how many, how long and what for.
"""

import os
import random
from pathlib import Path

import pytest

from tests.chaos.model import run_trouble

CHAINS = int(os.environ.get("MODEL_CHAINS", "50"))
LONGEST = float(os.environ.get("MODEL_AWAY", "10"))
SECONDS = float(os.environ.get("MODEL_SECONDS", "240"))
SEED = int(os.environ.get("MODEL_SEED", random.SystemRandom().randrange(10**6)))


@pytest.mark.timeout(SECONDS + 300)
async def test_no_chain_fails_that_has_time_left_and_no_effect_happens_twice(
    tmp_path: Path,
) -> None:
    print(f"MODEL_SEED={SEED} MODEL_CHAINS={CHAINS} MODEL_AWAY={LONGEST:g}")
    words = await run_trouble(
        tmp_path, SEED, chains=CHAINS, kills=10, longest=LONGEST, within=SECONDS
    )
    print(words)
