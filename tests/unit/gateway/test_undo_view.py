"""What a person's undo of a chain does, worked out from its record and those of earlier undos
(CONTRACT E7).
"""

from typing import Any

from haltpoint.contracts.base import MAX_STEPS, JsonObject
from haltpoint.contracts.views.undoing import UndoView
from haltpoint.contracts.work.plans import OnFailure
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.views.record import ChainRecord
from haltpoint.runtime.views.undo_view import undoing
from tests.unit.gateway import test_answer_view as answers
from tests.unit.gateway.test_answer_view import action, receipt

HEAD = answers.HEAD | {"origin": "literal"}
TOOLS = ("send", "send~undo", "pay")
WORKED, FAILED, DOUBT = receipt(), receipt("PERMISSION"), receipt("IN_DOUBT")


def record(*calls: JsonObject, **changes: Any) -> ChainRecord:
    return answers.record(*calls, **{"head": HEAD, **changes})


def deed(says: str) -> JsonObject:
    return {"says": says, "target": "u1"}


def sent(at: int = 0, tool: str = "send") -> JsonObject:
    """A call with an effect, which ended so many ms after the others."""
    return action(tool, receipt=receipt(deed=deed(f"Did {at}"), started_at=1_000 + at))


def undo(number: int, *tried: tuple[str, str | None], status: str = "completed") -> ChainRecord:
    """An undo that has tried these actions, each with its receipt."""
    calls = [action("send~undo", f'{{"action_id":"{name}"}}', receipt=told) for name, told in tried]
    return record(*calls, chain=f"c~undo-{number}", head=HEAD | {"status": status})


def ids(view: UndoView) -> tuple[list[str], list[str], list[tuple[str | None, str]]]:
    undoes, undone = ([one.action_id for one in deeds] for deeds in (view.undoes, view.undone))
    return undoes, undone, [(one.action_id, one.why.value) for one in view.left]


def test_e7_the_last_deed_is_undone_first_and_one_that_fails_stops_no_other() -> None:
    found = undoing(
        record(sent(7), sent(3), sent(7), task=Task(goal="go", tenant="acme", user="ann")),
        (),
        TOOLS,
    )
    assert found.view.chain_id == "c~undo-1"
    assert ids(found.view) == (["c.s.3", "c.s.1", "c.s.2"], [], [])
    assert found.task is not None
    assert (found.task.tenant, found.task.user) == ("acme", "ann")
    assert found.task.goal == "Undo: Did 7; Did 7; Did 3"
    assert found.task.plan is not None
    calls = [call for step in found.task.plan.steps for call in step.actions]
    assert [call.arguments["says"] for call in calls] == ["Did 7", "Did 7", "Did 3"]
    assert [(call.tool, call.arguments["action_id"]) for call in calls] == [
        ("send~undo", "c.s.3"),
        ("send~undo", "c.s.1"),
        ("send~undo", "c.s.2"),
    ]
    assert {step.on_failure for step in found.task.plan.steps} == {OnFailure.CONTINUE}


def test_e7_deeds_of_the_chains_below_are_undone_too() -> None:
    inside = [
        {
            "action_id": f"c~s-2.s.{n}",
            "tool": "send",
            "says": "Sent",
            "at": f"1970-01-01T00:00:01.00{at}Z",
        }
        for n, at in ((1, 5), (2, 9))
    ]
    whole = record(
        sent(7), action("tell_all", receipt=receipt(below={"deeds": inside}), child=True)
    )
    assert ids(undoing(whole, (), TOOLS).view)[0] == ["c~s-2.s.2", "c.s.1", "c~s-2.s.1"]


def test_e7_what_has_no_undo_and_what_is_in_doubt_is_listed() -> None:
    found = undoing(record(sent(), sent(1, "pay"), action("pay", in_doubt=DOUBT)), (), TOOLS)
    assert ids(found.view) == (["c.s.1"], [], [("c.s.2", "no_undo"), ("c.s.3", "in_doubt")])


def test_e7_undoing_twice_undoes_what_is_still_open() -> None:
    whole = record(sent(1), sent(2), sent(3), sent(4))
    tried = [("c.s.4", WORKED), ("c.s.3", FAILED), ("c.s.2", DOUBT)]
    found = undoing(whole, [undo(1, *tried)], TOOLS)
    assert found.view.chain_id == "c~undo-2"
    assert ids(found.view) == (["c.s.3", "c.s.1"], ["c.s.4"], [("c.s.2", "in_doubt")])
    again = undoing(whole, [undo(1, *tried), undo(2, ("c.s.3", WORKED), ("c.s.1", WORKED))], TOOLS)
    assert (again.view.chain_id, again.task) == (None, None)
    assert ids(again.view) == ([], ["c.s.4", "c.s.3", "c.s.1"], [("c.s.2", "in_doubt")])


def test_e7_while_an_undo_runs_none_begins_beside_it() -> None:
    found = undoing(record(sent(1), sent(2)), [undo(1, ("c.s.2", None), status="executing")], TOOLS)
    assert (found.view.chain_id, found.task) == ("c~undo-1", None)
    assert ids(found.view) == (["c.s.2", "c.s.1"], [], [])


def test_e7_an_undo_that_was_stopped_leaves_its_last_call_in_doubt() -> None:
    found = undoing(record(sent(1), sent(2)), [undo(1, ("c.s.2", None), status="cancelled")], TOOLS)
    assert ids(found.view) == (["c.s.1"], [], [("c.s.2", "in_doubt")])


def test_e7_a_deed_whose_undo_is_no_longer_served_stays() -> None:
    found = undoing(record(sent(1)), [undo(1, ("c.s.1", FAILED))], ("send",))
    assert (found.view.chain_id, ids(found.view)) == (None, ([], [], [("c.s.1", "no_undo")]))


def test_e7_one_undo_has_as_many_steps_as_a_plan() -> None:
    found = undoing(record(*map(sent, range(MAX_STEPS + 1))), (), TOOLS)
    assert len(found.view.undoes) == MAX_STEPS
    assert found.view.undoes[0].action_id == f"c.s.{MAX_STEPS + 1}"
