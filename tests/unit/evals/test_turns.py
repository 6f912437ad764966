"""One action in a turn against several: the model says all that is left, and the figures are computed."""

import json

import pytest
from typer.testing import CliRunner

from haltpoint.cli.commands import eval_show
from haltpoint.cli.main import app
from haltpoint.evals.turns import SETTINGS, TASKS, AllAtOnce, Figures, Played, figures
from haltpoint.testing.conversation import Conversation
from haltpoint.testing.script import SaidCall

READS, SENDS = TASKS[0], TASKS[-1]


def said(talk: Conversation) -> tuple[SaidCall, ...]:
    found = AllAtOnce().next(talk)
    assert found is not None
    assert found[1].say is not None
    return found[1].say.calls


def ok(**data: str) -> dict[str, object]:
    return {"success": True, "data": data}


def test_the_model_proposes_all_reads_that_are_left_and_then_says_words() -> None:
    results = [("read_file", ok(text="x"))] * 3
    for count in range(4):
        calls = said(Conversation("reason", goal=READS.goal, results=tuple(results[:count])))
        assert [one.arguments["path"] for one in calls] == list(READS.files[count:])


def test_the_model_makes_up_an_id_that_it_cannot_know_yet_and_takes_the_one_that_was_found() -> None:
    first = said(Conversation("reason", goal=SENDS.goal))
    assert [one.name for one in first] == ["lookup_contacts", "send_message"]
    assert first[1].arguments["recipient_id"] == "user_00000"
    found = ("lookup_contacts", ok(contact_id="user_h91"))
    (send,) = said(Conversation("reason", goal=SENDS.goal, results=(found,)))
    assert send.arguments["recipient_id"] == "user_h91"
    refused = ("send_message", {"success": False, "error": {"message": "no"}})
    assert len(said(Conversation("reason", goal=SENDS.goal, results=(found, refused)))) == 1
    assert said(Conversation("reason", goal=SENDS.goal, results=(found, ("send_message", ok())))) == ()


def test_a_goal_of_another_set_is_not_answered() -> None:
    assert AllAtOnce().next(Conversation("reason", goal="Water the plants")) is None


PLAYED = [Played(3, 900, 0.5, 1, done=True), Played(2, 300, 0.25, 0, done=False)]


def test_the_figures_are_computed_from_what_was_played() -> None:
    assert figures(PLAYED) == Figures(tasks=2, done=1, turns=2.5, tokens=600.0, seconds=0.375, violations=1)


@pytest.mark.parametrize("json_wanted", [True, False])
def test_the_command_shows_what_it_has_measured_under_each_setting(
    monkeypatch: pytest.MonkeyPatch, json_wanted: bool
) -> None:
    monkeypatch.setattr(eval_show, "run_turns", lambda setting: PLAYED * setting)
    done = CliRunner().invoke(app, ["eval", "--turns", *(["--json"] if json_wanted else [])])
    assert done.exit_code == 0
    if json_wanted:
        told = json.loads(done.stdout)
        assert told == {str(setting): figures(PLAYED * setting).as_json() for setting in SETTINGS}
    else:
        assert "set turns" in done.stdout
        assert [line.split()[-2:] for line in done.stdout.splitlines() if "violations" in line] == [["1", "4"]]
