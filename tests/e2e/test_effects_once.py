"""An effect of a tenant happens once, whichever chain asks for it (CONTRACT E6), over real
processes.
"""

from tests.e2e.running import Running
from tests.e2e.test_older_style import called, receipt_of


def test_e6_a_second_chain_is_denied_with_what_the_first_one_did(system: Running) -> None:
    first = called(system, "wire", "invoice=i-1")
    assert first["status"] == "completed"
    second = called(system, "wire", "invoice=i-1", code=1)
    receipt, action = receipt_of(second), first["steps"][0]["actions"][0]["id"]
    assert receipt["error"]["error_type"] == "DENIED"
    assert f"by {action}: Wired the money of " in receipt["error"]["message"]
    assert receipt["data"] == {"first": {"action_id": action, "says": 'Wired the money of "i-1"'}}
    assert action in second["answer"]["text"]
    assert (system.written(first["id"]), system.written(second["id"])) == (["wired i-1"], [])
    assert called(system, "wire", "invoice=i-2")["status"] == "completed"
