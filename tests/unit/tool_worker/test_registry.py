"""What a worker serves: the tools of its modules, each name once, with what their modules open for
them.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from haltpoint.runtime.config.errors import HaltpointError
from haltpoint_tool_worker.registry import Registry, load

SOURCE = """
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from haltpoint import Ctx, tool

log = []

@asynccontextmanager
async def lifespan() -> AsyncIterator[str]:
    log.append("open")
    yield "{name}'s"
    log.append("closed")

@tool(queue="{queue}")
async def {tool}(ctx: Ctx[str]) -> str:
    return ctx.deps
"""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("made_"):
            del sys.modules[name]


def write(folder: Path, name: str, tool: str, queue: str = "default", more: str = "") -> str:
    (folder / f"{name}.py").write_text(SOURCE.format(name=name, tool=tool, queue=queue) + more)
    return name


def deps(registry: Registry, name: str) -> Any:
    return registry.deps[name]


async def test_each_tool_gets_what_its_own_module_opened(modules: Path) -> None:
    write(modules, "made_one", "first", "a")
    write(modules, "made_two", "second", "b", more="\nfrom made_one import first\n")
    registry = load(["made_one", "made_two"])
    assert registry.queues == ("a", "b")
    async with registry.opened():
        assert (deps(registry, "first"), deps(registry, "second")) == ("made_one's", "made_two's")
    log = sys.modules["made_one"].log
    assert log == ["open", "closed"], "once, though two modules offer the tool"


def test_only_the_tools_of_the_wanted_queues_are_served() -> None:
    assert [spec.name for spec in load(["tests.e2e.tools"], ["slow"]).specs] == ["wait_long"]
    assert load(["tests.e2e.tools"], ["slow", "default"]).queues == ("default", "slow")
    with pytest.raises(
        HaltpointError, match=r"no tool of tests\.e2e\.tools \(.*\) belongs to the queue none"
    ):
        load(["tests.e2e.tools"], ["none"])
    with pytest.raises(HaltpointError, match=r"tests\.support\.builders \(.*\) declares none"):
        load(["tests.support.builders"])
    with pytest.raises(HaltpointError, match="no tools module and no skills were named"):
        load([])


def test_a_worker_names_tools_that_declare_nothing_and_those_that_do_not_say_their_deeds(
    modules: Path,
) -> None:
    plain = write(modules, "made_plain", "send")
    declared = """
@tool(read_only=True)
async def look() -> str:
    return ""

@tool(idempotent=True, says="Put it there")
async def put() -> str:
    return ""

@tool(destructive=True)
async def wipe() -> str:
    return ""
"""
    registry = load((plain, write(modules, "made_more", "post", more=declared)))
    remarks = [set(tools) for _, tools, _ in registry.remarks([])]
    unreachable, undeclared, silent, undescribed = remarks
    assert unreachable == set()
    assert undeclared == {"send", "post"}
    assert silent == {"send", "post", "wipe"}
    assert undescribed == {"send", "post", "look", "put", "wipe"}
