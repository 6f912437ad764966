"""CONTRACT B7: `confirmed` is set by the runtime alone; a model's word for it is dropped, a plan's
is refused.
"""

from typing import Any

import pytest

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.tasks import Mode, Task
from tests.support.builders import call, confirms, plan, tool_step, writing
from tests.unit.chain.story import Story, submitted

FORM: JsonObject = {
    "type": "object",
    "properties": {"id": {"type": "string"}},
    "required": ["id"],
    "additionalProperties": False,
}
DELETE = writing("delete", parameters=FORM)
BOOK = writing("book", parameters={**FORM, "properties": {**FORM["properties"], "confirmed": {}}})
SURE = confirms("delete", digest="abc")


def proposing(mode: Mode = Mode.STRICT, tool: ToolSpec = DELETE, **arguments: Any) -> Story:
    told = submitted(Task(goal="delete a", mode=mode), tool)
    told.plans(tool_step("do", call(tool.name)))
    told.calls(tool.name, id="a", **arguments)
    return told


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("said", [True, False, "yes"])
def test_b7_a_proposal_loses_confirmed_without_a_strike(mode: Mode, said: Any) -> None:
    told = proposing(mode, confirmed=said)

    (order,) = told.dispatches
    assert (order.action.arguments, order.approval) == ('{"id":"a"}', None)
    assert told.strikes == 0
    assert told.told("contract.violated") == []


def test_b7_what_else_is_wrong_with_the_call_is_refused() -> None:
    told = proposing(confirmed=True, colour="red")

    assert told.dispatches == []
    assert "colour" in told.correction
    assert "confirmed" not in told.correction


@pytest.mark.parametrize("tool", [DELETE, BOOK])
def test_b7_a_call_without_it_or_with_a_word_of_its_own_runs_as_it_is(tool: ToolSpec) -> None:
    told = proposing(tool=tool, confirmed=True) if tool is BOOK else proposing(tool=tool)

    (order,) = told.dispatches
    assert ("confirmed" in order.action.arguments) == (tool is BOOK)


def test_e4_a_denied_call_stays_denied_when_the_model_says_that_it_is_confirmed() -> None:
    told = proposing()
    told.result(SURE)
    told.reject("no")

    told.calls("delete", id="a", confirmed=True)

    assert len(told.dispatches) == 1
    assert told.thought.corrections


def test_c1_a_literal_plan_that_brings_confirmed_is_refused_with_the_reason() -> None:
    told = submitted(
        Task(plan=plan(tool_step("do", call("delete", id="a", confirmed=True)))), DELETE
    )

    assert told.status == "failed"
    assert (
        "leave out confirmed: it is set only when a person has approved this call"
        in told.error.message
    )
