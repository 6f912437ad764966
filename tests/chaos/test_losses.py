"""Servers that lose what they had acknowledged (R10), many times: LOSSES is how often of each kind,
five times as often for a cut tail.
"""

import os
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest

from tests.chaos.losses import KINDS, Losing
from tests.chaos.system import System

TIMES: Final = int(os.environ.get("LOSSES", "2"))
CASES: Final = [
    pytest.param(kind, seed, id=f"{kind.__name__}-{seed}")
    for kind in KINDS
    for seed in range(TIMES * (5 if kind is Losing.tail else 1))
]


@pytest.mark.parametrize(("lose", "seed"), CASES)
async def test_r10_a_loss_doubles_no_effect_and_each_chain_is_there_or_said_to_be_gone(
    lose: Callable[[Losing], Awaitable[None]], seed: int, tmp_path: Path
) -> None:
    async with System(tmp_path) as system:
        losing = Losing(system, random.Random(seed))
        await losing.run(lose)
        await losing.keeps_its_promise()
