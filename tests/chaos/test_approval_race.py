"""Two hundred races for a yes, judged by the history check."""

from pathlib import Path

import pytest

from tests.chaos.approval_race import race


@pytest.mark.parametrize("first", range(0, 200, 25))
async def test_r5_whoever_wins_nothing_happens_without_a_yes_to_it(
    first: int, tmp_path: Path
) -> None:
    await race(tmp_path, range(first, first + 25))
