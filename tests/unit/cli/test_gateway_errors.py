"""What the gateway refuses, in the words of the command line."""

import pytest

from haltpoint.cli.errors import Exit, exit_of
from haltpoint.cli.problems import told
from haltpoint.client import GatewayError
from haltpoint.runtime.streams.connection import unusable
from haltpoint.runtime.streams.refused import RefusedForNow
from haltpoint_gateway.problems import other_release, redis_unreachable


def test_faults_are_told_in_words_one_a_line() -> None:
    errors = [
        {"step_id": "a", "message": "no tool is called 'nope'"},
        {"step_id": "s1", "label": "bad id!", "message": "no tool is called 'nope'"},
        {"step_id": None, "message": "the plan has no steps"},
        {"field": "plan.stepz", "message": "no such field"},
    ]
    problem = {
        "code": "invalid_plan",
        "detail": "The plan has 4 faults.",
        "hint": "Correct them.",
        "errors": errors,
    }
    error = told(GatewayError(422, problem), "")

    assert error.what == "the plan has 4 problems"
    assert error.why.splitlines() == [
        "",
        "  - step 'a': no tool is called 'nope'",
        "  - step 's1' (bad id!): no tool is called 'nope'",
        "  - the plan has no steps",
        "  - plan.stepz: no such field",
    ]


def test_one_fault_is_told_once() -> None:
    fault = {
        "field": "decision",
        "message": "'u9' is not one of the options; choose one of: u1, u2",
    }
    error = told(
        GatewayError(
            422, {"code": "invalid_answer", "detail": fault["message"], "errors": [fault]}
        ),
        "",
    )
    assert (error.what, error.why) == ("the answer has 1 problem", fault["message"])


@pytest.mark.parametrize(
    "code",
    [
        *("no_such_chain", "no_such_request", "no_such_action"),
        *("answered_already", "invalid_answer", "invalid_plan"),
    ],
)
def test_a_hint_for_programs_is_told_in_words_of_the_command_line(code: str) -> None:
    error = told(
        GatewayError(404, {"code": code, "detail": "no", "hint": "GET /v1/chains; see `errors`."}),
        "",
    )
    assert "haltpoint " in error.fix
    assert "GET" not in error.fix


def test_an_address_with_the_path_of_the_api_is_said_to_be_one() -> None:
    problem = {"code": "not_found", "detail": "GET /v1/v1/chains: Not Found", "hint": "no"}
    error = told(GatewayError(404, problem), "http://here/v1")
    assert error.fix.startswith("Is http://here/v1 the gateway's whole address?")
    assert "the ids" in told(GatewayError(404, problem), "http://here").fix


def test_a_server_that_refuses_is_no_gateway_that_cannot_be_reached() -> None:
    problem = redis_unreachable(RefusedForNow("OOM")).document
    error = told(GatewayError(503, problem), "http://here")
    assert str(error).startswith(
        "HP-021 the gateway at http://here cannot do this now: Redis refuses writes for "
        "now: its memory is full. Raise"
    )
    assert exit_of(error) is Exit.UNREACHABLE


def test_a_refusal_of_the_server_itself_is_told_with_its_reason_and_what_to_do() -> None:
    error = unusable(RefusedForNow("NOREPLICAS"), "redis://here")
    assert error.code == "HP-021"
    assert "min-replicas-to-write" in error.fix


def test_a_chain_of_another_release_has_its_code() -> None:
    refused = other_release(ValueError("Object contains unknown field `later`"))
    error = told(GatewayError(refused.status, refused.document), "")
    assert error.code == "HP-022"
    assert error.what == "this chain is of another release"


def test_a_field_of_the_task_is_told_as_the_option_that_gave_it() -> None:
    faults = [
        {"field": "budget.turnz", "message": "no such field"},
        {"field": "conversation_id", "message": "is too long"},
    ]
    problem = {
        "code": "invalid_fields",
        "detail": "Two.",
        "hint": "See `errors`.",
        "errors": faults,
    }
    error = told(GatewayError(422, problem), "")
    assert "--budget turnz: no such field" in error.why
    assert "--conversation: is too long" in error.why
    assert error.fix == "Its --help shows what the command takes"
