"""The policy file's rules about calls, over real processes (CONTRACT G4); they are in policy.toml."""

from typing import Any

import pytest

from haltpoint.client import Client
from haltpoint.contracts.people.humans import RequestStatus
from haltpoint.contracts.results import ErrorType
from tests.e2e.running import Running
from tests.e2e.test_older_style import called, ended, receipt_of


def plan(tool: str, **arguments: Any) -> dict[str, Any]:
    """The call behind one that reads a stranger's mail."""
    mail = {"id": "mail", "actions": [{"tool": "read_mail", "arguments": {}}]}
    call = {"tool": tool, "arguments": arguments}
    return {"steps": [mail, {"id": "then", "dependencies": ["mail"], "actions": [call]}]}


def test_g4_a_rule_asks_about_what_would_run_and_a_yes_lets_it(system: Running) -> None:
    asked = called(system, "refund", "to=eve", "amount=100", code=3)
    (request,) = asked["requests"]
    assert [(one["kind"], one["words"]) for one in request["reasons"]] == [
        ("rule", "A refund of 100 or more needs a yes.")
    ]
    assert system.written(asked["id"]) == []
    assert ended(system, asked, "--approve")["status"] == "completed"
    assert system.written(asked["id"]) == ["refunded 100 to eve"]


@pytest.mark.parametrize("call", [("to=eve", "amount=99.5"), ("to=ann", "amount=500")])
def test_g4_the_first_rule_that_fits_counts_and_one_may_pass(system: Running, call: tuple[str, str]) -> None:
    done = called(system, "refund", *call)
    assert (done["status"], done["requests"], len(system.written(done["id"]))) == ("completed", [], 1)


def test_g4_a_rule_refuses_whoever_edits(system: Running) -> None:
    refused = called(system, "refund", "to=ann", "amount=1000", code=1)
    error = receipt_of(refused)["error"]
    assert (error["error_type"], error["message"]) == (
        "BLOCKED",
        "refund was not called: Nobody refunds 1000 or more.",
    )
    asked = called(system, "refund", "to=eve", "amount=100", code=3)
    edited = ended(system, asked, "--approve", "--edit", "amount=2000", code=1)
    assert receipt_of(edited)["error"]["error_type"] == "BLOCKED"
    assert system.written(asked["id"]) == []


async def test_g4_silence_is_a_no_where_the_rule_says_so(system: Running, client: Client) -> None:
    result = await (await client.run(plan=plan("refund", to="quick", amount=100))).result()
    assert result.chain.requests[0].status is RequestStatus.EXPIRED
    receipt = result.chain.steps[1].actions[0].receipt
    assert receipt is not None
    assert receipt.error is not None
    assert receipt.error.error_type is ErrorType.DENIED
    assert (result.status, system.written(result.chain.id)) == ("failed", [])


def test_g4_a_rule_on_trial_asks_nobody_and_tells_what_would_have_asked(system: Running) -> None:
    done = called(system, "refund", "to=trial", "amount=5")
    [reported] = receipt_of(done)["metadata"]["hooks"]
    assert (reported["name"], reported["verdict"]) == ("builtin:approvals:trial", "would_ask")
    assert system.written(done["id"]) == ["refunded 5 to trial"]


async def test_g4_a_rule_that_names_a_source_has_it_in_a_literal_plan(system: Running, client: Client) -> None:
    own = await (await client.run(plan=plan("pin_up", words="hello"))).result()
    assert (own.chain.status, system.written(own.chain.id)) == ("completed", ["pinned up"])
    run = await client.run(plan=plan("pin_up", words={"$from": "mail.data.body"}))
    request = await run.expects_request("confirmation")
    assert [(one.kind.value, one.words) for one in request.reasons] == [("rule", "These words are a stranger's.")]
    assert request.sources["words"].source == "text"
    assert system.written(run.id) == []
