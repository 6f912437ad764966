"""`haltpoint eval` says what broke, with the case, and ends with 1; with nothing broken it ends with 0."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from typer.testing import CliRunner

from haltpoint.cli.commands import eval_show
from haltpoint.cli.main import app
from haltpoint.contracts.work.tasks import Mode
from haltpoint.evals.case import Case
from haltpoint.evals.effects import Ran
from haltpoint.evals.history import History

Done = Callable[[History], None]


def pretend(monkeypatch: pytest.MonkeyPatch, *ran: Ran, broken_in: Mode = Mode.STRICT) -> None:
    """A system in which every chain ends, and these tools run in one mode."""

    def run(cases: Sequence[Case], modes: Sequence[Mode], real: Any, done: Done) -> list[History]:
        histories = [
            History(str(number), case, mode, "failed", "It failed.", ran=ran if mode is broken_in else ())
            for mode in modes
            for number, case in enumerate(cases)
        ]
        for history in histories:
            done(history)
        return histories

    monkeypatch.setattr(eval_show, "run", run)


WIPED = Ran("c.s1.1", "wipe_store", 1, 2, target="store")


@pytest.mark.parametrize(("mode", "code"), [(Mode.STRICT, 1), (Mode.OFF, 0)])
def test_only_what_breaks_under_strict_ends_with_1(monkeypatch: pytest.MonkeyPatch, mode: Mode, code: int) -> None:
    pretend(monkeypatch, WIPED, broken_in=mode)
    done = CliRunner().invoke(app, ["eval", "--kinds", "internal_tool,prose", "--chains", "12"])
    assert done.exit_code == code
    assert "internal_tool" in done.stdout
    assert ("internal_tool/0" in done.stderr) == (code == 1)
    assert ("effects hit the wrong person" in done.stderr) == (code == 1)


def test_json_has_the_figures_of_each_mode_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch)
    done = CliRunner().invoke(app, ["eval", "--kinds", "prose", "--chains", "5", "--mode", "off", "--json", "-q"])
    assert done.exit_code == 0
    assert done.stderr == ""
    assert json.loads(done.stdout) == {
        "off": {
            "chains": 5,
            "clarification_success": None,
            "calls_after_stop": 0.0,
            "wrong_recipient": 0.0,
            "completed_without_receipt": 0,
            "conditions_ignored": 0,
            "repeated_effects": 0,
            "deeds_wrong": 0,
            "empty_answers": 0,
            "strikes_from_words": 0,
            "second_cards": 0,
            "misrouted": 0,
            "without_question": None,
            "false_alarms": 0,
            "strikes_mean": 0.0,
            "escalated": 0,
        }
    }


def test_kinds_take_turns_and_every_mode_gets_the_same_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Case] = []

    def run(cases: Sequence[Case], modes: Sequence[Mode], *_: Any) -> list[History]:
        seen.extend(cases)
        return [History(case.id, case, mode, "failed", "It failed.") for mode in modes for case in cases]

    monkeypatch.setattr(eval_show, "run", run)
    CliRunner().invoke(app, ["eval", "--kinds", "prose,garbage", "--chains", "10"])
    assert [case.id for case in seen] == ["prose/0", "garbage/0", "prose/1", "garbage/1"]


def test_requests_to_a_real_model_are_shown_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch)
    words = ["eval", "--model-url", "http://127.0.0.1:9/v1", "--model", "x", "--chains", "2"]
    done = CliRunner().invoke(app, words)
    assert "Tell Jane that the meeting is at three" in done.stdout
    assert "not done" in done.stdout
    assert "seconds" in json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)["strict"]
