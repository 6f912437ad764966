"""The lists of `make smoke` and of `.ci/run`: what they name is there, and `make smoke` tells the
story of each promise.
"""

import ast
import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]


def lines(file: str) -> list[str]:
    return (CHECKOUT / "tests" / file).read_text().splitlines()


PROMISE = re.compile(r"\bR\d+\b")


@pytest.mark.parametrize("file", ["smoke.txt", "ui/first.txt"])
def test_what_a_list_names_is_there(file: str) -> None:
    named = [line for line in lines(file) if not line.startswith("#")]
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
        promise
        for line in lines("smoke.txt")
        if line.startswith("# R")
        for promise in PROMISE.findall(line)
    }
    page = (CHECKOUT / "docs/explanation/promises.md").read_text()
    assert told == set(re.findall(r"^\| (R\d+) \|", page, re.MULTILINE))
