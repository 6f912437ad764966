"""What the gateway refuses, in the words of the command line."""

from haltpoint.cli.gateway import told
from haltpoint.client import GatewayError


def test_faults_are_told_in_words_one_a_line() -> None:
    errors = [
        {"step_id": "a", "message": "no tool is called 'nope'"},
        {"step_id": "s1", "label": "bad id!", "message": "no tool is called 'nope'"},
        {"step_id": None, "message": "the plan has no steps"},
        {"field": "plan.stepz", "message": "no such field"},
    ]
    error = told(GatewayError(422, {"detail": "The plan has 3 faults.", "hint": "Correct them.", "errors": errors}), "")

    assert error.why.splitlines()[1:] == [
        "  - step 'a': no tool is called 'nope'",
        "  - step 's1' (bad id!): no tool is called 'nope'",
        "  - the plan has no steps",
        "  - plan.stepz: no such field",
    ]
