"""The mistakes of a tool author's first hour: each is met where it is made, and its message says
what is wrong, where or why, and what to do.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from pydantic import BaseModel, SecretStr

from haltpoint import Ctx, tool
from haltpoint.chain.model.schemas import argument_faults
from haltpoint.contracts.tools import ToolSpec
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint_tool_worker.importing import import_tools
from haltpoint_tool_worker.registry import NO_DEPS, load, unreachable
from haltpoint_tool_worker.results.classify import classify
from haltpoint_tool_worker.results.outcomes import read_result
from tests.unit.tool_worker.calling import fault_of, tool_in

HEAD = """from typing import Annotated
from haltpoint import Ctx, FromResult, tool
"""

MODULES = {
    "no type hint": (
        "@tool\ndef act(x): ...",
        r"tool 'act' \(.*:3\): parameter 'x' has no type hint: a model needs to know",
    ),
    "bad timeout": (
        "@tool(timeout='5 parsecs')\ndef act(): ...",
        "timeout='5 parsecs': give seconds, or a number with ms, s, m, h or d, as in '5s'",
    ),
    "bad rate": (
        "@tool(rate_limit='often')\ndef act(): ...",
        "rate_limit='often': write it like '10/s'",
    ),
    "bad queue": (
        "@tool(queue='a b')\ndef act(): ...",
        "queue 'a b': a queue's name has 1 to 64 letters, digits, _ or -",
    ),
    "retry as a number": (
        "@tool(retry=3)\ndef act(): ...",
        "retry=3: give Retry",
    ),
    "an effect that is no yes or no": (
        "@tool(read_only='yes')\ndef act(): ...",
        "read_only='yes': give True or False",
    ),
    "a mark without its origins": (
        "@tool\ndef act(x: Annotated[str, FromResult]): ...",
        "FromResult without brackets: write a tool's name, a dot and the place in its data",
    ),
    "a loop in the loop of the worker": (
        "raise RuntimeError('asyncio.run() cannot be called from a running event loop')",
        r"cannot be called from a running event loop \(.*made.py:3\)",
        "await that in a lifespan",
    ),
    "contradicting traits": (
        "@tool(read_only=True, destructive=True)\ndef act(): ...",
        "read_only and destructive contradict each other",
    ),
    "says with an unknown name": (
        "@tool(says='to {y}')\ndef act(x: int): ...",
        "{y} is neither a parameter nor a field of the declared result; there are: x",
    ),
    "unresolved hint": (
        "@tool\ndef act(x: 'Nope'): ...",
        "a type hint cannot be resolved: name 'Nope' is not defined",
    ),
    "misspelt trait": (
        "@tool(readonly=True)\ndef act(): ...",
        r"readonly \(did you mean read_only\?\)",
    ),
    "an object as a parameter": (
        "import sqlite3\n@tool\ndef act(db: sqlite3.Connection): ...",
        "parameter 'db': no model can write a Connection as JSON; yield such .* from ctx.deps",
    ),
    "an object as a result": (
        "import sqlite3\n@tool\ndef act() -> sqlite3.Connection: ...",
        "its result: JSON cannot express a Connection; return a dict",
    ),
    "a default of another type": (
        "@tool\ndef act(x: int = 'three'): ...",
        r"tool 'act' \(.*made\.py:3\): parameter 'x': its default 'three' is not of its type",
    ),
    "a default that is no JSON": (
        "import threading\nfrom typing import Any\n@tool\ndef act(x: Any = threading.Lock()): ...",
        (
            "parameter 'x': its default <unlocked .*> is not of "
            "its type, or not JSON; give one that is"
        ),
    ),
    "words in place of traits": (
        "@tool('find a thing')\ndef act(x: int): ...",
        r"\(.*made\.py:3\): only functions .* not a str; traits have names, as in @tool\(",
    ),
    "a class": (
        "@tool\nclass Act:\n    x: int = 1",
        r"tool 'Act' \(.*made\.py:3\): only functions .* can be tools, not a class",
    ),
    "a static method": (
        "class Shop:\n    @tool\n    @staticmethod\n    def act(x: int): ...",
        r"\(.*made\.py:4\): a tool is a function: take it out of its class",
    ),
    "the end of the process": (
        "import sys\nsys.exit('set DB_URL')",
        r"made\.py:4 ends the process: exit\('set DB_URL'\)",
        'Put what is for a program alone under if __name__ == "__main__"',
    ),
    "the arguments of a program": (
        "import argparse\nargparse.ArgumentParser().parse_args(['up'])",
        r"made\.py:4 ends the process: exit\(2\)",
        "Put what is for a program alone",
    ),
    "an error of Python's own library": (
        "import json\njson.loads('{')",
        r"JSONDecodeError: .* \(.*made\.py:4\)",
        "python -c 'import made'",
    ),
    "a method": (
        "class Shop:\n    @tool\n    def act(self, x: int): ...",
        "a tool is a function: take it out of its class",
    ),
    "two of one name": (
        "@tool\ndef act(x: int): ...\n@tool\ndef act(y: int): ...",
        r"tool 'act' \(.*:5\): .*:3 declares a function of this name, too, and is lost",
    ),
    "two of one name by name=": (
        "@tool\ndef act(x: int): ...\n@tool(name='act')\ndef other(): ...",
        "two tools are called 'act': one is declared at .*:3, the other at .*:5",
        "Give one of them another name",
    ),
    "askHuman": (
        "@tool\ndef askHuman(x: int): ...",
        "this is the name of a built-in tool",
    ),
    "end_step": (
        "@tool(name='end_step')\ndef act(): ...",
        "this is the name of a built-in tool",
    ),
    "route": ("@tool\ndef route(): ...", "the name of a built-in tool"),
    "wrong origin": (
        "@tool\ndef act(x: Annotated[str, FromResult('id')]): ...",
        "write a tool's name, a dot and the place in its data",
    ),
    "syntax error": (
        "def act(:",
        r"invalid syntax \(.*made\.py:3\)",
        "python -m py_compile .*made.py",
    ),
    "missing import": (
        "import nosuchpackage",
        r"made\.py:3 imports nosuchpackage, which is not installed",
        "Install it for .*python.*, or take the import out",
    ),
    "raises": (
        "def connect():\n    raise ValueError('no DB_URL')\nconnect()",
        r"ValueError: no DB_URL \(.*made\.py:4\)",
        "python -c 'import made'",
    ),
    "no tool in it": (
        "x = 1",
        r"made \(.*made\.py\) declares none",
        "Name a module with @tool functions",
    ),
}
"""What the module has, what and why, what to do."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("sys.modules", {**__import__("sys").modules})
    return tmp_path


