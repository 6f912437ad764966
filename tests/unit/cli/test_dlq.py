"""What people are shown of a dead letter."""

import json

import pytest

from haltpoint.cli.dlq import _letter


def shown(message: str) -> str:
    return _letter("0/1-0", {b"__data__": message.encode()}).message


def test_c15_what_a_task_gave_to_its_tools_alone_is_not_shown() -> None:
    order = {"id": "c.s1.1/1", "data": {"tool": "send", "private": {"token": "s3cret"}}}
    assert json.loads(shown(json.dumps(order))) == {"id": "c.s1.1/1", "data": {"tool": "send"}}


@pytest.mark.parametrize("message", ['{"data": {"private": {}}}', '{"private"', '["private"]', '{"data": ["private"]}'])
def test_everything_else_is_shown_as_it_is(message: str) -> None:
    assert shown(message) == message
