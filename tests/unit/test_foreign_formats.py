"""Tasks in the formats of FastStream: read as what they are, or rejected with a reason that says
what is wrong.
"""

import json
import struct
from typing import Any

import pytest
from faststream.redis import BinaryMessageFormatV1

from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.events import TaskSubmitted
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.streams.foreign_formats import read_foreign
from haltpoint.runtime.streams.wire import DeadLetterReason, Decoded, Rejected, decode

STREAM, ENTRY = "hp:{0}:events", "17-0"
MESSAGE: dict[str, Any] = {
    "id": "order-17",
    "source": "shop",
    "type": "task.submitted.v1",
    "data": {"goal": "Tell John"},
}
MAGIC = b"\x89BIN\r\n\x1a\n"


def read(data: bytes) -> Decoded | Rejected:
    fields = {b"__data__": data}
    rejected = decode(Stream.EVENTS, fields)
    assert isinstance(rejected, Rejected)
    return read_foreign(STREAM, ENTRY, fields, rejected)


def task(data: bytes) -> TaskSubmitted:
    decoded = read(data)
    assert isinstance(decoded, Decoded), decoded
    assert isinstance(decoded.message, TaskSubmitted)
    return decoded.message


def rejected(data: bytes) -> Rejected:
    found = read(data)
    assert isinstance(found, Rejected), found
    return found


async def binary(message: Any, **headers: str) -> bytes:
    """What `broker.publish` writes."""
    return await BinaryMessageFormatV1.encode(
        message=message, reply_to=None, headers=headers, correlation_id="c"
    )


async def test_a_message_is_read_and_a_body_whose_key_is_in_the_headers() -> None:
    wanted = TaskSubmitted(id="order-17", source="shop", data=Task(goal="Tell John"))
    assert task(await binary(MESSAGE)) == wanted
    assert task(await binary(json.dumps(MESSAGE))) == wanted, "text that is JSON is JSON"
    assert task(await binary(MESSAGE["data"], id="order-17", source="shop")) == wanted
    assert task(await binary(MESSAGE["data"], id="1")).source == "faststream"


@pytest.mark.parametrize(
    ("message", "reason", "words"),
    [
        ("Tell John", DeadLetterReason.BAD_JSON, "is not JSON"),
        (b"\xff", DeadLetterReason.BAD_JSON, "is not JSON"),
        (b"", DeadLetterReason.BAD_JSON, "is not JSON"),
        ([1], DeadLetterReason.BAD_FIELDS, "not a JSON object"),
        ({"gaol": "Tell John"}, DeadLetterReason.BAD_FIELDS, "read as the body of a task"),
        (MESSAGE | {"data": {"gaol": "x"}}, DeadLetterReason.BAD_FIELDS, "gaol"),
        (
            MESSAGE | {"type": "task.submitted.v9"},
            DeadLetterReason.UNKNOWN_VERSION,
            "task.submitted.v9",
        ),
        (MESSAGE | {"type": "order.placed"}, DeadLetterReason.UNKNOWN_MESSAGE, "order.placed"),
        (b'{"goal":"x","context":{"n":NaN}}', DeadLetterReason.BAD_JSON, "read as the body"),
        (b'{"goal":"x","context":{"n":1e999}}', DeadLetterReason.BAD_JSON, "read as the body"),
        (
            b'{"goal":"x","context":' + b'{"a":' * 60 + b"1" + b"}" * 61,
            DeadLetterReason.TOO_DEEP,
            "read as the body",
        ),
    ],
)
async def test_what_is_no_task_is_rejected_with_a_reason_that_names_the_format(
    message: Any, reason: DeadLetterReason, words: str
) -> None:
    found = rejected(await binary(message))
    assert (found.reason, words in found.detail) == (reason, True), found
    assert "in FastStream's binary format" in found.detail


async def test_another_version_of_the_format_is_for_another_release() -> None:
    found = rejected((await binary(MESSAGE)).replace(MAGIC + b"\x00\x01", MAGIC + b"\x00\x02"))
    assert found.reason is DeadLetterReason.UNKNOWN_VERSION
    assert "version 2" in found.detail


async def test_no_bytes_make_it_raise() -> None:
    whole = await binary(MESSAGE["data"], id="order-17")
    broken = [whole[:cut] for cut in range(len(MAGIC), len(whole) - 1)]
    broken += [
        whole[:at] + b"\xff\xff" + whole[at + 2 :] for at in range(len(MAGIC), len(whole) - 2)
    ]
    broken.append(MAGIC + struct.pack(">HII", 1, 2**32 - 1, 0))
    for data in broken:
        found = read(data)
        assert isinstance(found, Decoded) or found.detail, data
