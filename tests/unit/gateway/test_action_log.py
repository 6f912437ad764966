"""The action log, from what a chain's keys hold."""

import json
from collections.abc import Mapping

from haltpoint.chain.model.state import StepRun
from haltpoint.chain.model.statuses import StepStatus
from haltpoint.contracts.doors import door
from haltpoint.contracts.work.plans import Plan
from haltpoint.runtime.store.rows import StoredThought
from haltpoint.runtime.views.action_log import records
from tests.unit.gateway.test_chain_view import DOUBT, HEAD, OK, record

ASKED = {
    "tool": "look",
    "arguments": {"name": "John"},
    "expected": "the id of John, not sk-proj-abcdefghijklmnopqrstuvwx",
}
RUNS = (StepRun(StepStatus.COMPLETED, actions=2),)


def expected_in(
    step: Mapping[str, object], thoughts: Mapping[str, StoredThought], *arguments: str
) -> list[str]:
    plan = door(Plan).validate_python({"steps": [{"id": "find", **step}]})
    actions = {
        f"c1.find.{number}": {"tool": "look", "args": text, "receipt": OK, "data": "{}"}
        for number, text in enumerate(arguments, 1)
    }
    return [
        one.expected
        for one in records(record(plan=plan, runs=RUNS, actions=actions, thoughts=thoughts))
    ]


def test_a_call_of_a_model_says_it_and_secrets_are_starred() -> None:
    told = json.dumps({"proposal": {"content": "", "calls": [ASKED], "decision": "continue"}})
    thoughts = {"c1.find.t1.1": StoredThought("action.proposed.v1", told, "")}
    first, second = expected_in({}, thoughts, '{"name": "John"}', '{"name": "Jane"}')
    assert (first.startswith("the id of John, not "), "abcdefgh" in first, second) == (
        True,
        False,
        "",
    )


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


def test_the_runs_are_those_of_a_worker_also_when_a_person_decides_or_the_call_rests() -> None:
    def said(attempt: int) -> str:
        return json.dumps(
            {"success": True, "next_action": "continue", "metadata": {"attempt": attempt}}
        )

    actions = {
        "c1.find.1": {"tool": "look", "receipt": said(3), "data": "{}", "attempt": 8},
        "c1.find.2": {
            "tool": "look",
            "in_doubt": said(2),
            "resolution": OK,
            "resolution_data": "{}",
            "attempt": 2,
        },
        "c1.find.3": {"tool": "look", "earlier": {1: said(1), 2: said(2)}, "attempt": 3},
        "c1.find.4": {"tool": "look"},
    }
    found = records(record(runs=(StepRun(actions=4), StepRun(), StepRun()), actions=actions))
    assert [one.attempts for one in found] == [3, 2, 2, 1]
