"""The eval over real processes: the raw models do break the bars of strict, seeds repeat, and an
interrupted eval leaves nothing behind.
"""

import asyncio
import os
import signal
import subprocess
from pathlib import Path

from tests.e2e.running import CHECKOUT
from tests.e2e.test_eval import EVALS, run
from tests.support import PATIENCE, wait_until


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
