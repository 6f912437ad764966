"""What an undo gets, out of the record of the call that it takes back (CONTRACT E7)."""

from typing import Any

import pytest

from haltpoint import register
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.statuses import ActionStatus
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.commands import ToolRequested
from haltpoint.contracts.results import ErrorType, Metadata, NextAction, Outcome
from haltpoint.runtime.store.receipts import ReceiptStore
from haltpoint.runtime.streams.topology import EntryRef
from haltpoint_tool_worker.admission.judges import call_to_undo
from haltpoint_tool_worker.registry import Registry
from haltpoint_tool_worker.results.reading import RefusedError
from haltpoint_tool_worker.running.job import Job
from tests.support.builders import failed
from tests.unit.tool_worker.calling import fault_of


class Recorded(ReceiptStore):
    """A store that knows one action."""

    def __init__(self, action: Action | None) -> None:
        self._action = action

    async def receipts(self, action: str, others: Any) -> dict[str, Action]:
        assert list(others) == [action]
        return {} if self._action is None else {action: self._action}


def plant(name: str) -> str:
    """Plant it."""
    return name


def planted(tool: str = "plant", outcome: Outcome | None = None) -> Action:
    ran = Outcome(
        success=True, next_action=NextAction.CONTINUE, metadata=Metadata(arguments='{"name":"Ash"}')
    )
    done = ActionStatus.DONE
    return Action(
        "c.s.1",
        0,
        1,
        tool,
        '{"name":"ash"}',
        status=done,
        outcome=outcome or ran,
        data='{"value":"ash"}',
    )


async def given(action: Action | None, root: str = "c") -> JsonObject:
    registry = Registry()
    registry.add(register(plant, undo=lambda arguments, result: None))
    tool = registry.find("plant~undo")
    assert tool is not None
    order = ToolRequested.Data(
        action_id=f"{root}~undo-1.u1.1", tool="plant~undo", timeout=5.0, deadline=0
    )
    job = Job(EntryRef.of("hp:{0}:tools:default", "1-0"), order, "{}", None, 1, 0.0)
    return await call_to_undo(Recorded(action), job, tool, {"action_id": "c.s.1"})


async def test_e7_an_undo_gets_the_arguments_that_ran_and_the_result() -> None:
    assert await given(planted()) == {"arguments": {"name": "Ash"}, "result": {"value": "ash"}}


@pytest.mark.parametrize(
    ("action", "root"),
    [
        (None, "c"),
        (planted("other"), "c"),
        (planted(outcome=failed(ErrorType.SERVER)), "c"),
        (planted(), "d"),
    ],
)
async def test_e7_only_a_success_of_the_same_root_is_undone(
    action: Action | None, root: str
) -> None:
    with pytest.raises(RefusedError) as refusal:
        await given(action, root)
    fault = fault_of(refusal.value.reading)
    assert (fault.error_type, fault.no_effect) == (ErrorType.NOT_FOUND, True)
