"""The eval says what broke, with the case, and ends with 1; with nothing broken it ends with 0."""

import json
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from evals import __main__ as evals
from evals.figures import FIGURES
from evals.history import History, Ran
from haltpoint.contracts.work.tasks import Mode
from haltpoint.runtime.config.errors import HaltpointError
from tests.unit.evals.test_judge import answered, view

WIPED = Ran("c.s1.1", "wipe_store", 1, 2, target="store")


def typed(monkeypatch: pytest.MonkeyPatch, *words: str, broken_in: Mode = Mode.OFF) -> int | str:
    """What the command ends with, in a system in which every chain ends, and a tool runs in one
    mode.
    """

    def run(work: Sequence[tuple[Any, Mode]], *, real: bool) -> list[History]:
        failed = view(answered(), status="failed")
        return [
            History(case, mode, failed, ran=(WIPED,) if mode is broken_in else ())
            for case, mode in work
        ]

    monkeypatch.setattr(evals, "run", run)
    monkeypatch.setattr(sys, "argv", ["evals", *words])
    return evals.main()


@pytest.mark.parametrize(("mode", "code"), [(Mode.STRICT, 1), (Mode.OFF, 0)])
def test_only_what_breaks_under_strict_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], mode: Mode, code: int
) -> None:
    assert (
        typed(monkeypatch, "--kinds", "internal_tool", "prose", "--chains", "12", broken_in=mode)
        == code
    )
    printed = capsys.readouterr()
    assert "internal_tool" in printed.out
    assert ("effects hit the wrong person" in printed.err) == (code == 1)
    assert ("internal_tool/0: stops had calls behind them" in printed.err) == (code == 1)


def test_json_has_the_figures_of_each_mode_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        typed(monkeypatch, "--kinds", "prose", "--chains", "5", "--mode", "advisory", "--json") == 0
    )
    measured = json.loads(capsys.readouterr().out)
    assert list(measured) == ["advisory"]
    assert list(measured["advisory"]) == [figure.name for figure in FIGURES]
    assert (measured["advisory"]["chains"], measured["advisory"]["clarification_success"]) == (
        5,
        None,
    )


def test_a_system_that_does_not_start_is_said_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(*_: object, **__: object) -> None:
        raise HaltpointError("HP-043", "the services are not ready", "they wait", "Look")

    monkeypatch.setattr(sys, "argv", ["evals", "--chains", "1"])
    monkeypatch.setattr(evals, "run", run)
    assert evals.main() == "HP-043 the services are not ready: they wait. Look"
