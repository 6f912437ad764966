"""The eval over real processes: the bars of strict hold. tests/stories compares the modes."""

import json
import os
import sys
from pathlib import Path

from evals.figures import FIGURES
from evals.kinds import KINDS
from haltpoint.contracts.base import JsonObject
from tests.e2e.running import finished

EVALS = (sys.executable, "-m", "evals")
NONE = [figure.name for figure in FIGURES if figure.bar and figure.least is None]


def run(tmp_path: Path, *words: str, **variables: str) -> dict[str, JsonObject]:
    environment = {**os.environ, "TMPDIR": str(tmp_path), **variables}
    done = finished([*EVALS, "--json", *words], environment, within=250)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("haltpoint-eval-*")) == []
    measured: dict[str, JsonObject] = json.loads(done.stdout)
    return measured


def test_the_bars_of_strict_hold_for_every_kind_of_model(tmp_path: Path) -> None:
    measured = run(tmp_path, "--mode", "strict", "--chains", str(len(KINDS)))
    strict = measured["strict"]
    assert strict["chains"] == len(KINDS)
    assert strict["clarification_success"] == strict["without_question"] == 1.0
    assert {name: strict[name] for name in NONE} == dict.fromkeys(NONE, 0)
    assert strict["strikes_mean"] > 0
    assert strict["escalated"] > 0
