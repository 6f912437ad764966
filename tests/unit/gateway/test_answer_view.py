"""The answer as it is read off the receipts (F1): what was done and by whom, what was not and why."""

import json
from typing import Any

import pytest
from msgspec import structs

from haltpoint.chain.checks.contract import NOT_CONFIRMED
from haltpoint.chain.model.state import StepRun
from haltpoint.chain.model.statuses import StepStatus
from haltpoint.contracts.answers import FinalAnswer, NotDone, WhyNot
from haltpoint.contracts.people.humans import Question, RequestKind, RequestStatus
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import Plan, Step
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store.rows import StoredRequest
from haltpoint.runtime.streams.wire import encode
from haltpoint.runtime.views.chain_view import view_of
from haltpoint.runtime.views.log_view import LogLine
from haltpoint.runtime.views.record import ChainRecord
from tests.support.stored import stored_action

AT = 1767225600000
HEAD = {"status": "completed", "origin": "drafted", "created": str(AT), "updated": str(AT + 5000)}


def receipt(
    error: str | None = None, message: str = "it broke", *, no_effect: bool | None = None, **metadata: Any
) -> str:
    told: dict[str, Any] = {"success": True, "next_action": "continue"}
    if error is not None:
        fault = {"error_type": error, "message": message, "no_effect": no_effect}
        told = {"success": False, "next_action": "error", "error": fault}
    return json.dumps({**told, "metadata": metadata})


def deed(says: str = "Sent", target: str | None = "u1") -> dict[str, Any]:
    return {"says": says, "target": target}


def action(tool: str = "send", arguments: str = '{"to":"u1"}', **fields: Any) -> dict[str, Any]:
    return {"tool": tool, "args": arguments, **fields}


def record(*actions: dict[str, Any], chain: str = "c", **changes: Any) -> ChainRecord:
    """A chain of one step with these actions."""
    whole: dict[str, Any] = {
        "id": chain,
        "head": HEAD,
        "task": Task(goal="go"),
        "plan": Plan(steps=(Step(id="s"),)),
        "runs": (StepRun(StepStatus.COMPLETED, actions=len(actions)),),
        "end": {"answer": "Done."},
        "actions": {
            name: stored_action(name, **one) for number, one in enumerate(actions, 1) if (name := f"{chain}.s.{number}")
        },
    }
    return ChainRecord(**{**whole, **changes})


def answer(*actions: dict[str, str], **changes: Any) -> FinalAnswer:
    found = view_of(record(*actions, **changes)).answer
    assert found is not None
    return found


def not_done(*actions: dict[str, str], **changes: Any) -> list[tuple[str | None, str, str]]:
    return [(one.action_id, one.why.value, one.message) for one in answer(*actions, **changes).not_done]


@pytest.mark.parametrize(("task", "listed"), [("refund", []), ("repair", ["c.s.1"])])
def test_f1_a_task_that_one_agent_refuses_and_another_one_does_is_done(task: str, listed: list[str]) -> None:
    spent: dict[str, int] = {}
    said = {"refund": '{"task":"Refund"}', "repair": '{"task":"Repair"}'}
    no = receipt("VALIDATION", "not my work", agent="billing", spent=spent)
    first = action("billing", said["refund"], receipt=no)
    then = action("technical", said[task], receipt=receipt(agent="technical", spent=spent))
    assert [one[0] for one in not_done(first, then)] == listed
    assert [one[0] for one in not_done(then, first)] == ["c.s.2"]


def test_f1_a_chain_that_is_not_over_has_no_answer() -> None:
    assert view_of(record(head=HEAD | {"status": "executing"})).answer is None


@pytest.mark.parametrize(
    ("status", "end", "text"),
    [
        ("failed", {"error": {"code": "HP-203", "message": "The turns are used up."}}, "The turns are used up."),
        ("cancelled", {}, "It was stopped before it was complete."),
    ],
)
def test_f1_a_chain_that_ends_without_words_says_why(status: str, end: dict[str, Any], text: str) -> None:
    found = answer(action(receipt=receipt(deed=deed())), head=HEAD | {"status": status}, end=end)
    assert (found.text, len(found.deeds)) == (text, 1)


def test_f1_a_deed_says_what_was_done_to_whom_when_and_with_which_warnings() -> None:
    done = (("action.completed", {"action_id": "c.s.1"}),)
    told = json.loads(receipt(deed=deed())) | {"warnings": ["slow"]}
    found = answer(action(receipt=json.dumps(told)), log=(LogLine(0, AT + 7, "x", None, done),))
    (one,) = found.deeds
    assert (one.action_id, one.tool, one.says, one.target) == ("c.s.1", "send", "Sent", "u1")
    assert (one.at.timestamp(), one.by, one.warnings) == ((AT + 7) / 1000, None, ("slow",))
    assert found.text == "Done."


def test_f1_what_the_model_is_told_of_its_call_is_no_warning_of_a_deed() -> None:
    told = json.loads(receipt(deed=deed())) | {"warnings": [NOT_CONFIRMED, "slow"]}
    (one,) = answer(action(receipt=json.dumps(told))).deeds
    assert one.warnings == ("slow",)


