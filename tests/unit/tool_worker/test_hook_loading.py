"""H4: hooks come from tools modules, dotted paths and installed packages; each once, and with a
clear word if not.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from haltpoint import hook
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.tools import DeclarationError
from haltpoint.tools.hooks import Moment
from haltpoint_tool_worker.hooks import load_hooks
from haltpoint_tool_worker.registry import load

TOOLS = """
from haltpoint import FromResult, hook, tool
from typing import Annotated

@tool(read_only=True)
async def look(query: str) -> dict[str, str]:
    return {"id": query}

@tool
async def send(to: Annotated[str, FromResult("look.id")]) -> str:
    return "sent"

@hook.post(tools="*", order=1)
def from_the_module(call, result, ctx):
    return None
"""
HOOKS = """
from haltpoint import hook

@hook.pre(tools="send", order=7)
async def seven(call, ctx): ...

class Rules:
    @staticmethod
    @hook.pre(tools=["se*", "x"], order=-7, security=True, timeout="50ms")
    def minus_seven(call, ctx): ...

def no_hook(call, ctx): ...
"""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "made_tools.py").write_text(TOOLS)
    (tmp_path / "made_hooks.py").write_text(HOOKS)
    (tmp_path / "made_broken.py").write_text("raise RuntimeError('not today')")
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("made_")]:
        del sys.modules[name]


def install(folder: Path, *lines: str) -> None:
    info = folder / "made_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: made-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(["[haltpoint.hooks]", *lines]))


def test_h4_hooks_are_listed_with_the_tools_in_the_order_in_which_they_run(modules: Path) -> None:
    install(modules, "rule = made_hooks:seven")
    registry = load(["made_tools"], hooks=["made_hooks:Rules.minus_seven", "made_hooks:seven"])
    hooks = {spec.name: spec.hooks for spec in registry.specs}
    last = "made_tools:from_the_module"
    assert hooks["look"] == (last,)
    assert hooks["send"] == ("made_hooks:Rules.minus_seven", "made_hooks:seven", last)
    first, _, last_hook = registry.hooks["send"]
    assert (first.security, first.timeout, first.is_async) == (True, 0.05, False)
    assert last_hook.moment is Moment.POST


def test_h4_a_hook_that_is_found_twice_runs_once(modules: Path) -> None:
    install(modules, "rule = made_hooks:seven", "same = made_hooks:seven")
    assert [each.name for each in load_hooks([], ["made_hooks:seven"])] == ["made_hooks:seven"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("made_hooks", "it does not name a function"),
        ("made_broken:check", "RuntimeError: not today"),
        ("made_hooks:no_hook", "it does not name a hook"),
    ],
)
def test_h4_a_hook_that_cannot_be_loaded_ends_the_worker_at_its_start(
    modules: Path, path: str, words: str
) -> None:
    with pytest.raises(HaltpointError, match=words) as caught:
        load(["made_tools"], hooks=[path])
    assert caught.value.code == "HP-032"
    install(modules, f"bad = {path if ':' in path.rstrip(':') else 'made_hooks'}")
    with pytest.raises(HaltpointError, match="the entry point 'bad'"):
        load(["made_tools"])


def test_hooks_are_declared_rightly_or_not_at_all() -> None:
    def takes_two(call: object, ctx: object) -> None: ...
    def yields(call: object, ctx: object) -> Iterator[None]:
        yield

    with pytest.raises(DeclarationError, match=r"a post-hook takes \(call, result, ctx\)"):
        hook.post(tools="*")(takes_two)
    with pytest.raises(DeclarationError, match="do not yield"):
        hook.pre(tools="*")(yields)
    with pytest.raises(DeclarationError, match="timeout='soon'"):
        hook.pre(tools="*", timeout="soon")(takes_two)
