"""The line that a worker writes for each action: what it is about, and arguments only when asked for."""

import pytest
import structlog

from haltpoint.contracts.commands import ToolRequested
from haltpoint.contracts.results import ErrorInfo, ErrorType, Metadata, NextAction, Outcome
from haltpoint.runtime.store.receipts import Finished
from haltpoint.runtime.streams.topology import EntryRef
from haltpoint_tool_worker.results.action_line import Detail, action_line
from haltpoint_tool_worker.running.job import Job

FAILED = Outcome(success=False, next_action=NextAction.ERROR, error=ErrorInfo(ErrorType.PERMISSION, "not you"))


def told(detail: Detail, arguments: str) -> dict[str, object]:
    tell = action_line(detail)
    request = ToolRequested.Data(action_id="c.s.1", tool="send", repeatable=False, timeout=1, deadline=1)
    job = Job(EntryRef.of("hp:{0}:tools:default", "1-0"), request, arguments, None, 1, 0)
    assert tell is not None
    metadata = Metadata(tool="send", duration_ms=7, attempt=2)
    finished = Finished(job.ref, job.request.action_id, 0, 2, FAILED, "{}", None, metadata)
    with structlog.testing.capture_logs() as lines:
        tell(job, finished)
    (line,) = lines
    return dict(line)


def test_a_line_says_how_an_action_ended_and_no_arguments() -> None:
    line = told("on", '{"text": "hello"}')
    assert (line["event"], line["tool"], line["status"], line["attempt"]) == ("action", "send", "error", 2)
    assert (line["error"], line["why"], line["recoverable"], line["duration_ms"]) == ("PERMISSION", "not you", False, 7)
    assert "arguments" not in line


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('{"text": "hello", "password": "x"}', {"text": "hello", "password": "***"}),
        ('{"text": "%s"}' % ("x" * 5000), "5012 characters"),
    ],
)
def test_arguments_are_shown_by_setting_with_secrets_starred_and_not_without_end(arguments: str, shown: object) -> None:
    assert told("arguments", arguments)["arguments"] == shown


def test_it_is_off_unless_set() -> None:
    assert action_line("off") is None
