"""Four tools for the calendar of one week, which is one SQLite file.

    haltpoint up --tools examples.delegation.tools

DELEGATION_DATABASE names the file (default: calendar.db). A new one begins with a full Tuesday.
"""

import os
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from haltpoint import Ctx, tool

HOURS = 8
"""of a working day; a task takes one."""
BEGINNING = [
    (f"start.{number}", "Tuesday", f"Workshop, part {number}") for number in range(1, HOURS)
]

Day = Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]
Title = Annotated[str, Field(description="the task in a few words", min_length=1, max_length=200)]


class Calendar(BaseModel):
    """One day: how many hours of it are free, and what is planned."""

    day: Day
    free_hours: int
    planned: list[str]


class Entered(BaseModel):
    """A task in the calendar; `day` is `later` when it has none."""

    title: str
    day: str


@asynccontextmanager
async def lifespan() -> AsyncGenerator[Path]:
    """The file that the environment names."""
    path = Path(os.environ.get("DELEGATION_DATABASE", "calendar.db"))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE TABLE IF NOT EXISTS tasks (key TEXT PRIMARY KEY, day TEXT, title "
            "TEXT, place INTEGER)"
        )
        database.executemany("INSERT OR IGNORE INTO tasks VALUES (?, ?, ?, 1)", BEGINNING)
    yield path


@tool(read_only=True)
def look_at_calendar(day: Day, ctx: Ctx[Path]) -> Calendar:
    """Look at one day: what is planned, and how many hours are free."""
    with closing(sqlite3.connect(ctx.deps)) as database:
        found = database.execute(
            "SELECT title FROM tasks WHERE day = ? ORDER BY place, rowid", (day,)
        ).fetchall()
    return Calendar(
        day=day, free_hours=max(0, HOURS - len(found)), planned=[title for (title,) in found]
    )


@tool(idempotent=True, says="Put first on {day}: {title}")
def do_first(title: Title, day: Day, ctx: Ctx[Path]) -> Entered:
    """Put a task before all else on its day."""
    return _enter(ctx, title, day, place=0)


@tool(idempotent=True, says="Planned for {day}: {title}")
def plan_task(title: Title, day: Day, ctx: Ctx[Path]) -> Entered:
    """Put a task behind all else on its day."""
    return _enter(ctx, title, day, place=1)


@tool(idempotent=True, says="Kept for later: {title}")
def keep_for_later(title: Title, ctx: Ctx[Path]) -> Entered:
    """Keep a task that has no day."""
    return _enter(ctx, title, "later", place=1)


def _enter(ctx: Ctx[Path], title: str, day: str, place: int) -> Entered:
    """The task in the calendar; once under its key, however often the call runs."""
    with closing(sqlite3.connect(ctx.deps)) as database, database:
        row = (ctx.idempotency_key, day, title, place)
        database.execute("INSERT OR IGNORE INTO tasks VALUES (?, ?, ?, ?)", row)
    return Entered(title=title, day=day)
