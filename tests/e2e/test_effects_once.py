"""An effect of a tenant happens once, whichever chain asks for it (CONTRACT E6), over real processes."""

from tests.e2e.running import Running
from tests.e2e.test_older_style import called, ended, receipt_of


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


def test_e6_a_person_who_is_asked_anyway_sees_the_first_one_and_may_allow_it_once_more(system: Running) -> None:
    first = called(system, "void", "invoice=i-3", code=3)
    assert [reason["kind"] for reason in first["requests"][0]["reasons"]] == ["destructive"]
    assert ended(system, first, "--approve")["status"] == "completed"

    second = called(system, "void", "invoice=i-3", code=3)
    (repeat, destructive) = second["requests"][0]["reasons"]
    assert (repeat["kind"], destructive["kind"]) == ("repeat", "destructive")
    assert f'by {first["steps"][0]["actions"][0]["id"]}: Voided "i-3". Make it again?' in repeat["words"]
    done = ended(system, second, "--approve")
    assert (done["status"], system.written(second["id"])) == ("completed", ["voided i-3"])
    assert receipt_of(done)["metadata"]["approval"]["by"] == "admin"

    third = called(system, "void", "invoice=i-3", code=3)
    assert second["steps"][0]["actions"][0]["id"] in third["requests"][0]["reasons"][0]["words"]
    refused = ended(system, third, "--reject", "twice is enough", code=1)
    assert receipt_of(refused)["error"]["error_type"] == "DENIED"
    assert system.written(third["id"]) == []
