import json
from typing import Any

import pytest

from haltpoint.chain.model.state import StepRun
from haltpoint.chain.model.statuses import StepStatus
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.doors import door
from haltpoint.contracts.people.humans import Question, RequestKind, RequestStatus
from haltpoint.contracts.results import Option
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store.log_lines import LogLine, decode_line
from haltpoint.runtime.store.rows import StoredRequest
from haltpoint.runtime.streams.wire import encode
from haltpoint.runtime.views.chain_view import view_of
from haltpoint.runtime.views.record import ChainRecord
from tests.support.stored import chain_record, stored_action

PLAN = door(Plan).validate_python(
    {
        "steps": [
            {"id": "find", "required_tools": ["lookup_contacts"]},
            {"id": "send", "required_tools": ["send_message"], "dependencies": ["find"]},
            {"id": "think", "description": "say it nicely"},
        ]
    }
)
HEAD = {
    "status": "executing",
    "created": "1767225600000",
    "updated": "1767225601500",
    "deadline": "1767830400000",
}
OK = json.dumps({"success": True, "next_action": "continue"})
DOUBT = json.dumps(
    {
        "success": False,
        "next_action": "error",
        "error": {"error_type": "IN_DOUBT", "message": "it broke"},
    }
)
ASKS = {
    "success": True,
    "next_action": "clarification_needed",
    "clarification": {
        "type": "contact",
        "question": "Which John?",
        "options": [{"id": "u1", "title": "John Smith"}],
    },
}


def record(**changes: Any) -> ChainRecord:
    whole: JsonObject = {
        "id": "c1",
        "head": HEAD,
        "task": Task(goal="Tell John", plan=PLAN),
        "plan": PLAN,
        "runs": (StepRun(), StepRun(), StepRun()),
    }
    if "actions" in changes:
        changes["actions"] = {
            name: stored_action(name, **fields) for name, fields in changes["actions"].items()
        }
    return chain_record(**{**whole, **changes})


def test_a_plan_that_is_written_between_the_reads_of_a_chain_has_no_steps_yet() -> None:
    view = view_of(record(runs=()))
    assert (view.steps, view.current) == ((), None)


def test_a_step_shows_its_actions_with_the_receipt_that_counts() -> None:
    resolution = json.dumps({"contact_id": "u1", "selected": {"id": "u1"}})
    view = view_of(
        record(
            runs=(
                StepRun(StepStatus.COMPLETED, actions=1, last_ok=1),
                StepRun(StepStatus.IN_PROGRESS, actions=1),
                StepRun(),
            ),
            actions={
                "c1.find.1": {
                    "tool": "lookup_contacts",
                    "args": '{"query":"John"}',
                    "receipt": json.dumps(ASKS),
                    "resolution": OK,
                    "resolution_data": resolution,
                },
                "c1.send.1": {"tool": "send_message", "args": '{"recipient_id":"u1"}'},
            },
        )
    )
    find, send, _ = view.steps
    assert find.actions[0].arguments == {"query": "John"}
    assert find.actions[0].status == "done"
    assert find.actions[0].receipt is not None
    assert find.actions[0].receipt.data["contact_id"] == "u1"
    assert find.result == json.loads(resolution)
    assert send.actions[0].status == "dispatched"
    assert send.actions[0].receipt is None
    assert send.validation_status is None
    assert view.current is not None
    assert (view.current.step_id, view.current.tool, view.current.index) == (
        "send",
        "send_message",
        1,
    )


@pytest.mark.parametrize("word", ["receipt", "in_doubt", "earlier"])
def test_h1_an_action_shows_the_arguments_that_its_hooks_left(word: str) -> None:
    """Also those of a doubt, and of a skill, whose receipt is its chain's: the worker's word is put
    aside.
    """
    said = json.dumps(
        {"success": True, "next_action": "continue", "metadata": {"arguments": '{"query":"Jane"}'}}
    )
    asked = {
        "tool": "lookup_contacts",
        "args": '{"query":"John"}',
        "attempt": 2,
        word: said,
    }
    plain = {
        "tool": "lookup_contacts",
        "args": "{}",
        "attempt": 1,
        "receipt": OK,
        "earlier": OK,
    }
    view = view_of(
        record(
            runs=(StepRun(StepStatus.IN_PROGRESS, actions=2), StepRun(), StepRun()),
            actions={"c1.find.1": asked, "c1.find.2": plain},
        )
    )
    one, other = view.steps[0].actions
    assert (one.arguments, one.ran, other.ran) == ({"query": "John"}, {"query": "Jane"}, None)


