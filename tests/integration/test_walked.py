"""How much code a plain action walks: a layer more is seen here, and not in any profile."""

from pathlib import Path

import pytest

from tests.bench.walked import PATHS, Steps, Walked, measure
from tests.bench.walked_decisions import decisions

BARS = {
    "plan.drafted": (76, 17),
    "a proposal, read-only": (81, 24),
    "a proposal, effect, one FromResult": (140, 29),
    "answer.drafted": (28, 13),
    "tool.completed that asks": (34, 10),
    "human.answered, a choice": (86, 25),
    "literal tool.completed": (65, 20),
}
"""Functions and files, which may only fall."""


@pytest.mark.parametrize(
    ("path", "functions", "files"), [("decide", 64, 20), ("executor", 119, 39), ("worker", 49, 19)]
)
def test_one_plain_action_walks_few_functions(
    path: str, functions: int, files: int, tmp_path: Path
) -> None:
    here, steps = PATHS[path]
    walked = measure(tmp_path, here, Steps(steps.first, steps.only))
    usual = walked.usual()
    assert usual.functions <= functions, walked.names()
    assert usual.files <= files, walked.names()


@pytest.fixture(scope="module")
def walks() -> dict[str, Walked]:
    return decisions()


@pytest.mark.parametrize("kind", BARS)
def test_one_decision_walks_few_functions(walks: dict[str, Walked], kind: str) -> None:
    functions, files = BARS[kind]
    assert walks[kind].functions <= functions
    assert walks[kind].files <= files
