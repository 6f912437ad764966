"""Reading entries: hostile bytes get a reason, tolerable ones a message."""

import json
from typing import Any

import pytest

from haltpoint.contracts.base import MAX_RESULT, JsonObject
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.events import TaskSubmitted
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.streams.wire import (
    MAX_MESSAGE,
    DeadLetterReason,
    Decoded,
    Rejected,
    decode,
    too_deep,
)

TASK: JsonObject = {
    "id": "order-17",
    "source": "shop",
    "type": "task.submitted.v1",
    "data": {"goal": "Tell John I am late"},
}
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def read(data: bytes | str, stream: Stream = Stream.EVENTS) -> Decoded | Rejected:
    return decode(stream, {b"__data__": data if isinstance(data, bytes) else data.encode()})


def message(**changes: Any) -> Any:
    decoded = read(json.dumps(TASK | changes))
    assert isinstance(decoded, Decoded), decoded
    return decoded.message


def test_a_task_from_redis_cli_needs_only_id_source_type_and_data() -> None:
    assert message() == TaskSubmitted(
        id="order-17", source="shop", data=Task(goal="Tell John I am late")
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", DeadLetterReason.BAD_JSON),
        (b"{", DeadLetterReason.BAD_JSON),
        (b"nonsense", DeadLetterReason.BAD_JSON),
        (b"\xff\xfe", DeadLetterReason.BAD_ENCODING),
        (b'{"id":"\xed\xa0\x80"}', DeadLetterReason.BAD_ENCODING),
        (
            b'{"id":"\\ud800","source":"s","type":"task.submitted.v1","data":{}}',
            DeadLetterReason.BAD_JSON,
        ),
        (b"[" * 200_000, DeadLetterReason.TOO_DEEP),
        (b'{"a":' * 41 + b"1" + b"}" * 41, DeadLetterReason.TOO_DEEP),
        (b" " * (MAX_MESSAGE + 1), DeadLetterReason.TOO_LARGE),
        (b"[]", DeadLetterReason.BAD_FIELDS),
        (b"null", DeadLetterReason.BAD_FIELDS),
        (b'"text"', DeadLetterReason.BAD_FIELDS),
        (b"{}", DeadLetterReason.BAD_FIELDS),
        (json.dumps(TASK | {"type": "task.submitted.v9"}), DeadLetterReason.UNKNOWN_VERSION),
        (json.dumps(TASK | {"type": "task.submitted"}), DeadLetterReason.UNKNOWN_VERSION),
        (json.dumps(TASK | {"type": "task.dreamt.v1"}), DeadLetterReason.UNKNOWN_MESSAGE),
        (json.dumps(TASK | {"type": 7}), DeadLetterReason.UNKNOWN_MESSAGE),
        (json.dumps(TASK | {"specversion": "0.3"}), DeadLetterReason.BAD_FIELDS),
        (json.dumps(TASK | {"id": ""}), DeadLetterReason.BAD_FIELDS),
        (json.dumps(TASK | {"data": {"goal": "x", "gaol": "y"}}), DeadLetterReason.BAD_FIELDS),
        (
            json.dumps(TASK | {"data": {"goal": "x", "context": {"n": float("nan")}}}),
            DeadLetterReason.BAD_JSON,
        ),
        (
            json.dumps(TASK | {"data": {"goal": "x", "context": {"n": float("inf")}}}),
            DeadLetterReason.BAD_JSON,
        ),
    ],
)
def test_what_is_no_message_is_rejected_with_its_reason(
    data: bytes | str, reason: DeadLetterReason
) -> None:
    rejected = read(data)
    assert isinstance(rejected, Rejected)
    assert rejected.reason is reason
    assert 0 < len(rejected.detail) <= 1000


def test_a_message_without_a_type_is_told_so() -> None:
    rejected = read(b'{"id":"1","source":"shop","data":{}}')
    assert rejected == Rejected(DeadLetterReason.BAD_FIELDS, "the message has no `type`")


def test_an_entry_without_data_is_rejected() -> None:
    assert decode(Stream.EVENTS, {b"other": b"1"}) == Rejected(
        DeadLetterReason.NO_DATA, "the entry has no field __data__"
    )


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"\xff", DeadLetterReason.BAD_ENCODING),
        (b"[" * 40, DeadLetterReason.TOO_DEEP),
        (b" " * (MAX_RESULT + 1), DeadLetterReason.TOO_LARGE),
    ],
)
def test_a_body_is_checked_though_it_is_not_parsed(body: bytes, reason: DeadLetterReason) -> None:
    rejected = decode(Stream.EVENTS, {b"__data__": json.dumps(TASK).encode(), b"__body__": body})
    assert isinstance(rejected, Rejected)
    assert rejected.reason is reason


@pytest.mark.parametrize(
    "trace",
    [
        "",
        "nonsense",
        TRACE.upper(),
        f"00-{'0' * 32}-b7ad6b7169203331-01",
        "x" * 100,
        7,
        None,
        {},
        f"ff{TRACE[2:]}",
    ],
)
def test_a_bad_traceparent_is_dropped_and_no_error(trace: object) -> None:
    assert message(traceparent=trace) == message()


@pytest.mark.parametrize(
    ("text", "deep"),
    [
        (b"[" * 32 + b"]" * 32, False),
        (b"[" * 33 + b"]" * 33, True),
        (b"[" + b"[]," * 500 + b"[]]", False),
        (b'["' + b"[{" * 100 + b'"]', False),
        (rb'["\"' + b"[{" * 100 + b'"]', False),
        (rb'["\\",' + b"[" * 40, True),
        (b'"' + b'\\"' * 100_000, False),
        (b'\\"' * 100_000 + b"[" * 40, False),  # an endless string; the parser says what is wrong
    ],
)
def test_depth_is_counted_outside_of_strings(text: bytes, deep: bool) -> None:
    assert too_deep(text) is deep