def refusal_of(modules: list[str]) -> str:
    with pytest.raises(HaltpointError) as caught:
        load(modules)
    assert "Correct it" not in str(caught.value)
    assert "Traceback" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("mistake", MODULES)
def test_a_mistake_in_a_module_is_said_with_its_place_and_what_to_do(
    folder: Path, mistake: str
) -> None:
    body, why, *more = MODULES[mistake]
    fix = more[0] if more else "Change this declaration"
    (folder / "made.py").write_text(HEAD + body + "\n")
    assert re.search(f"^HP-03[01] .*{why}.*{fix}", refusal_of(["made"]))


def test_a_module_that_is_not_there_is_named_with_the_nearest_one(folder: Path) -> None:
    (folder / "shop.py").write_text("")
    words = refusal_of(["shopp"])
    assert f"neither {folder} nor an installed package has it" in words
    assert words.endswith("; did you mean shop?")
    assert "Start in the folder of the module" in refusal_of(["nosuch.tools"])


def test_a_module_in_the_place_of_the_authors_is_said_with_its_file(folder: Path) -> None:
    (folder / "email.py").write_text(f"{HEAD}@tool\ndef act(): ...\n")
    assert re.search(r"email \(.*email.__init__\.py\) declares none", refusal_of(["email"]))
    assert "time (of Python itself) declares none" in refusal_of(["time"])


@pytest.mark.parametrize("name", ["shop.py", "./shop.py", "{folder}/shop.py"])
def test_the_file_of_a_module_means_the_module(folder: Path, name: str) -> None:
    (folder / "shop.py").write_text(f"{HEAD}@tool\ndef act(): ...\n")
    assert import_tools(name.format(folder=folder)).__name__ == "shop"


async def opening(folder: Path, lifespan: str) -> str:
    (folder / "made.py").write_text(f"{HEAD}{lifespan}\n@tool\ndef act(): ...\n")
    with pytest.raises(HaltpointError) as caught:
        async with load(["made"]).opened():
            pass
    return str(caught.value)


async def test_a_lifespan_that_fails_is_named_with_its_reason(folder: Path) -> None:
    words = await opening(folder, "def lifespan():\n    raise ValueError('no database')")
    assert words.startswith("HP-033 the lifespan of the tool 'act' failed: ValueError: no database")


