"""The policy file's rules about calls, over real processes (CONTRACT G4); they are in
policy.toml.
"""

import pytest

from tests.e2e.calling import called, ended
from tests.e2e.running import Running


def test_g4_a_rule_asks_about_what_would_run_and_a_yes_lets_it(system: Running) -> None:
    asked = called(system, "refund", "to=eve", "amount=100", code=3)
    (request,) = asked["requests"]
    assert [(one["kind"], one["words"]) for one in request["reasons"]] == [
        ("rule", "A refund of 100 or more needs a yes.")
    ]
    assert system.written(asked["id"]) == []
    assert ended(system, asked, "approve")["status"] == "completed"
    assert system.written(asked["id"]) == ["refunded 100 to eve"]


@pytest.mark.parametrize(("amount", "is_reported"), [(49, False), (50, True)])
def test_g4_a_rule_that_is_only_tried_is_shown_and_refuses_nothing(
    system: Running, amount: int, is_reported: bool
) -> None:
    done = called(system, "refund", "to=eve", f"amount={amount}")
    assert done["status"] == "completed"
    shown = system.command("chain", "show", done["id"]).stdout
    assert ("rule:small-refunds would refuse" in shown) == is_reported
