"""`haltpoint up` ends when it is told to."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from haltpoint.cli.commands import up
from haltpoint.cli.local import system
from haltpoint.cli.shell import Shell
from haltpoint.runtime.config.settings import Settings


def test_a_signal_counts_that_comes_while_something_drops_a_cancellation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    @asynccontextmanager
    async def start(*_: Any, **__: Any) -> AsyncIterator[system.System]:
        with suppress(asyncio.CancelledError):
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(5)
        yield system.System("http://gateway", Settings(), None)  # type: ignore[arg-type]

    monkeypatch.setattr(system, "local_system", start)
    monkeypatch.setattr(Shell, "note", lambda _, words: said.append(words))
    settings = Settings(state_dir=tmp_path)
    whole = up._keep_up(Shell(), settings, ["planner"], 1, (), reload=True)
    asyncio.run(asyncio.wait_for(whole, 10))
    assert said[1:] == ["ready: http://gateway", "stopping ..."]
