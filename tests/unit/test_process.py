"""How a service ends: exit code 2 where to start it again would not help, 1 where it may."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from haltpoint.runtime.config import policy_file
from haltpoint.runtime.config.errors import HOPELESS, HaltpointError
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.service import process


def test_a_policy_file_that_cannot_be_used_ends_a_service_for_good(tmp_path: Path) -> None:
    async def run(settings: Settings) -> None:
        policy_file.read(settings.policy_file)

    assert (
        asyncio.run(process._guarded(run, Settings(policy_file=tmp_path / "none.toml"))) == HOPELESS
    )


@pytest.mark.parametrize(
    ("code", "ends"), [("HP-001", HOPELESS), ("HP-010", 1), ("HP-022", HOPELESS), ("HP-033", 1)]
)
def test_a_service_ends_for_good_where_what_it_was_told_is_wrong(code: str, ends: int) -> None:
    async def run(settings: Settings) -> None:
        raise HaltpointError(code, "it cannot go on", "of the reason", "Do something")

    assert asyncio.run(process._guarded(run, Settings())) == ends


@pytest.mark.parametrize(
    ("signals", "ends"),
    [
        ((signal.SIGTERM, signal.SIGTERM), 0),
        ((signal.SIGINT, signal.SIGTERM), 0),
        ((signal.SIGTERM, signal.SIGINT), 130),
    ],
)
def test_only_ctrl_c_cuts_a_drain_off(signals: tuple[signal.Signals, ...], ends: int) -> None:
    first, second = signals

    async def run(_: Settings) -> None:
        with suppress(asyncio.CancelledError):
            os.kill(os.getpid(), first)
            await asyncio.sleep(10)
        os.kill(os.getpid(), second)
        await asyncio.sleep(0.2)

    assert asyncio.run(process._guarded(run, Settings())) == ends
