"""Tools that a test can look into: they count who runs, wait at gates, and write effects for all to
see.
"""

import asyncio
import os
import re
import signal
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel

from haltpoint.tools import Ctx, Option, Target, ToolError, ToolResult, hook, tool
from haltpoint.tools.hooks import Call
from tests.support import wait_until


class Book:
    """What the tools need; open while a worker lives."""

    open = False


BOOK = Book()


class Gate:
    """Where calls wait. `inside` counts them, `most` is the most that there ever were."""

    def __init__(self) -> None:
        self.close()

    def close(self) -> None:
        self.event = asyncio.Event()
        self.thread_event = threading.Event()
        self.inside = self.most = self.passed = 0

    def enter(self) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)

    def open(self) -> None:
        self.event.set()
        self.thread_event.set()


GATE = Gate()


@asynccontextmanager
async def lifespan() -> AsyncIterator[Book]:
    BOOK.open = True
    try:
        yield BOOK
    finally:
        BOOK.open = False


class Match(BaseModel):
    contact_id: str


def effect(ctx: Ctx) -> None:
    """One line for each effect: who did it under which key."""
    with Path(ctx.context["effects"]).open("a") as file:
        file.write(f"{ctx.idempotency_key} {os.getpid()}\n")
        file.flush()
        os.fsync(file.fileno())


@tool(read_only=True, may_clarify=True)
async def lookup(query: str, ctx: Ctx[Book]) -> ToolResult[Match]:
    """Find a contact."""
    assert ctx.deps.open
    if query == "nobody":
        raise ToolError.not_found("no contact matches", suggestion="Check the spelling.")
    if query == "two":
        return ctx.clarify(
            "contact", "Which?", [Option(id=n, title=n, value=Match(contact_id=n)) for n in "ab"]
        )
    return ctx.ok(Match(contact_id=query))


@tool
async def send(text: str, ctx: Ctx[Book]) -> None:
    effect(ctx)


@tool(read_only=True)
async def blab(how: str, ctx: Ctx[Book]) -> Any:
    """Says what the task gave to its tools alone, in every way in which a tool has words."""
    words = (
        f"cannot use {ctx.private['token']} of {ctx.private['users'][0]['name']} in "
        f"{ctx.private['place']}"
    )
    if how == "raises":
        raise RuntimeError(words)
    if how == "declares":
        raise ToolError.not_found(words, suggestion=words, invalid_fields=(words,))
    if how == "warns":
        return ctx.ok({}, warnings=(words,))
    return {"success": False, "message": words}


async def until_released(ctx: Ctx[Book]) -> None:
    """Wait, in whatever process, until the test says so."""
    await wait_until(Path(ctx.context["effects"]).with_name("released").exists)


@tool(read_only=True)
async def read_and_die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@tool
async def send_and_die(ctx: Ctx[Book]) -> None:
    effect(ctx)
    os.kill(os.getpid(), signal.SIGKILL)


@tool(read_only=True)
async def search_for_ever() -> bool:
    """Holds the interpreter, and with it all threads."""
    return re.match("(a|aa)+$", "a" * 200 + "!") is not None


@tool(read_only=True)
async def read_a_while() -> str:
    await asyncio.sleep(0.3)
    return "read"


@tool
async def send_slowly(ctx: Ctx[Book]) -> None:
    effect(ctx)
    await until_released(ctx)


@tool(idempotent=True)
async def put_slowly(ctx: Ctx[Book]) -> None:
    effect(ctx)
    await until_released(ctx)


@tool(read_only=True)
async def wait(ctx: Ctx[Book]) -> dict[str, int]:
    gate = GATE
    gate.enter()
    try:
        await gate.event.wait()
        gate.passed += 1
    finally:
        gate.inside -= 1
    return {"passed": gate.passed}


@tool(read_only=True, timeout=0.2)
def wait_in_a_thread() -> str:
    gate = GATE
    gate.enter()
    gate.thread_event.wait()
    gate.inside -= 1
    return "awake"


@tool(read_only=True)
def add(left: int, right: int) -> int:
    return left + right


@tool(read_only=True)
async def block_the_loop(seconds: float) -> float:
    time.sleep(seconds)  # noqa: ASYNC251 - that is what it is for
    return seconds


@tool(timeout="300ms")
async def send_and_block(seconds: float, ctx: Ctx[Book]) -> str:
    effect(ctx)
    time.sleep(seconds)  # noqa: ASYNC251 - that is what it is for
    return "sent"


@tool(read_only=True, timeout="300ms")
async def block_briefly(seconds: float) -> float:
    time.sleep(seconds)  # noqa: ASYNC251 - that is what it is for
    return seconds


async def block(seconds: float) -> float:
    time.sleep(seconds)  # noqa: ASYNC251 - that is what it is for
    return seconds


@tool(read_only=True, timeout="300ms")
async def block_briefly_in_a_task(seconds: float) -> float:
    (done,) = await asyncio.gather(block(seconds))
    return done


@tool(read_only=True)
async def read_until_released(ctx: Ctx[Book]) -> str:
    Path(ctx.context["effects"]).with_name("begun").touch()
    await until_released(ctx)
    return "read"


def asleep(seconds: float) -> float:
    time.sleep(seconds)  # a tool that takes its time in a thread
    return seconds


@tool(read_only=True, timeout="300ms")
async def picky(seconds: Annotated[float, AfterValidator(asleep)]) -> float:
    """Looks at its arguments for too long."""
    return seconds


@tool(timeout="300ms")
async def send_and_review(seconds: float, ctx: Ctx[Book]) -> None:
    effect(ctx)


@hook.post(tools="send_and_review")
async def slow_review(call: Call, result: ToolResult[Any], ctx: Ctx[Book]) -> None:
    time.sleep(call.arguments["seconds"])  # noqa: ASYNC251 - that is the mistake


@tool(read_only=True, timeout="200ms")
async def stubborn() -> str:
    """Takes no notice of being cancelled, and answers in time for those who wait a moment
    longer.
    """
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        await asyncio.sleep(0.05)
    return "after all"


@tool
async def pay(bill: str, ctx: Ctx[Book]) -> str:
    if not ctx.confirmed:
        return ctx.confirm("pay", Target(id=bill), f"Pay {bill}?")  # type: ignore[return-value]
    effect(ctx)
    return "paid"


async def wait_without_await(seconds: float) -> str:
    time.sleep(seconds)  # noqa: ASYNC251 - that is the mistake
    return "too late"


@tool(destructive=True, preview=wait_without_await, timeout="300ms")
async def delete_slowly(seconds: float, ctx: Ctx[Book]) -> None:
    effect(ctx)


@tool(destructive=True)
async def delete(name: str, ctx: Ctx[Book]) -> None:
    effect(ctx)
