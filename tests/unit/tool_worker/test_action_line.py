"""The line that a worker writes for each action: how it ended, and no arguments."""

import structlog

from haltpoint import ToolError
from haltpoint.contracts.reasons import Source, SourceKind
from haltpoint.contracts.secrets import starred
from haltpoint.tools import register
from haltpoint_tool_worker.handlers import log_action
from tests.unit.tool_worker.calling import Call


async def test_a_line_says_how_an_action_ended_and_no_arguments() -> None:
    def send(text: str) -> None:
        raise ToolError.permission("not you")

    call = Call((register(send),), "send", '{"text": "hello"}', attempt=2)
    finished = await call.receipt()
    with structlog.testing.capture_logs() as lines:
        log_action(call.job, finished)
    (line,) = lines
    assert (line["event"], line["tool"], line["status"], line["attempt"]) == (
        "action",
        "send",
        "error",
        2,
    )
    assert (line["error"], line["why"], line["recoverable"]) == ("PERMISSION", "not you", False)
    assert "arguments" not in line


async def test_a_line_says_where_values_come_from_whatever_their_parameters_are_called() -> None:
    def pay(iban: str) -> None: ...

    found = {"iban": Source(source=SourceKind.MODEL, excerpt="a text")}
    call = Call((register(pay),), "pay", '{"iban": "DE89"}', sources=found)
    finished = await call.receipt()
    with structlog.testing.capture_logs() as lines:
        log_action(call.job, finished)
    assert starred(lines[0])["sources"] == {"iban": {"source": "model"}}
