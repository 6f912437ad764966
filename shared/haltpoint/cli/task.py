"""The options of `haltpoint run` as the body of POST /v1/tasks, and arguments of tools."""

import sys
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

from haltpoint.cli.errors import usage
from haltpoint.runtime.config.errors import HaltpointError, why_unread


class Mode(StrEnum):
    """`contracts.work.tasks.Mode` once more: that module imports slowly, and help needs these
    words.
    """

    STRICT = "strict"
    ADVISORY = "advisory"
    OFF = "off"


def texts_of(pairs: Iterable[str], what: str, fix: str) -> dict[str, str]:
    """NAME=VALUE pairs, as texts: the schema says what they are. Raises HaltpointError."""
    texts: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        name = name.strip()
        if not (equals and name):
            raise usage(f"{pair!r} is not {what}", "it is written NAME=VALUE", fix)
        if name in texts:
            raise usage(f"{name} is given twice", "only one value can count", fix)
        texts[name] = value
    return texts


def read_json(path: Path) -> Any:
    """A JSON file; `-` is stdin. Raises HaltpointError HP-041."""
    from haltpoint.contracts.strict_json import read_strictly

    try:
        is_stdin = str(path) == "-"
        return read_strictly(sys.stdin.read() if is_stdin else path.read_bytes())
    except (OSError, ValueError) as error:
        what, fix = f"{path} cannot be read", "Give a file with JSON"
        raise HaltpointError("HP-041", what, why_unread(error), fix) from error


def context_of(text: str) -> Any:
    """--context: JSON, or @FILE with it."""
    if text.startswith("@"):
        return read_json(Path(text[1:]))
    from haltpoint.contracts.strict_json import read_strictly

    try:
        return read_strictly(text)
    except ValueError as error:
        why = f"{text!r}: {why_unread(error)}"
        fix = """--context '{"team": "a"}', or --context @context.json"""
        raise usage("--context takes JSON", why, fix) from error


def deadline_of(text: str, now: datetime) -> str:
    """--deadline: how long from now, or a date and a time; without a zone that of this machine."""
    from haltpoint.contracts.written import in_seconds

    length = in_seconds(text)
    try:
        if isinstance(length, float):
            moment = now + timedelta(seconds=length)
        else:
            moment = datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError) as error:
        fix = "--deadline 2h, or --deadline 2030-01-31T18:00"
        why = f"{text!r} is neither"
        raise usage("--deadline takes a length of time or a time", why, fix) from error
    if moment <= now:
        why = f"{moment:%Y-%m-%d %H:%M} has passed"
        raise usage("--deadline must be later than now", why, "--deadline 2h")
    return moment.isoformat()


def task_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """The body: the options that were given, under their names, and read where they are written in
    another form. All else is for the gateway to judge.
    """
    task = {name: value for name, value in options.items() if value}
    if not task.keys() & {"goal", "plan"}:
        why = "neither a goal nor a plan was given"
        raise usage("there is nothing to do", why, 'haltpoint run "Tell Jane hello"')
    if "plan" in task:
        task["plan"] = read_json(task["plan"])
    if "context" in task:
        task["context"] = context_of(task["context"])
    if "budget" in task:
        fix = "--budget turns=20,actions=10,tokens=50000,seconds=600, with those that you want"
        task["budget"] = texts_of(task["budget"].split(","), "a limit", fix)
    if "deadline" in task:
        task["deadline"] = deadline_of(task["deadline"], datetime.now().astimezone())
    return task
