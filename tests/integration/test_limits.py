"""Three workers keep to the limits of their tools together while one is killed; the long runs are in tests/chaos."""

from pathlib import Path

from tests.chaos.limits import keep_to_limits


async def test_e6_no_more_calls_than_the_limits_allow_and_none_fails(tmp_path: Path) -> None:
    await keep_to_limits(tmp_path, calls=30, kills=1)