def test_the_log_tells_what_never_ran_and_what_was_corrected() -> None:
    line = json.dumps(
        [
            1767225600000,
            "tool.completed",
            [
                [
                    "contract.corrected",
                    {"step_id": "find", "violation": "no_call", "message": "call a tool"},
                ],
                [
                    "action.never_executed",
                    {
                        "tool": "send",
                        "reason": "a person was asked first",
                        "arguments": '{"to":"u1"}',
                    },
                ],
                [
                    "action.never_executed",
                    {"tool": "send", "reason": "a person was asked first", "arguments": '{"to":"u'},
                ],
            ],
            "c1.find.1",
        ]
    )
    view = view_of(record(log=(decode_line("c1", line.encode()),)))
    assert view.never_executed[0]["reason"] == "a person was asked first"
    assert [one["arguments"] for one in view.never_executed] == [{"to": "u1"}, '{"to":"u']
    assert view.steps[0].violations[0].violation == "no_call"
    assert view.steps[0].violations[0].correction == "call a tool"
    assert view.steps[1].violations == ()


def asked(number: int = 1, question: str = "Which John?") -> StoredRequest:
    asked = Question(
        request_id=f"c1.r{number}",
        kind=RequestKind.CLARIFICATION,
        question=question,
        step_id="find",
        action_id="c1.find.1",
        tool="lookup_contacts",
        options=(Option(id="u1", title="John Smith"),),
        arguments='{"query":"John"}',
        asked_at=1767225600000,
        deadline=1767312000000,
    )
    return StoredRequest(asked.request_id, RequestStatus.OPEN, encode(asked).decode())


def test_times_are_those_of_the_log_and_an_action_ends_with_its_answer_or_its_last_run() -> None:
    find, about = {"step_id": "find"}, {"step_id": "find", "action_id": "c1.find.1"}
    log: list[tuple[int, list[Any]]] = [
        (1, [["step.started", find], ["action.dispatched", about]]),
        (6, [["action.completed", about], ["request.opened", {**about, "request_id": "c1.r1"}]]),
        (9, [["request.answered", {"request_id": "c1.r1"}], ["action.dispatched", about]]),
        (12, [["action.completed", about], ["request.opened", {**about, "request_id": "c1.r2"}]]),
        (
            20,
            [
                ["request.answered", {"request_id": "c1.r2"}],
                ["step.completed", {**find, "validation_status": "passed"}],
            ],
        ),
    ]

    def seconds(lines: int) -> list[float | None]:
        told = tuple(
            decode_line("c1", encode([at * 1000, "x", facts])) for at, facts in log[:lines]
        )
        run = StepRun(StepStatus.COMPLETED, actions=1, last_ok=1)
        actions = {"c1.find.1": {"tool": "lookup_contacts", "receipt": OK}}
        step = view_of(record(runs=(run, StepRun(), StepRun()), actions=actions, log=told)).steps[0]
        (action,) = step.actions
        assert (step.validation_status == "passed") is bool(step.ended_at)
        times = (step.started_at, action.started_at, action.ended_at, step.ended_at)
        return [None if at is None else round(at.timestamp(), 3) for at in times]

    assert seconds(1) == [1, 1, None, None]
    assert seconds(3) == [1, 1, None, None], "it runs again"
    assert seconds(5) == [1, 1, 20, 20]


def test_a_step_that_was_skipped_has_its_reason_and_its_end_and_no_words_of_the_model() -> None:
    find = {"step_id": "find"}
    lines = [
        (0, [("step.started", find)]),
        (500, [("step.skipped", {**find, "reason": "she changed her mind"})]),
    ]
    log = tuple(LogLine(int(HEAD["created"]) + at, "x", facts) for at, facts in lines)
    step, *_ = view_of(
        record(runs=(StepRun(StepStatus.SKIPPED), StepRun(), StepRun()), log=log)
    ).steps
    assert (step.status, step.reason, step.result) == ("skipped", "she changed her mind", None)
    assert step.ended_at is not None