def test_f1_what_was_not_done_has_the_name_that_a_deed_of_its_tool_has() -> None:
    plain = ToolSpec(name="send", description="Send a message. To one person.")
    said = structs.replace(plain, says="Message to {to}", parameters={"properties": {"to": {"type": "string"}}})
    never = {"step_id": "s", "tool": "send", "arguments": '{"to":"u2"}', "reason": "the chain failed"}
    log = (LogLine(0, AT, "x", None, (("action.never_executed", never),)),)
    for spec, words in ((plain, "Send a message: to"), (said, "Message to")):
        found = answer(action(receipt=receipt("SERVER")), specs={"send": spec}, log=log)
        assert [one.says for one in found.not_done] == [f'{words} "u1"', f'{words} "u2"']


def test_f1_a_receipt_that_came_when_the_chain_was_over_has_its_workers_time() -> None:
    (one,) = answer(action(receipt=receipt(deed=deed(), started_at=AT, duration_ms=9))).deeds
    assert one.at.timestamp() == (AT + 9) / 1000
    (other,) = answer(action(resolution=receipt(deed=deed()), resolution_data="{}")).deeds
    assert other.at.timestamp() == (AT + 5000) / 1000


@pytest.mark.parametrize(("decision", "by"), [("approve", "ann"), ("reject", None)])
def test_f1_a_deed_names_who_approved_it(decision: str, by: str | None) -> None:
    asked = Question(
        request_id="c.r1", kind=RequestKind.CONFIRMATION, question="?", step_id="s", action_id="c.s.1", tool="send",
        asked_at=AT, deadline=AT,
    )  # fmt: skip
    said = json.dumps({"kind": "confirmation", "decision": decision})
    text = encode(asked)
    stored = StoredRequest("c.r1", RequestStatus.ANSWERED, text, at=AT, answer=said, by="ann")
    (one,) = answer(action(receipt=receipt(deed=deed())), requests={"c.r1": stored}).deeds
    assert one.by == by

    below = record(action(receipt=receipt(deed=deed())), chain="c~s-1")
    skill = action("tell", receipt=receipt(), child="c~s-1")
    (one,) = answer(skill, requests={"c.r1": stored}, children={"c~s-1": below}).deeds
    assert one.by == by


def test_f1_of_a_skill_the_calls_inside_are_the_deeds() -> None:
    below = record(action(receipt=receipt(deed=deed())), action(receipt=receipt("NOT_FOUND")), chain="c~s-1")
    skill = action("tell", receipt=receipt("SERVER"), child="c~s-1")
    found = answer(skill, children={"c~s-1": below})
    assert [one.action_id for one in found.deeds] == ["c~s-1.s.1"]
    assert [one.action_id for one in found.not_done] == ["c~s-1.s.2"]


@pytest.mark.parametrize(("error", "why"), [("IN_DOUBT", "in_doubt"), ("DENIED", "denied"), ("NOT_FOUND", "failed")])
def test_f1_the_same_call_again_that_was_not_done_is_said_although_the_first_was(error: str, why: str) -> None:
    found = answer(action(receipt=receipt(deed=deed())), action(receipt=receipt(error)))
    assert [one.action_id for one in found.deeds] == ["c.s.1"]
    assert [(one.action_id, one.why.value) for one in found.not_done] == [("c.s.2", why)]


def test_f1_a_call_that_failed_and_succeeded_later_is_done() -> None:
    found = answer(action(receipt=receipt("NOT_FOUND")), action(receipt=receipt(deed=deed())))
    assert ([one.action_id for one in found.deeds], found.not_done) == (["c.s.2"], ())


def test_f1_a_skill_that_was_denied_after_it_had_succeeded_once_is_said() -> None:
    below = record(action(receipt=receipt(deed=deed())), chain="c~s-1")
    skill, denied = action("tell", receipt=receipt(), child="c~s-1"), action("tell", receipt=receipt("DENIED"))
    found = answer(skill, denied, children={"c~s-1": below})
    assert [(one.action_id, one.why.value) for one in found.not_done] == [("c.s.2", "denied")]


def test_f1_a_skill_that_failed_by_itself_says_so_and_one_that_was_stopped_too() -> None:
    below = record(chain="c~s-1")
    assert not_done(action("tell", receipt=receipt("SERVER"), child="c~s-1"), children={"c~s-1": below}) == [
        ("c.s.1", "failed", "it broke")
    ]
    assert not_done(action("tell", child="c~s-1"), children={"c~s-1": below}) == [
        ("c.s.1", "failed", "It was stopped before it was complete.")
    ]


