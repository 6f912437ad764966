"""The options of `haltpoint run` as the body of POST /v1/tasks."""

import json
import re
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from haltpoint.cli.errors import CliError, Exit, usage

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_LIMITS: Final = {"turns": int, "actions": int, "tokens": int, "cost": float, "seconds": float}


class Mode(StrEnum):
    """`contracts.work.tasks.Mode` once more: that module imports slowly, and help needs these
    words.
    """

    STRICT = "strict"
    ADVISORY = "advisory"
    OFF = "off"


def read_json(path: Path) -> Any:
    """A JSON file; `-` is stdin. Raises CliError HP-041."""
    try:
        return json.loads(
            sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
        )
    except (OSError, ValueError) as error:
        what, fix = f"{path} cannot be read", "Give a file with JSON"
        raise CliError("HP-041", what, str(error), fix, exit_code=Exit.USAGE) from error


def context_of(text: str) -> dict[str, Any]:
    """--context: a JSON object, or @FILE with one."""
    fix = """--context '{"team": "a"}', or --context @context.json"""
    if text.startswith("@"):
        value = read_json(Path(text[1:]))
    else:
        try:
            value = json.loads(text)
        except ValueError as error:
            raise usage("--context takes JSON", f"{text!r} is not JSON: {error}", fix) from None
    if not isinstance(value, dict):
        raise usage("--context takes a JSON object", f"{text!r} is not an object", fix)
    return value


def budget_of(text: str) -> dict[str, float]:
    """--budget: limits by name."""
    fix = "--budget turns=20,actions=10,tokens=50000,seconds=600, with those that you want"
    budget: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = (one.strip() for one in part.partition("="))
        if name not in _LIMITS:
            raise usage(
                "--budget takes limits",
                f"{part.strip()!r} is unknown; there are {', '.join(_LIMITS)}",
                fix,
            )
        try:
            budget[name] = _LIMITS[name](number)
        except ValueError:
            budget[name] = 0
        if not 0 < budget[name] < float("inf"):
            raise usage(
                "--budget takes limits", f"{name} needs a number above 0, not {number!r}", fix
            )
    return budget


def deadline_of(text: str, now: datetime) -> str:
    """--deadline: how long from now, a time of today, or a date and a time; without a zone that of
    this machine.
    """
    if found := re.fullmatch(r"\s*(\d{1,6})\s*([smhd])\s*", text):
        moment = now + timedelta(**{_UNITS[found[2]]: int(found[1])})
    else:
        is_time = re.fullmatch(r"\d\d:\d\d(:\d\d)?", text)
        try:
            moment = datetime.fromisoformat(
                f"{now:%Y-%m-%d}T{text}" if is_time else text
            ).astimezone()
        except ValueError:
            fix = "--deadline 2h, --deadline 18:00, or --deadline 2030-01-31T18:00"
            raise usage(
                "--deadline takes a length of time or a time", f"{text!r} is neither", fix
            ) from None
    if moment <= now:
        raise usage(
            "--deadline must be later than now",
            f"{moment:%Y-%m-%d %H:%M} has passed",
            "--deadline 2h",
        )
    return moment.isoformat()


def task_of(
    goal: str,
    plan: Path | None,
    *,
    context: str | None,
    tools: Sequence[str],
    budget: str | None,
    deadline: str | None,
    **same: str | int | None,
) -> dict[str, Any]:
    """The body: `same` are the fields that go in as they are. What was not given is left out."""
    if not goal and plan is None:
        raise usage(
            "there is nothing to do",
            "neither a goal nor a plan was given",
            'haltpoint run "Tell Jane hello"',
        )
    given: dict[str, Any] = {"goal": goal or None, **same}
    task = {name: value for name, value in given.items() if value is not None}
    if plan is not None:
        task["plan"] = read_json(plan)
    if context is not None:
        task["context"] = context_of(context)
    if tools:
        task["tools"] = [
            glob.strip() for given in tools for glob in given.split(",") if glob.strip()
        ]
    if budget is not None:
        task["budget"] = budget_of(budget)
    if deadline is not None:
        task["deadline"] = deadline_of(deadline, datetime.now().astimezone())
    return task
