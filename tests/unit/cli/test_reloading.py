"""`up --reload` and the agents file: what the server does not take now is applied later, and nothing ends over it."""

from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from haltpoint.cli.local import reloading
from haltpoint.contracts.work.agents import Agents
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.streams.refused import RefusedForNow


class AppliedError(Exception):
    pass


async def test_a_changed_agents_file_is_applied_when_the_server_takes_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file := tmp_path / "agents.toml").write_text('[[agents]]\nname = "a"\ndescription = "d"\n')
    seen = chain([frozenset({(file, 1)})], repeat(frozenset({(file, 2)})))
    said, tried = list[str](), list[str]()

    async def apply(_: Settings, agents: Agents) -> bool:
        tried.append(agents.digest)
        if len(tried) < 3:
            raise RefusedForNow("MISCONF")
        raise AppliedError

    monkeypatch.setattr(reloading, "apply_agents", apply)
    monkeypatch.setattr(reloading, "state_of", lambda _: next(seen))
    monkeypatch.setattr(reloading, "_LOOK", 0)
    settings = Settings(agents_file=file, redis_url="redis://127.0.0.1:1/0")
    with pytest.raises(AppliedError):
        await reloading.reload_tools(cast("Any", SimpleNamespace(settings=settings)), said.append)
    assert len(tried) == 3
    assert all("agents.toml changed and is not applied yet: HP-021" in one for one in said)
