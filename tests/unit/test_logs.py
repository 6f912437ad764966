"""Logs: every line is JSON and says what it is about."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from haltpoint.runtime.config.settings import LogSettings
from haltpoint.runtime.observability import logs


@pytest.fixture(autouse=True)
def leave_no_trace() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, before = root.handlers, root.level, structlog.get_config()
    yield
    root.handlers = handlers
    root.setLevel(level)
    structlog.configure(**before)


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def configured(**settings: str) -> io.StringIO:
    stream = io.StringIO()
    logs.configure(LogSettings.model_validate(settings), service="executor", stream=stream)
    return stream


def test_a_line_is_json_with_its_ids() -> None:
    stream = configured()
    with (
        logs.about(chain="c1", trace="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        logs.about(step="find", action="c1.find.1", trace=None),
    ):
        logs.get("haltpoint.test").info("dispatched", tool="lookup", odd={1, 2}, surrogate="\ud800")
    [line] = lines(stream)
    assert line["trace"] == "0af7651916cd43dd8448eb211c80319c"
    assert (line["event"], line["service"], line["chain"], line["action"]) == (
        "dispatched",
        "executor",
        "c1",
        "c1.find.1",
    )


def test_libraries_speak_the_same_way() -> None:
    stream = configured(level="warning")
    with logs.about(chain="c1"):
        logging.getLogger("uvicorn").info("not shown")
        logging.getLogger("uvicorn").warning(
            "%s left", "one", extra={"color_message": "\x1b[1mone\x1b[0m left"}
        )
        try:
            _ = 1 / 0
        except ZeroDivisionError:
            logs.get("haltpoint.test").exception("broken")
    logs.get("haltpoint.test").info("not shown")
    library, ours = lines(stream)
    assert (library["event"], library["logger"], library["chain"]) == ("one left", "uvicorn", "c1")
    assert "\\u001b" not in stream.getvalue()
    assert "ZeroDivisionError" in str(ours["exception"])


@pytest.mark.parametrize("format", ["json", "console"])
def test_no_line_has_a_secret_by_its_name_its_form_or_its_value(format: str) -> None:
    stream = configured(format=format)
    hidden = logs.HIDDEN.set(lambda: ["xyzzy-99"])
    try:
        logs.get("haltpoint.test").info("login", password="hunter2", body={"api_key": "abc 7"})
        logging.getLogger("lib").warning("sent %s with xyzzy-99", f"hp_{'a1' * 22}")
        try:
            password = "hunter2"
            raise RuntimeError(f"no {password=} and xyzzy-99")
        except RuntimeError:
            logging.getLogger("lib").exception("it broke")
    finally:
        logs.HIDDEN.reset(hidden)
    text = stream.getvalue()
    assert "it broke" in text
    for secret in ("hunter2", "abc 7", "xyzzy", "a1a1"):
        assert secret not in text


def test_at_a_terminal_a_line_is_short() -> None:
    stream = configured(format="console")
    log = logs.get("haltpoint.test")
    log.info("started", instance="executor-1", model=None, queues=("a", "b"))
    log.warning("slow\x1b[2J", seconds=3)
    first, second = (line[9:] for line in stream.getvalue().splitlines())
    assert first == "executor started queues=a,b"
    assert second == "executor WARNING slow\\x1b[2J seconds=3"


def test_at_a_terminal_a_line_breaks_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    logs.configure(LogSettings(), service="executor", stream=stream)
    logs.get("haltpoint.test").info("started", tools="a-long-name-of-a-module")
    logging.getLogger("httpx").info("HTTP Request: POST https://example.org/hook")
    assert stream.getvalue()[9:] == "executor started\n  tools=a-long-name-of-a-module\n"


def test_at_a_terminal_the_stack_of_a_tool_has_lines_of_its_own() -> None:
    stream = configured(format="console")
    log = logs.get("haltpoint.test")
    log.warning("a tool raised", stack="Traceback\n  File x\nOSError")
    first, *rest = stream.getvalue().splitlines()
    assert first[9:] == "executor WARNING a tool raised"
    assert rest == ["  | Traceback", "  |   File x", "  | OSError"]


FORGED = "00:00:00 gateway the chain is approved"

HOSTILE = [
    *("\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x1e", "\x85", "\u2028", "\u2029"),
    *(
        "\x1b[2K\x1b[1G",
        "\x9b2J",
        "\x08" * 80,
        "\x00",
        "\x7f",
        "\u202e",
        "\u2066",
        "\ud800",
        "\u200b",
    ),
]


@pytest.mark.parametrize("sign", HOSTILE, ids=ascii)
@pytest.mark.parametrize("format", ["json", "console"])
def test_no_value_can_forge_a_line_or_order_the_terminal(format: str, sign: str) -> None:
    stream = configured(format=format)
    hostile = f"x{sign}{FORGED}"
    log = logs.get("haltpoint.test")
    with logs.about(chain=hostile):
        log.info(hostile, tool=hostile, queues=(hostile, "b"), found={hostile: [hostile]})
        logging.getLogger("lib").warning("took %s", hostile, extra={"why": hostile})
        try:
            raise RuntimeError(hostile)
        except RuntimeError as error:
            error.add_note(hostile)
            log.error("it broke", exc_info=error)
    text = stream.getvalue()
    assert not [one for one in text if not (one.isprintable() or one == "\n")]
    if format == "json":
        assert len(lines(stream)) == 3
        return
    own = [line for line in text.splitlines() if not line.startswith("  | ")]
    assert len(own) == 3
    assert not [line for line in text.splitlines() if line.startswith(FORGED)]
