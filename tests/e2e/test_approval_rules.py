"""The policy file's rules about calls, over real processes (CONTRACT G4); they are in
policy.toml.
"""

from typing import Any

from haltpoint.client import Client
from haltpoint.contracts.people.humans import RequestStatus
from haltpoint.contracts.results import ErrorType
from tests.e2e.running import Running
from tests.e2e.test_older_style import called, ended


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
    assert ended(system, asked, "approve")["status"] == "completed"
    assert system.written(asked["id"]) == ["refunded 100 to eve"]


async def test_g4_silence_is_a_no_where_the_rule_says_so(system: Running, client: Client) -> None:
    result = await (await client.run(plan=plan("refund", to="quick", amount=100))).result()
    assert result.chain.requests[0].status is RequestStatus.EXPIRED
    receipt = result.chain.steps[1].actions[0].receipt
    assert receipt is not None
    assert receipt.error is not None
    assert receipt.error.error_type is ErrorType.DENIED
    assert (result.status, system.written(result.chain.id)) == ("failed", [])
