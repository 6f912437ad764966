"""How much code a plain action walks: a layer more is seen here, and not in any profile."""

from pathlib import Path

import pytest

from tests.bench.walked import PATHS, Steps, measure


@pytest.mark.parametrize(
    ("path", "functions", "files"), [("decide", 57, 21), ("executor", 103, 38), ("worker", 40, 15)]
)
def test_one_plain_action_walks_few_functions(path: str, functions: int, files: int, tmp_path: Path) -> None:
    here, steps = PATHS[path]
    walked = measure(tmp_path, here, Steps(steps.first, steps.only))
    usual = walked.usual()
    assert usual.functions <= functions, walked.names()
    assert usual.files <= files, walked.names()
