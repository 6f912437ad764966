"""What people are shown of a dead letter."""

import json
from typing import Any

import pytest
from faststream.redis import BinaryMessageFormatV1

from haltpoint.cli.commands.dlq import _letter


def shown(message: str) -> str:
    return str(_letter("0/1-0", {b"__data__": message.encode()})["message"])


def test_c15_what_a_task_gave_to_its_tools_alone_is_not_shown() -> None:
    order = {"id": "c.s1.1/1", "data": {"tool": "send", "private": {"token": "s3cret"}}}
    assert json.loads(shown(json.dumps(order))) == {"id": "c.s1.1/1", "data": {"tool": "send"}}


async def test_c15_nor_in_a_task_that_a_user_of_faststream_has_published() -> None:
    task: Any = {"goal": "Tell John", "private": {"token": "s3cret"}}
    entry = await BinaryMessageFormatV1.encode(
        message=task, reply_to=None, headers=None, correlation_id="c"
    )
    assert _letter("0/1-0", {b"__data__": entry})["message"] == '{"goal":"Tell John"}'


@pytest.mark.parametrize(
    "message", ['{"data": {"private": {}}}', '{"private"', '["private"]', '{"data": ["private"]}']
)
def test_everything_else_is_shown_as_it_is(message: str) -> None:
    assert shown(message) == message
