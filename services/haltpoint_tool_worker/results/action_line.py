"""One line of the log for each action that is recorded; arguments and data are in the action log of
the chain.
"""

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.results import Metadata
from haltpoint.runtime.observability import logs
from haltpoint.runtime.store.receipts import Finished
from haltpoint_tool_worker.running.job import Job

_log = logs.get(__name__)


def log_action(job: Job, finished: Finished) -> None:
    """Write how an action ended."""
    error, metadata = finished.outcome.error, finished.metadata or Metadata()
    line: JsonObject = {
        "tool": job.request.tool,
        "position": job.request.position,
        "status": finished.outcome.next_action.value,
        "attempt": finished.attempt,
        "duration_ms": metadata.duration_ms,
        "sources": {place: source.source.value for place, source in metadata.sources.items()},
    }
    if error is not None:
        line |= {
            "error": error.error_type.value,
            "why": error.message,
            "recoverable": error.recoverable,
        }
    _log.info("action", **line)