async def test_a_lifespan_without_its_decorator_is_told_which(folder: Path) -> None:
    words = await opening(folder, "async def lifespan():\n    yield 1")
    assert "Write @asynccontextmanager above it" in words


class Book(BaseModel):
    pages: int


@tool(read_only=True)
def find() -> Book: ...  # type: ignore[empty-body]


@tool(read_only=True)
def look(x: int, y: str = "") -> dict[str, Any]: ...  # type: ignore[empty-body]


async def forgotten() -> None: ...


def coroutine() -> Any:
    waiting = forgotten()
    waiting.close()
    return waiting


def read(function: Callable[..., Any], raw: object) -> str:
    fault = fault_of(read_result(tool_in(function), raw))
    assert fault.suggestion == "This is a bug in the tool; calling it again will not help."
    return fault.message


RESULTS: dict[str, tuple[Any, Callable[[], object], str]] = {
    "None": (find, lambda: None, "must be an object, not None: is a `return` missing?"),
    "await": (find, coroutine, "a coroutine: forgotten `await`?"),
    "await in a dict": (find, lambda: {"pages": coroutine()}, "a coroutine: forgotten `await`?"),
    "await in a dict without a type": (
        look,
        lambda: {"x": [coroutine()]},
        "a coroutine: forgotten `await`?",
    ),
    "another type": (find, lambda: "text", "must be an object, not str"),
    "another field": (find, lambda: {"pages": None}, "pages: must be a whole number, not None"),
    "a missing field": (find, dict, "pages: is missing"),
    "an object": (look, lambda: {"x": object()}, "an object of type object"),
}


@pytest.mark.parametrize("mistake", RESULTS)
def test_a_wrong_result_is_said_with_the_type_that_came(mistake: str) -> None:
    function, raw, words = RESULTS[mistake]
    told = read(function, raw())
    assert told.startswith(f"the tool {function.__name__} returned ")
    assert words in told


def test_deps_that_nothing_yields_are_said_to_be_missing() -> None:
    with pytest.raises(AttributeError) as caught:
        Ctx(deps=NO_DEPS).deps.db.execute("select 1")
    told = classify(caught.value).fault.message
    assert "ctx.deps has no 'db': the tool's module has no lifespan that yields deps" in told
    assert not NO_DEPS


def test_a_secret_in_wrong_arguments_is_not_said() -> None:
    @tool
    def pay(card: int, code: list[SecretStr], about: int) -> None: ...

    spec = tool_in(pay).spec
    given = {"card": ["4929381332664295"], "code": "xyzzy-99", "about": "4929381332664295 xyzzy-99"}
    faults = " ".join(argument_faults(spec, given))
    assert "card: ['***']" in faults
    assert "about: '*** ***'" in faults
    assert "xyzzy" not in faults


def test_a_value_that_no_tool_gives_is_said_at_the_start(folder: Path) -> None:
    (folder / "made.py").write_text(
        f"{HEAD}@tool\ndef act(x: Annotated[str, FromResult('nosuch.id')]): ...\n"
        "@tool(read_only=True)\ndef look(x: Annotated[str, FromResult('nosuch.id', 'goal')]):\n"
        "    'Look.'\n"
    )
    registry = load(["made"])
    nosuch = ToolSpec("nosuch")
    assert registry.remarks(registry.specs)[0][1] == ["act.x (nosuch.id)"]
    assert registry.remarks([*registry.specs, nosuch])[0][1] == []
    gone = replace(nosuch, gone=True)
    assert registry.remarks([*registry.specs, gone])[0][1] == ["act.x (nosuch.id)"]


@pytest.mark.parametrize(
    ("origins", "lost"),
    [
        ("'find.items[].id'", []),
        ("'fnid.items[].id'", ["act.x (fnid.items[].id; did you mean find.items?)"]),
        ("'find.item[].id'", ["act.x (find.item[].id; did you mean find.items?)"]),
        ("'find.item', 'goal'", []),
        ("'anything.id'", []),
    ],
)
def test_a_misspelt_origin_is_said_with_the_place_that_is_meant(
    folder: Path, origins: str, lost: list[str]
) -> None:
    (folder / "spelt.py").write_text(
        f"{HEAD}@tool\ndef act(x: Annotated[str, FromResult({origins})]): ...\n"
    )
    items = {"type": "object", "properties": {"items": {"type": "array"}}}
    find, anything = ToolSpec("find", result_schema=items), ToolSpec("anything")
    assert unreachable([*load(["spelt"]).specs, find, anything]) == lost
