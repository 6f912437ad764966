"""A destructive tool runs only after a person's yes to this very call (CONTRACT G1 to G3, R5), over
real processes.
"""

import time

from haltpoint.contracts.base import JsonObject
from tests.e2e.calling import called, ended, receipt_of
from tests.e2e.running import Running
from tests.e2e.test_command_line import document
from tests.support import PATIENCE


def asked_anew(system: Running, chain: JsonObject, questions: int = 2) -> JsonObject:
    """The chain when its second question is open, or a later one."""
    until = time.monotonic() + PATIENCE
    while len(chain["requests"]) < questions:
        assert time.monotonic() < until
        chain = document(system.command("chain", "show", chain["id"], "--json"))
    return chain


def test_g1_a_destructive_call_shows_its_preview_and_runs_when_it_is_approved(
    system: Running,
) -> None:
    asked = called(system, "delete_page", "page=news", code=3)
    (request,) = asked["requests"]
    assert (request["kind"], request["preview"]) == (
        "confirmation",
        "Deletes 'news': an empty page",
    )
    assert [reason["kind"] for reason in request["reasons"]] == ["destructive"]
    assert system.written(asked["id"]) == []
    done = ended(system, asked, "approve")
    assert (done["status"], system.written(asked["id"])) == ("completed", ["deleted news after 0"])
    approval = receipt_of(done)["metadata"]["approval"]
    assert (approval["digest"], approval["by"]) == (request["digest"], "admin")


def test_g1_a_denied_call_does_not_run(system: Running) -> None:
    asked = called(system, "delete_page", "page=kept", code=3)
    done = ended(system, asked, "reject", "keep it", code=1)
    assert receipt_of(done)["error"]["error_type"] == "DENIED"
    assert system.written(asked["id"]) == []


def test_g3_a_preview_that_says_something_else_now_is_asked_about_anew_with_both(
    system: Running,
) -> None:
    page = system.outbox.path.with_name("draft.txt")
    page.write_text("two lines")
    asked = called(system, "delete_page", "page=draft", code=3)
    page.write_text("a whole book")
    system.command("answer", asked["requests"][0]["id"], "approve")
    again = asked_anew(system, asked)
    new = next(one for one in again["requests"] if one["status"] == "open")
    assert (new["status"], new["approved_preview"]) == ("open", "Deletes 'draft': two lines")
    assert new["preview"] == "Deletes 'draft': a whole book"
    assert [reason["kind"] for reason in new["reasons"]] == ["destructive", "changed"]
    assert system.written(asked["id"]) == []
    card = system.command("inbox").stdout
    assert "shown at the last yes:" in card
    assert "as it would run now:" in card
    assert ended(system, again, "approve")["status"] == "completed"
    assert system.written(asked["id"]) == ["deleted draft after 0"]


def test_e5_a_call_in_doubt_that_did_not_happen_needs_a_new_yes(system: Running) -> None:
    given = ("user=ada", "password=secret", "code=1234", "pin=1", "note=hello")
    asked = called(system, "sign_in", *given, code=3)
    system.command("answer", asked["requests"][0]["id"], "approve")
    doubted = asked_anew(system, asked)
    assert doubted["requests"][1]["kind"] == "in_doubt"
    runs = system.written(asked["id"])
    assert len(runs) == 1
    system.command("answer", doubted["requests"][1]["id"], "not-happened")
    again = asked_anew(system, asked, 3)
    assert [reason["kind"] for reason in again["requests"][2]["reasons"]] == [
        "destructive",
        "repeat",
    ]
    assert system.written(asked["id"]) == runs
    ended(system, again, "reject", "enough", code=1)
    assert system.written(asked["id"]) == runs


def test_g2_an_edit_that_changes_the_preview_is_shown_again(system: Running) -> None:
    asked = called(system, "delete_page", "page=a", code=3)
    system.command("answer", asked["requests"][0]["id"], "approve", '{"page": "b"}')
    again = asked_anew(system, asked)
    new = next(one for one in again["requests"] if one["status"] == "open")
    assert (new["arguments"], new["preview"]) == ({"page": "b"}, "Deletes 'b': an empty page")
    card = [line.strip() for line in system.command("inbox").stdout.splitlines()]
    shown = card.index("shown at the last yes:")
    assert card[shown : shown + 4] == [
        "shown at the last yes:",
        "Deletes 'a': an empty page",
        "as it would run now:",
        "Deletes 'b': an empty page",
    ]
    assert 'delete_page(page="b")' in card
    assert "approved:" not in card
    done = ended(system, again, "approve")
    assert system.written(asked["id"]) == ["deleted b after 0"]
    approval = receipt_of(done)["metadata"]["approval"]
    assert (approval["proposed"], approval["edited_by"]) == ('{"page":"a"}', "admin")
