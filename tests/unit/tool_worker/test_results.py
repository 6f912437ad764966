"""CONTRACT B1: whatever a tool gives is recorded as data or as a typed error, never as an
exception.
"""

import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any
from uuid import UUID

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from haltpoint.contracts.base import MAX_RESULT
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.events import ToolCompleted
from haltpoint.contracts.results import ErrorType, Outcome, ToolResult
from haltpoint.runtime.streams import wire
from haltpoint.runtime.streams.wire import encode, too_deep
from haltpoint.tools import Ctx, Option, Target, Tool, register
from haltpoint_tool_worker.results.outcomes import read_result
from haltpoint_tool_worker.results.reading import Cause, Reading
from tests.unit.tool_worker import hostile
from tests.unit.tool_worker.calling import fault_of, receipt_of


class Match(BaseModel):
    contact_id: str
    score: float = Field(default=1.0, serialization_alias="points")


@dataclass
class Deleted:
    section_id: str


def giving(annotation: Any) -> Tool:
    def act() -> object: ...

    act.__annotations__["return"] = annotation
    return register(act)


ANYTHING, MATCH, WORDS, NUMBER = (
    giving(Any),
    giving(ToolResult[Match]),
    giving(list[str]),
    giving(float),
)
WORD = giving(str)


def data_of(reading: Reading) -> Any:
    assert reading.cause is None, reading.outcome
    return json.loads(reading.data)


def assert_recordable(tool: Tool, reading: Reading) -> None:
    """What the executor reads is a message of its own kind, with data that is an object and fits
    the schema.
    """
    completed = ToolCompleted.Data(action_id="c.s.1", outcome=reading.outcome)
    message = ToolCompleted(
        id="c.s.1/1/done", source="haltpoint/tool-worker", subject="c", data=completed
    )
    decoded = wire.decode(
        Stream.EVENTS, {b"__data__": wire.encode(message), b"__body__": reading.data.encode()}
    )
    assert isinstance(decoded, wire.Decoded), decoded
    data = json.loads(reading.data)
    assert isinstance(data, dict)
    assert msgspec.json.decode(encode(reading.outcome).decode(), type=Outcome) == reading.outcome
    if reading.outcome.satisfies and not reading.outcome.warnings and tool.output.schema:
        jsonschema.validate(data, tool.output.schema)


HOSTILE = dict(hostile.results())


# Python itself reports an exception that `__class__` raises where nobody can catch it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_result_is_recorded_as_data_or_as_a_typed_error(make: Callable[[], Any]) -> None:
    value = make()
    for tool in (ANYTHING, MATCH, WORDS, NUMBER):
        assert_recordable(tool, read_result(tool, value))


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.datetimes()
    | st.decimals(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.sets(st.integers())
    ),
    max_leaves=20,
)


@settings(max_examples=200)
@given(json_values)
def test_any_value_is_recordable(value: object) -> None:
    for tool in (ANYTHING, MATCH, WORDS, NUMBER):
        assert_recordable(tool, read_result(tool, value))


@pytest.mark.parametrize(
    ("annotation", "value", "data"),
    [
        (Match, Match(contact_id="a"), {"contact_id": "a", "points": 1.0}),
        (Match, {"contact_id": "a", "score": 2}, {"contact_id": "a", "points": 2.0}),
        (Deleted, Deleted("s"), {"section_id": "s"}),
        (Match | Deleted, {"section_id": "s"}, {"section_id": "s"}),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (str, "x", {"value": "x"}),
        (list[Match], [Match(contact_id="a")], {"value": [{"contact_id": "a", "points": 1.0}]}),
        (Match | None, None, {"value": None}),
        (None, None, {}),
        (Any, {"a": 1}, {"a": 1}),
        (Any, [1], {"value": [1]}),
        (Any, Deleted("s"), {"section_id": "s"}),
        (
            Any,
            {"at": datetime(2026, 1, 2, tzinfo=UTC), "id": UUID(int=1)},
            {"at": "2026-01-02T00:00:00Z", "id": "00000000-0000-0000-0000-000000000001"},
        ),
    ],
)
def test_a_plain_value_is_data_and_means_continue(
    annotation: Any, value: object, data: object
) -> None:
    reading = read_result(giving(annotation), value)
    assert data_of(reading) == data
    assert (reading.outcome.success, reading.outcome.next_action, reading.outcome.warnings) == (
        True,
        "continue",
        (),
    )


