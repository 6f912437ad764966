"""One line of the log, and attributes of the span, for each action that is recorded."""

from collections.abc import Callable
from typing import Any, Final, Literal

from pydantic_core import from_json, to_json

from haltpoint.contracts.secrets import starred
from haltpoint.runtime.observability import logs, telemetry
from haltpoint.runtime.store.receipts import Finished
from haltpoint_tool_worker.running.job import Job

_log = logs.get(__name__)

Detail = Literal["off", "on", "arguments"]
Tell = Callable[[Job, Finished], None]

_SHOWN: Final = 4096
"""Bytes of arguments and of data in a line; longer ones are left out."""


def action_line(detail: Detail) -> Tell | None:
    """What writes the line; None when it is off. Arguments and data are in it by `arguments` only, secrets starred."""
    if detail == "off":
        return None

    def tell(job: Job, finished: Finished) -> None:
        told = finished.metadata
        error = finished.outcome.error
        line: dict[str, Any] = {
            "tool": job.request.tool,
            "position": job.request.position,
            "status": finished.outcome.next_action.value,
            "duration_ms": told.duration_ms if told is not None else None,
            "attempt": finished.attempt,
        }
        if error is not None:
            line |= {"error": error.error_type.value, "why": error.message, "recoverable": error.recoverable}
        if told is not None and told.sources:
            line["sources"] = {place: source.source.value for place, source in told.sources.items()}
        if detail == "arguments":
            line |= {"arguments": _shown(job.arguments or "{}"), "result": _shown(finished.data or "{}")}
        if job.span is not None:
            named = {f"haltpoint.action.{name}": value for name, value in line.items() if name != "tool"}
            job.span.set_attributes({name: _plain(value) for name, value in named.items() if value is not None})
        _log.info("action", **line)

    return tell


def _shown(text: str) -> Any:
    return starred(from_json(text)) if len(text) <= _SHOWN else f"{len(text)} characters"


def _plain(value: Any) -> telemetry.Value:
    return value if isinstance(value, str | bool | int | float) else to_json(value).decode()
