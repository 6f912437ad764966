"""The action log, from what a chain's keys hold."""

import json

from haltpoint.chain.model.state import StepRun
from haltpoint.chain.model.statuses import StepStatus
from haltpoint.runtime.views.action_log import records
from tests.unit.gateway.test_chain_view import DOUBT, HEAD, record


def test_a_call_in_doubt_waits_for_a_person_until_its_chain_is_over_and_then_it_has_failed() -> (
    None
):
    doubtful = {"c1.find.1": {"tool": "look", "in_doubt": DOUBT}}
    runs = (StepRun(StepStatus.CANCELLED, actions=1), StepRun(), StepRun())
    (waiting,) = records(record(runs=runs, actions=doubtful))
    assert (waiting.status, waiting.error) == ("asking", None)
    (ended,) = records(record(runs=runs, actions=doubtful, head={**HEAD, "status": "cancelled"}))
    assert ended.status == "failed"
    assert ended.error is not None
    assert (ended.error.type, ended.error.message) == ("IN_DOUBT", "it broke")


def test_the_runs_are_those_that_the_receipt_says() -> None:
    said = {"success": True, "next_action": "continue", "metadata": {"attempt": 3}}
    action = {"tool": "look", "receipt": json.dumps(said), "attempt": 8}
    (row,) = records(record(runs=(StepRun(actions=1),), actions={"c1.find.1": action}))
    assert row.attempts == 3
