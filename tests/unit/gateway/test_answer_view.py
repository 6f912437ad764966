"""The answer as it is read off the receipts (F1): what was done and by whom, what was not and
why.
"""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from haltpoint.chain.model.state import StepRun
from haltpoint.chain.model.statuses import StepStatus
from haltpoint.contracts.answers import Deed, FinalAnswer, NotDone, WhyNot
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.work.plans import Plan, Step
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.streams.wire import encode
from haltpoint.runtime.views.chain_view import view_of
from haltpoint.runtime.views.record import ChainRecord
from tests.support.stored import chain_record, stored_action

AT = 1767225600000
HEAD = {"status": "completed", "origin": "drafted", "created": str(AT), "updated": str(AT + 5000)}


def receipt(
    error: str | None = None,
    message: str = "it broke",
    *,
    no_effect: bool | None = None,
    **metadata: Any,
) -> str:
    told: JsonObject = {"success": True, "next_action": "continue"}
    if error is not None:
        fault = {"error_type": error, "message": message, "no_effect": no_effect}
        told = {"success": False, "next_action": "error", "error": fault}
    return json.dumps({**told, "metadata": metadata})


def deed(says: str = "Sent", target: str | None = "u1") -> JsonObject:
    return {"says": says, "target": target}


def action(tool: str = "send", arguments: str = '{"to":"u1"}', **fields: Any) -> JsonObject:
    return {"tool": tool, "args": arguments, **fields}


def record(*actions: JsonObject, chain: str = "c", **changes: Any) -> ChainRecord:
    """A chain of one step with these actions."""
    whole: JsonObject = {
        "id": chain,
        "head": HEAD,
        "task": Task(goal="go"),
        "plan": Plan(steps=(Step(id="s"),)),
        "runs": (StepRun(StepStatus.COMPLETED, actions=len(actions)),),
        "end": {"answer": "Done."},
        "actions": {
            name: stored_action(name, **one)
            for number, one in enumerate(actions, 1)
            if (name := f"{chain}.s.{number}")
        },
    }
    return chain_record(**{**whole, **changes})


def answer(*actions: dict[str, str], **changes: Any) -> FinalAnswer:
    found = view_of(record(*actions, **changes)).answer
    assert found is not None
    return found


def not_done(*actions: dict[str, str], **changes: Any) -> list[tuple[str | None, str, str]]:
    return [
        (one.action_id, one.why.value, one.message) for one in answer(*actions, **changes).not_done
    ]


def test_f1_a_chain_that_is_not_over_has_no_answer() -> None:
    assert view_of(record(head=HEAD | {"status": "executing"})).answer is None


@pytest.mark.parametrize(
    ("status", "end", "text"),
    [
        ("failed", {"error": {"code": "HP-211", "message": "The turns are used up."}}, ""),
        ("completed", {"answer": "  I did  it.\n\n"}, "  I did  it.\n\n"),
    ],
)
def test_f1_the_text_of_an_answer_is_the_models_alone(
    status: str, end: JsonObject, text: str
) -> None:
    assert answer(head=HEAD | {"status": status}, end=end).text == text


def test_f1_deeds_and_what_was_not_done_are_those_that_the_core_has_stored() -> None:
    deed = Deed(action_id="c.s.1", tool="send", says="Sent", at=datetime(2026, 1, 1, tzinfo=UTC))
    lost = NotDone(tool="pay", says="Pay", why=WhyNot.NOT_CALLED)
    end = json.loads(encode({"answer": "Done.", "deeds": (deed,), "not_done": (lost,)}))
    found = answer(action(receipt=receipt()), end=end)
    assert found == FinalAnswer(text="Done.", deeds=(deed,), not_done=(lost,))


def test_f1_of_a_submitters_literal_plan_they_are_read_off_the_receipts() -> None:
    worked = receipt(deed={"says": "Sent", "target": "u1"}, started_at=AT, duration_ms=9)
    found = answer(
        action(receipt=worked),
        action(receipt=receipt("NOT_FOUND", started_at=AT + 99)),
        head=HEAD | {"origin": "literal"},
    )
    assert [(deed.action_id, deed.at.timestamp()) for deed in found.deeds] == [
        ("c.s.1", (AT + 9) / 1000)
    ]
    assert [(line.action_id, line.why) for line in found.not_done] == [("c.s.2", WhyNot.FAILED)]
