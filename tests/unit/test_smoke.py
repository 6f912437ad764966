"""The list of `make smoke`: what it names is there, and it tells the story of each promise."""

import ast
import re
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
LINES = (CHECKOUT / "tests" / "smoke.txt").read_text().splitlines()
PROMISE = re.compile(r"\bR\d+\b")


def test_what_the_list_names_is_there() -> None:
    named = [line for line in LINES if not line.startswith("#")]
    assert named
    for line in named:
        file, _, function = line.partition("::")
        tree = ast.parse((CHECKOUT / file).read_text())
        tests = {
            node.name
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        assert not function or function in tests, line


def test_each_promise_has_its_story() -> None:
    told = {
        promise for line in LINES if line.startswith("# R") for promise in PROMISE.findall(line)
    }
    page = (CHECKOUT / "docs/explanation/promises.md").read_text()
    assert told == set(re.findall(r"^\| (R\d+) \|", page, re.MULTILINE))
