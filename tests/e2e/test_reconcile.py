"""A tool says whether a call in doubt happened, so no person is asked (CONTRACT E5), over real
processes.
"""

from tests.e2e.running import Running
from tests.e2e.test_older_style import called, receipt_of


def test_e5_a_charge_whose_receipt_was_lost_is_found_and_not_made_again(system: Running) -> None:
    chain = called(system, "charge", "card=lost")
    assert (chain["status"], chain["requests"]) == ("completed", [])
    assert receipt_of(chain)["data"] == {"receipt": "lost"}
    assert receipt_of(chain)["metadata"]["reconciled"] is True
    assert [deed["says"] for deed in chain["answer"]["deeds"]] == ['Charged "lost"']
    assert system.written(chain["id"]) == ["charged lost"]


def test_e5_a_charge_that_was_not_made_is_made_once(system: Running) -> None:
    chain = called(system, "charge", "card=slow")
    assert (chain["status"], chain["requests"]) == ("completed", [])
    assert system.written(chain["id"]) == ["charged slow"]
