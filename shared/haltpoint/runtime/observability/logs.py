"""One log for a process: JSON lines on stderr, short ones at a terminal, each with the ids it is
about.

Chain, step, action and trace are set with `about` and travel in a context variable, so that whoever
logs below, a library or a tool too, needs no argument for them. Ids are logged freely, arguments
only by choice.
"""

import logging
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from shutil import get_terminal_size
from textwrap import fill
from typing import Final, TextIO, cast

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

from haltpoint.chain.model.canonical import spelt_out
from haltpoint.contracts.secrets import starred
from haltpoint.runtime.config.settings import LogSettings

ABOUT: Final[ContextVar[Callable[[], dict[str, str]]]] = ContextVar("about", default=dict)
"""What lines are about, by name: asked only when one is written."""

HIDDEN: Final[ContextVar[Callable[[], Iterable[str]]]] = ContextVar("hidden", default=tuple)
"""Texts that are in no line, beside secrets of known names and forms; asked in the same way."""


def configure(settings: LogSettings, *, service: str, stream: TextIO | None = None) -> None:
    """Send our lines and those of libraries to `stream` (default: stderr), named after `service`.
    May be repeated.
    """
    out = stream or sys.stderr
    level = logging.getLevelNamesMapping()[settings.level.upper()]
    pretty = settings.format == "console" or (settings.format == "auto" and out.isatty())

    def say_what_it_is_about(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
        return {"service": service, **ABOUT.get()(), **event}

    shared: list[Processor] = [
        say_what_it_is_about,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    last: list[Processor] = [
        structlog.processors.format_exc_info,
        _without_secrets,
        partial(_short, get_terminal_size().columns if out.isatty() else sys.maxsize)
        if pretty
        else structlog.processors.JSONRenderer(),
    ]
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
    for chatty in ("httpx", "uvicorn"):  # they tell about every request
        logging.getLogger(chatty).setLevel(max(level, logging.WARNING))
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        # A cached logger would keep the level and stream of an earlier `configure`.
        cache_logger_on_first_use=False,
    )


def get(name: str) -> FilteringBoundLogger:
    """Return the logger of a module: `log = logs.get(__name__)`, then `log.info("what happened",
    key=value)`.
    """
    return cast("FilteringBoundLogger", structlog.stdlib.get_logger(name))


@contextmanager
def about(**named: str | None) -> Generator[None]:
    """Name what every line inside is about, in this task and those that it starts: its chain, step,
    action and trace, a traceparent of which the line has the id. What is None stays as it is.
    """
    given = ABOUT.get()() | ids(**named)
    before = ABOUT.set(lambda: given)
    try:
        yield
    finally:
        ABOUT.reset(before)


def ids(**named: str | None) -> dict[str, str]:
    """What `about` adds to a line."""
    given = {name: text for name, text in named.items() if text}
    if "trace" in given:
        _, trace, *_ = given["trace"].split("-")
        given["trace"] = trace
    return given


def _short(columns: int, _: WrappedLogger, __: str, event: EventDict) -> str:
    """A line for people: when, which service, what happened, and what it is about. Wrapped between
    words.
    """
    left_out = {
        "timestamp",
        "service",
        "event",
        "level",
        "logger",
        "exception",
        "stack",
        "instance",
        "code",
    }
    level = event["level"]
    happened = event["event"]
    parts = [event["timestamp"][11:19], event["service"]]
    if level not in ("info", "debug"):
        parts.append(level.upper())
    parts.append(str(happened))
    for name, value in event.items():
        if name not in left_out and value not in (None, "", ()):
            is_list = isinstance(value, tuple | list | set | frozenset)
            parts.append(f"{name}={','.join(map(str, value)) if is_list else value}")
    stack = str(event.get("exception") or event.get("stack", "")).splitlines()
    whole = fill(
        spelt_out(" ".join(parts)),
        columns,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    lines = [f"  | {spelt_out(line)}" for line in stack]  # no text of it begins a line
    return "\n".join((whole, *lines))


def _plain(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Without uvicorn's second copy of its words, which is made for terminals."""
    event.pop("color_message", None)
    return event


def _without_secrets(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    shown: EventDict = starred(event, values=HIDDEN.get()())
    return shown
