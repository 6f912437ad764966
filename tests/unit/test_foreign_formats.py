"""What a broker of FastStream has published is a task or stays rejected, whatever its bytes."""

import json
from typing import Any

import pytest
from faststream.redis import BinaryMessageFormatV1

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.events import TaskSubmitted
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.streams.wire import DeadLetterReason, Decoded, Rejected, decode, read_foreign

MESSAGE: JsonObject = {
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
    return read_foreign("hp:{0}:events", "17-0", fields, rejected)


async def binary(message: Any, **headers: str) -> bytes:
    """What `broker.publish` writes."""
    return await BinaryMessageFormatV1.encode(
        message=message, reply_to=None, headers=headers, correlation_id="c"
    )


async def test_a_message_is_read_and_a_body_has_the_id_of_its_entry() -> None:
    task = Task(goal="Tell John")
    message = read(await binary(MESSAGE))
    assert isinstance(message, Decoded)
    assert message.message == TaskSubmitted(id="order-17", source="shop", data=task)
    alone = TaskSubmitted(id="17-0", source="hp:{0}:events", data=task)
    for data in (await binary(MESSAGE["data"], head="ü"), json.dumps(MESSAGE["data"]).encode()):
        body = read(data)
        assert isinstance(body, Decoded)
        assert body.message == alone


@pytest.mark.parametrize(
    "data",
    [
        MAGIC,
        MAGIC + b"\xff" * 10,
        MAGIC + b"\x00\x01" + b"\x00\x00\x00\x12" * 2 + b"[" * 100_000,
        MAGIC + b"\x00\x01" + b"\x00\x00\x00\x12" * 2 + b'["a"]',
        b"\xff",
        b'["a"]',
        b'{"goal": 5}',
        b'{"type": "chain.begun.v1"}',
    ],
)
def test_all_else_stays_rejected(data: bytes) -> None:
    found = read(data)
    assert isinstance(found, Rejected)
    assert found.reason in DeadLetterReason
