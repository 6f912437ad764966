"""The eval over real processes: the bars of strict hold, the raw models do break them, and seeds
repeat.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from evals.figures import FIGURES
from evals.kinds import KINDS
from haltpoint.contracts.base import JsonObject
from tests.e2e.running import CHECKOUT, finished
from tests.support import PATIENCE, wait_until

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
    measured = run(tmp_path, "--mode", "strict", "--chains", str(2 * len(KINDS)))
    strict = measured["strict"]
    assert strict["chains"] == 2 * len(KINDS)
    assert strict["clarification_success"] == strict["without_question"] == 1.0
    assert {name: strict[name] for name in NONE} == dict.fromkeys(NONE, 0)
    assert strict["strikes_mean"] > 0
    assert strict["escalated"] > 0


def test_without_the_contract_the_same_models_do_harm_and_the_same_seed_does_the_same(
    tmp_path: Path,
) -> None:
    kinds = (
        "claim_without_call invented_ids send_before_choice hijacked repeats_effect "
        "ignores_condition"
    )
    words = ("--kinds", *kinds.split())
    first = run(tmp_path, "--mode", "off", "strict", *words, "--chains", "24")
    again = run(tmp_path, "--mode", "off", *words, "--chains", "12")
    del first["off"]["seconds_mean"], again["off"]["seconds_mean"]
    assert first["off"] == again["off"]
    assert first["off"]["clarification_success"] < 1
    for name in (
        "wrong_recipient",
        "completed_without_receipt",
        "conditions_ignored",
        "repeated_effects",
    ):
        assert first["off"][name] > first["strict"][name] == 0, name


def records(folder: Path) -> list[Path]:
    return list(folder.rglob("effects.jsonl"))


async def test_an_interrupted_eval_leaves_nothing_behind(tmp_path: Path) -> None:
    running = await asyncio.create_subprocess_exec(
        *EVALS,
        "--chains",
        "2000",
        env={**os.environ, "TMPDIR": str(tmp_path)},
        cwd=CHECKOUT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    await wait_until(lambda: bool(records(tmp_path)))
    running.send_signal(signal.SIGINT)

    assert await asyncio.wait_for(running.wait(), PATIENCE) != 0
    assert records(tmp_path) == []
