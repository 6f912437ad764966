"""One definition, two readers: pydantic at the doors and msgspec inside hold the same limits and
read the same.
"""

import json
from datetime import datetime
from typing import Any

import msgspec
import pytest
from pydantic import TypeAdapter, ValidationError

from haltpoint.contracts.catalogue import CATALOGUE, Row, Stream
from haltpoint.contracts.doors import door, in_full
from haltpoint.contracts.results import ErrorInfo, Outcome
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.config.faults import in_words_of_json
from haltpoint.runtime.streams.wire import Decoded, decode, encode
from tests.unit.test_golden import GOLDEN


@pytest.mark.parametrize(
    "body",
    [
        {"goal": "x" * 32_769},
        {"max_turns": 0},
        {"max_turns": 101},
        {"parallel": 17},
        {"tools": ["t"] * 101},
        {"strikes": 0},
        {"tenant": "t" * 129},
        {"budget": {"seconds": 0}},
        {"budget": {"minutes": 1}},
        {"plan": {"steps": [{"id": "a", "actions": [{"tool": ""}]}]}},
        {"plan": {"steps": [{"id": "a", "parallel": 0}]}},
        {"gaol": "x"},
    ],
)
def test_both_readers_hold_the_same_limits(body: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        door(Task).validate_python(body)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(json.dumps(body), type=Task)


@pytest.mark.parametrize(("success", "wanted"), [(True, "error"), (False, "continue")])
def test_b1_both_readers_refuse_a_result_that_contradicts_itself(
    success: bool, wanted: str
) -> None:
    body = {"success": success, "next_action": wanted}
    with pytest.raises(ValidationError):
        door(Outcome).validate_python(body)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(json.dumps(body), type=Outcome)


@pytest.mark.parametrize("row", CATALOGUE, ids=lambda row: row.type)
def test_both_readers_read_the_same_message(row: Row) -> None:
    recorded = (GOLDEN / f"{row.type}.json").read_bytes()
    inside = decode(row.stream, {b"__data__": recorded})
    assert isinstance(inside, Decoded)
    assert door(row.message).validate_json(recorded) == inside.message
    assert door(row.message).validate_python(in_full(inside.message)) == inside.message


def test_what_a_door_reads_as_a_default_is_written_as_one() -> None:
    said = door(Task).validate_python({"goal": "x", "budget": {}, "tools": None, "context": {}})
    assert encode(said) == b'{"goal":"x"}'


def test_a_door_is_lax_and_a_task_from_outside_comes_in_by_it() -> None:
    task = {"goal": "x", "max_turns": "3", "plan": {"steps": [{"id": "a"}]}}
    sent = {"id": "1", "source": "shop", "type": "task.submitted.v1", "data": task}
    decoded = decode(Stream.EVENTS, {b"__data__": json.dumps(sent).encode()})
    assert isinstance(decoded, Decoded)
    assert decoded.message == door(type(decoded.message)).validate_python(sent)
    assert in_full(decoded.message)["data"]["max_turns"] == 3


def test_words_alone_are_a_fault_at_a_door() -> None:
    assert door(ErrorInfo).validate_python("it broke").message == "it broke"


def test_c15_what_is_private_is_in_no_words_for_people() -> None:
    assert "hunter2" not in repr(Task(goal="x", private={"password": "hunter2"}))


def test_what_is_no_time_and_no_json_is_said_in_words() -> None:
    time = TypeAdapter(datetime)
    with pytest.raises(ValidationError) as caught:
        time.validate_python("soon")
    (fault,) = caught.value.errors()
    assert in_words_of_json(fault) == "must be a date and a time, such as 2030-01-31T18:00:00Z"
    with pytest.raises(ValidationError) as caught:
        time.validate_json("{plan}")
    (fault,) = caught.value.errors()
    assert in_words_of_json(fault) == "is not JSON: key must be a string at line 1 column 2"