def test_a_whole_result_keeps_its_words() -> None:
    given_ = Ctx().ok(
        Match(contact_id="a"), complete=True, warnings=["partial"], instruction_for_ai="Go on."
    )
    reading = read_result(MATCH, given_)
    assert data_of(reading) == {"contact_id": "a", "points": 1.0}
    assert reading.outcome.next_action == "complete"
    assert (reading.outcome.warnings, reading.outcome.instruction_for_ai) == (
        ("partial",),
        "Go on.",
    )


@pytest.mark.parametrize(
    ("tool", "value", "data"),
    [
        (ANYTHING, Match(contact_id="a"), {"contact_id": "a", "score": 1.0}),
        (WORD, "b", {"value": "b"}),
    ],
)
def test_a_question_is_kept_with_values_that_fit_the_result(
    tool: Tool, value: Any, data: dict[str, Any]
) -> None:
    options = [Option(id="a", title="A", value=value), Option(id="b", title="B")]
    question = read_result(tool, Ctx().clarify("contact", "Which?", options)).outcome.clarification
    assert question is not None
    assert [option.value for option in question.options] == [data, None]
    assert (
        read_result(tool, Ctx().confirm("pay", Target(id="b1"), "Pay?")).outcome.confirmation
        is not None
    )


@pytest.mark.parametrize("what", hostile.INCOHERENT)
def test_a_result_that_contradicts_itself_is_the_tools_fault(what: str) -> None:
    reading = read_result(ANYTHING, hostile.INCOHERENT[what]())
    assert reading.cause is Cause.MALFORMED
    assert (reading.fault.error_type, reading.fault.recoverable) == (
        "SERVER",
        False,
    )
    assert "act" in reading.fault.message, "it names the tool"


@pytest.mark.parametrize(
    ("tool", "value"),
    [
        (MATCH, {"nothing": 1}),
        (MATCH, Match.model_construct(contact_id=3)),  # type: ignore[arg-type]
        (MATCH, Ctx().clarify("c", "Which?", [Option(id="a", title="A", value={"other": 1})])),
        (WORDS, "not a list"),
        (ANYTHING, {"found": [{(1, 2): 3}]}),
    ],
)
def test_data_that_does_not_fit_the_schema_is_the_tools_fault(tool: Tool, value: object) -> None:
    reading = read_result(tool, value)
    assert reading.cause is Cause.MALFORMED


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ({"words": "a\ud800b"}, {"words": "a?b"}),
        ({"numbers": [2**64, -(2**80)]}, {"numbers": [2**64, -(2**80)]}),
        ({"all": {1}, "deque": deque([PurePath("a/b")])}, {"all": [1], "deque": ["a/b"]}),
        ([Deleted(Text("s")), Match(contact_id="c")], None),
    ],
)
def test_h3_a_value_of_a_usual_class_is_said_in_json(value: Any, data: Any) -> None:
    inside = [{"section_id": "s"}, {"contact_id": "c", "score": 1.0}]
    assert data_of(read_result(ANYTHING, value)) == (data or {"value": inside})


@pytest.mark.parametrize("tool", [ANYTHING, MATCH, WORDS])
def test_what_is_too_large_is_cut_with_a_mark(tool: Tool) -> None:
    reading = read_result(
        tool, {"contact_id": "x" * 5_000_000} if tool is not WORDS else ["x" * 5_000_000]
    )
    assert reading.kept is not None
    assert len(reading.data.encode()) <= MAX_RESULT
    assert "[cut: " in reading.data
    assert any("cut" in each for each in reading.outcome.warnings)


def test_h3_what_is_nested_too_deep_or_too_long_is_cut_with_a_mark() -> None:
    deep = read_result(ANYTHING, {"found": hostile.deep(100, lambda inner: [inner])})
    assert deep.kept is not None
    assert "[cut: nested too deep]" in deep.data
    assert not too_deep(deep.data.encode())
    rows = data_of(read_result(ANYTHING, {"rows": list(range(300_000))}))["rows"]
    assert (len(rows), rows[-1]) == (10_001, "[cut: 290000 more]")


async def test_a_question_that_cannot_be_put_comes_before_the_effect() -> None:
    def pay(ctx: Ctx[None]) -> object:
        """Pay."""
        return ctx.confirm("pay", "the bill", "Pay?")  # type: ignore[arg-type]

    fault = fault_of(await receipt_of(register(pay)))
    assert (fault.error_type, fault.no_effect) == (ErrorType.UNKNOWN, True)
    assert "the tool asked no question that can be put: target: must be" in fault.message
