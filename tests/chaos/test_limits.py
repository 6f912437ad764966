"""Limits for longer, with two kills (CONTRACT E6)."""

from pathlib import Path

from tests.chaos.limits import keep_to_limits


async def test_e6_no_more_calls_than_the_limits_allow_and_none_fails(tmp_path: Path) -> None:
    print(await keep_to_limits(tmp_path, calls=600, kills=2))
