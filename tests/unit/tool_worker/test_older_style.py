"""CONTRACT B7: results in the older style say that a call failed, or that a person is to be asked;
all else is data.
"""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel
from typing_extensions import TypedDict

from haltpoint.contracts.advice import OTHERWISE
from haltpoint.contracts.doors import door
from haltpoint.contracts.people.approvals import Approval, digest_of
from haltpoint.contracts.results import ErrorInfo, Outcome
from haltpoint.tools import Tool, register
from haltpoint_tool_worker.results.outcomes import read_result
from haltpoint_tool_worker.results.reading import Cause, Reading
from tests.unit.tool_worker.calling import question_of, receipt_of

SURE = {
    "requiresConfirmation": True,
    "action": "delete",
    "target": {"id": "hero-456"},
    "message": "Delete it?",
}


def giving(annotation: Any) -> Tool:
    def act() -> object: ...

    act.__annotations__["return"] = annotation
    return register(act)


UNTYPED = [giving(Any), giving(dict[str, Any]), giving(None)]


def error_of(reading: Reading) -> dict[str, Any]:
    assert reading.outcome.error is not None, reading
    said: dict[str, Any] = door(ErrorInfo).dump_python(
        reading.outcome.error, mode="json", exclude_none=True
    )
    return said


@pytest.mark.parametrize("tool", UNTYPED)
@pytest.mark.parametrize(
    "result",
    [
        {"success": False},
        {"ok": False, "error": "no"},
        {"ok": False, "message": "no"},
        {"isError": True, "error": "no"},
        {"is_error": True, "message": "no"},
    ],
)
def test_b7_a_result_that_says_it_failed_is_an_error_and_no_doubt(
    tool: Tool, result: dict[str, Any]
) -> None:
    reading = read_result(tool, result)
    error = error_of(reading)
    assert (error["error_type"], error["recoverable"]) == ("UNKNOWN", True)
    assert error["suggestion"] == OTHERWISE
    assert error["message"] == (
        "no"
        if {"error", "message"} & result.keys()
        else "the tool reported a failure without a reason"
    )
    assert reading.cause is Cause.DECLARED


@pytest.mark.parametrize("tool", UNTYPED)
@pytest.mark.parametrize(
    "result",
    [
        {"success": True, "message": "sent"},
        {"success": 0},
        {"ok": True, "error": "an old one"},
        {"error": "no"},
        {"ok": False},
        {"requires_confirmation": True, "message": "bookings of this kind have to be confirmed"},
        {**SURE, "requiresConfirmation": "yes"},
        {**SURE, "target": None},
    ],
)
def test_b7_what_does_not_say_so_plainly_is_data(tool: Tool, result: dict[str, Any]) -> None:
    reading = read_result(tool, result)
    assert reading.outcome.satisfies
    assert json.loads(reading.data) == result


@pytest.mark.parametrize("kind", ["error_type", "errorType"])
def test_b7_what_the_older_style_says_of_an_error_is_read(kind: str) -> None:
    said = {kind: "rate_limit", "suggestion": "Wait.", "recoverable": False}
    for result in (
        {"success": False, "error": "slow down", **said},
        {"success": False, "error": {"message": "slow down", **said}},
    ):
        assert error_of(read_result(UNTYPED[0], result)) == {
            "error_type": "RATE_LIMIT",
            "message": "slow down",
            "recoverable": False,
            "suggestion": "Wait.",
            "invalid_fields": [],
            "undecided": False,
        }


@pytest.mark.parametrize(
    ("said", "kind", "recoverable"),
    [
        ({"error_type": "NOT_FOUND"}, "NOT_FOUND", True),
        ({"error_type": "E_NO_SUCH_THING"}, "UNKNOWN", True),
        ({"recoverable": "no", "suggestion": 7}, "UNKNOWN", True),
    ],
)
def test_b7_an_unknown_type_is_unknown(said: dict[str, Any], kind: str, recoverable: bool) -> None:
    error = error_of(
        read_result(
            UNTYPED[0],
            {"success": False, "error": "no_day", "message": "There is no such day.", **said},
        )
    )
    assert (error["error_type"], error["recoverable"]) == (kind, recoverable)
    assert error["message"] == "no_day: There is no such day."


