"""One log for a process: JSON lines on stderr, pretty on a terminal, each line with the ids it is about.

The trace id is that of the current span; chain, step and action are set with `about` and travel in context variables,
so that whoever logs below, a library too, needs no argument for them. Ids are logged freely, arguments only by choice.
"""

import logging
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TextIO, cast

import structlog
from opentelemetry import trace
from structlog.contextvars import bound_contextvars, merge_contextvars
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

from haltpoint.runtime.settings import LogSettings

_LEADING = ["timestamp", "level", "event", "service", "logger", "trace", "chain", "step", "action"]


def configure(settings: LogSettings, *, service: str, stream: TextIO | None = None) -> None:
    """Send our lines and those of libraries to `stream` (default: stderr), named after `service`. May be repeated."""
    out = stream or sys.stderr
    level = logging.getLevelNamesMapping()[settings.level.upper()]
    pretty = settings.format == "console" or (settings.format == "auto" and out.isatty())

    def name_service(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
        return {"service": service, **event}

    shared: list[Processor] = [
        merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        name_service,
        _name_trace,
    ]
    last: list[Processor]
    if pretty:
        colors = out.isatty() and not os.environ.get("NO_COLOR")
        last = [structlog.dev.ConsoleRenderer(colors=colors)]
    else:
        last = [structlog.processors.format_exc_info, _put_ids_first, structlog.processors.JSONRenderer()]

    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.ExtraAdder(), _plain, *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        # A cached logger would keep the level and stream of an earlier `configure`.
        cache_logger_on_first_use=False,
    )


def get(name: str) -> FilteringBoundLogger:
    """Return the logger of a module: `log = logs.get(__name__)`, then `log.info("what happened", key=value)`."""
    return cast("FilteringBoundLogger", structlog.stdlib.get_logger(name))


@contextmanager
def about(*, chain: str | None = None, step: str | None = None, action: str | None = None) -> Generator[None]:
    """Name what every line inside is about, in this task and those that it starts; what is None stays as it is."""
    ids = {"chain": chain, "step": step, "action": action}
    with bound_contextvars(**{key: value for key, value in ids.items() if value is not None}):
        yield


def _plain(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Without uvicorn's second copy of its words, which is made for terminals."""
    event.pop("color_message", None)
    return event


def _name_trace(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    context = trace.get_current_span().get_span_context()
    return {"trace": f"{context.trace_id:032x}", **event} if context.is_valid else event


def _put_ids_first(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    return {key: event[key] for key in (*_LEADING, *event) if key in event}
