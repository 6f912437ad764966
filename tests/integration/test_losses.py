"""One loss of each kind; many are in tests/chaos."""

import random
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.chaos.losses import Losing
from tests.chaos.system import System

KINDS = (Losing.tail, Losing.snapshot, Losing.laggard, Losing.empty, Losing.flush)


@pytest.mark.parametrize("lose", KINDS, ids=lambda lose: str(lose.__name__))
async def test_r10_what_was_started_before_a_loss_is_not_started_again(
    lose: Callable[[Losing], Awaitable[None]], tmp_path: Path
) -> None:
    async with System(tmp_path) as system:
        losing = Losing(system, random.Random(0))
        await losing.run(lose)
        print(losing.twice()[:3], len(losing.twice()), losing.found, system.person.yes)
        assert losing.twice() == []
        assert losing.found is not None
        assert losing.found < 2
