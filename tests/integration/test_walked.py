"""How much code an action walks through a worker: a layer more is seen here, and not in any profile."""

from pathlib import Path

from tests.bench.walked import PATHS, Steps, measure


def test_one_plain_action_walks_few_functions_of_the_worker(tmp_path: Path) -> None:
    here, steps = PATHS["worker"]
    walked = measure(tmp_path, here, Steps(steps.first))
    usual = walked.usual()
    assert usual.functions <= 40, walked.names()
    assert usual.files <= 14, walked.names()