@dataclass
class OldResult:
    success: bool
    error: str


class OldModel(BaseModel):
    success: bool
    error: str


class OldDict(TypedDict):
    success: bool


class Wrapper(BaseModel):
    other: str = ""


@pytest.mark.parametrize("make", [OldResult, OldModel])
def test_b7_an_object_speaks_of_itself_where_its_tool_declares_no_type(make: Any) -> None:
    assert error_of(read_result(UNTYPED[0], make(success=False, error="no")))["message"] == "no"


@pytest.mark.parametrize(
    "annotation", [OldModel, OldResult, OldDict, OldModel | Wrapper, list[OldModel]]
)
def test_b7_a_field_of_the_declared_type_is_data(annotation: Any) -> None:
    raw = (
        [{"success": False, "error": "no"}]
        if annotation == list[OldModel]
        else {"success": False, "error": "no"}
    )
    reading = read_result(giving(annotation), raw)
    assert reading.outcome.satisfies
    assert json.loads(reading.data)


@pytest.mark.parametrize("name", ["requires_confirmation", "requiresConfirmation"])
@pytest.mark.parametrize(
    ("target", "read"),
    [
        ({"id": 456, "name": "Hero", "type": "section"}, ("456", "Hero", "section")),
        ({"name": "Hero"}, ("Hero", "Hero", "")),
        ("hero-456", ("hero-456", "", "")),
    ],
)
def test_b7_a_request_for_confirmation_asks_a_person(
    name: str, target: Any, read: tuple[str, str, str]
) -> None:
    asked = {
        name: True,
        "action": "delete",
        "target": target,
        "message": "Delete it?",
        "preview": "Hero",
    }
    confirmation = question_of(read_result(UNTYPED[0], asked))
    assert (confirmation.target.id, confirmation.target.name, confirmation.target.type) == read
    assert (confirmation.action, confirmation.message, confirmation.preview) == (
        "delete",
        "Delete it?",
        "Hero",
    )


# ---- the parameter `confirmed`
# --------------------------------------------------------------------------------------


def delete_section(section_id: str, confirmed: bool = False) -> dict[str, Any]:
    """A tool in the older style."""
    return {"deleted": section_id} if confirmed else SURE


def list_bookings(confirmed: bool = False) -> list[str]:
    return ["confirmed"] if confirmed else ["all"]


def test_b7_confirmed_is_not_in_the_schema() -> None:
    spec = register(delete_section).spec
    assert list(spec.parameters["properties"]) == ["section_id"]


def test_b7_confirmed_is_a_parameter_like_any_of_a_tool_that_reads() -> None:
    spec = register(list_bookings, read_only=True).spec
    assert list(spec.parameters["properties"]) == ["confirmed"]


async def outcome_of(
    arguments: dict[str, Any], approved: dict[str, Any] | None = None
) -> tuple[Outcome, str]:
    approval = (
        None
        if approved is None
        else Approval(digest=digest_of("c.s.1", "delete_section", approved))
    )
    finished = await receipt_of(register(delete_section), json.dumps(arguments), approval=approval)
    return finished.outcome, finished.data


async def test_b7_the_runtime_sets_confirmed_only_under_an_approval_of_exactly_this_call() -> None:
    call = {"section_id": "hero-456"}
    asked, _ = await outcome_of(call)
    assert asked.confirmation is not None
    assert asked.confirmation.digest == digest_of("c.s.1", "delete_section", call)
    done, data = await outcome_of(call, approved=call)
    assert done.satisfies
    assert json.loads(data) == {"deleted": "hero-456"}
    again, _ = await outcome_of(call, approved={"section_id": "footer"})
    assert again.confirmation is not None


async def test_b7_an_order_that_brings_confirmed_is_refused() -> None:
    refused, _ = await outcome_of({"section_id": "hero-456", "confirmed": True})
    assert refused.error is not None
    assert refused.error.error_type == "VALIDATION"