@pytest.mark.parametrize(
    ("fields", "why", "message"),
    [
        ({"receipt": receipt("NOT_FOUND")}, "failed", "it broke"),
        ({"receipt": receipt("DENIED")}, "denied", "it broke"),
        ({"receipt": receipt("BLOCKED")}, "failed", "it broke"),
        ({"resolution": receipt("IN_DOUBT"), "resolution_data": "{}"}, "in_doubt", "it broke"),
        (
            {"in_doubt": receipt("IN_DOUBT")},
            "in_doubt",
            "it broke",
        ),
        ({}, "in_doubt", "It was running when the chain ended; whether it happened is unknown."),
    ],
)
def test_f1_what_was_not_done_says_why(fields: dict[str, str], why: str, message: str) -> None:
    (one,) = answer(action(**fields)).not_done
    assert one == NotDone(action_id="c.s.1", tool="send", says='Send: to "u1"', why=WhyNot(why), message=message)


def test_f1_a_call_that_only_reads_and_was_running_at_the_end_is_not_in_doubt() -> None:
    found = answer(action("look"), specs={"look": ToolSpec(name="look", read_only=True)})
    assert [(one.why.value, one.message) for one in found.not_done] == [
        ("failed", "It was stopped before it was complete.")
    ]


def test_f1_a_question_that_nobody_answered_leaves_the_call_unexecuted() -> None:
    asks = {"success": True, "next_action": "confirmation_needed"}
    asks |= {"confirmation": {"action": "send", "target": {"id": "u1"}, "message": "Really?"}}
    words = "A person was asked about it, and the chain ended before an answer came."
    assert not_done(action(receipt=json.dumps(asks))) == [("c.s.1", "never_executed", words)]


def test_f1_a_question_of_the_model_is_no_call() -> None:
    assert not_done(action("askHuman")) == []


def test_f1_calls_that_never_ran_are_not_done_unless_they_ran_later_or_only_read() -> None:
    def dropped(tool: str, arguments: str) -> tuple[str, dict[str, Any]]:
        told = {"step_id": "s", "tool": tool, "arguments": arguments, "reason": "a question was open"}
        return "action.never_executed", told

    calls = (
        dropped("send", '{"to":"u2"}'),
        dropped("send", '{"to":"u1"}'),
        dropped("look", "{}"),
        dropped("send", "{"),
    )
    found = answer(
        action(receipt=receipt(deed=deed())),
        action("look", receipt=receipt()),
        action("look", '{"q":"x"}', receipt=receipt("NOT_FOUND")),
        log=(LogLine(0, AT, "x", None, (*calls, *calls)),),
    )
    assert [(one.says, one.why.value, one.message) for one in found.not_done] == [
        ('Send: to "u2"', "never_executed", "a question was open"),
        ("Send", "never_executed", "a question was open"),
    ]


def test_f1_what_the_goal_asks_for_and_nobody_did_stands_beside_it() -> None:
    missing = {"tool": "pay", "says": "pay her", "why": "not_called"}
    found = answer(end={"answer": "Done.", "not_done": [missing]})
    assert (found.not_done[0].why, found.not_done[0].message) == (
        WhyNot.NOT_CALLED,
        "It was due, and no call did it.",
    )


def test_f1_a_call_that_was_not_reached_says_so() -> None:
    missing = {"tool": "pay", "says": "Pay", "why": "never_executed"}
    (one,) = answer(end={"not_done": [missing]}).not_done
    assert (one.why, one.message) == (WhyNot.NEVER_EXECUTED, "The chain ended before this call.")


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"step_id": "s", "tool": "pay", "reason": "a question was open"}, ["never_executed", "never_executed"]),
        ({"step_id": "x", "tool": "pay", "reason": "belongs to s"}, ["never_executed", "never_executed"]),
        ({"step_id": "x", "tool": "pay", "reason": "no"}, ["never_executed"] * 3),
        ({"step_id": "s", "tool": "look", "reason": "no"}, ["never_executed"] * 3 + ["not_called"]),
    ],
)
def test_f1_of_what_was_not_reached_a_dropped_call_of_the_same_step_tells(told: dict[str, str], why: list[str]) -> None:
    calls = [{"tool": "send or pay", "says": "Pay", "why": "never_executed", "action_id": f"c.{at}.1"} for at in "st"]
    goal = {"tool": "pay", "says": "pay her", "why": "not_called"}
    log = (LogLine(0, AT, "x", None, (("action.never_executed", told | {"arguments": "{}"}),)),)
    found = answer(end={"not_done": [*calls, goal]}, log=log).not_done
    assert ([one.why.value for one in found], {one.action_id for one in found}) == (why, {None})


def test_c11_what_was_left_out_stands_there_with_its_reason() -> None:
    missing = {"tool": "pay", "says": "Pay", "why": "left_out", "message": "there is no bill"}
    (line,) = answer(end={"not_done": [missing]}).not_done
    assert (line.why, line.message) == (WhyNot.LEFT_OUT, "there is no bill")


@pytest.mark.parametrize("fields", [{"receipt": receipt("NOT_FOUND")}, {"receipt": receipt(deed=deed())}])
def test_f1_the_text_is_the_models_to_the_byte(fields: dict[str, str]) -> None:
    words = "  I did  it.\n\n"
    assert answer(action(**fields), end={"answer": words}).text == words


def test_f1_a_chain_without_words_says_none() -> None:
    assert answer(end={}).text == ""
