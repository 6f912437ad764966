"""A provider that writes down, on the disk, each time that it is called: a tool for each class of
effects.

The task's context says where (`history`) and how long a call takes (`seconds`, or `until` there is
such a file, which it takes away).
"""

import asyncio
import os
import signal
import time
from functools import cache
from pathlib import Path
from typing import Any

from haltpoint import Ctx, Option, ToolResult, tool
from tests.chaos.fail_points import passing
from tests.proofs.records import DESTRUCTIVE, Effect, Recorder, hash_of
from tests.support import wait_until


@cache
def recorder(folder: str) -> Recorder:
    return Recorder(Path(folder), "provider")


async def _happen(ctx: Ctx, effects: str, text: str) -> dict[str, Any]:
    recorder(ctx.context["history"]).write(
        Effect(ctx.idempotency_key, effects, hash_of(text), ctx.confirmed)
    )
    passing("effect")
    await asyncio.sleep(float(ctx.context.get("seconds", 0)))
    if "until" in ctx.context:
        awaited = Path(ctx.context["until"])
        await wait_until(awaited.exists)
        await asyncio.to_thread(awaited.unlink)
    return {"text": text}


@tool(queue="chaos", read_only=True)
async def look(text: str, ctx: Ctx) -> dict[str, Any]:
    """Look something up."""
    return await _happen(ctx, "read_only", text)


@tool(queue="chaos", idempotent=True)
async def save(text: str, ctx: Ctx) -> dict[str, Any]:
    """Save something under the call's key."""
    return await _happen(ctx, "idempotent", text)


@tool(queue="chaos")
async def send(text: str, ctx: Ctx) -> dict[str, Any]:
    """Send something: twice would be twice."""
    return await _happen(ctx, "other", text)


def describe(text: str) -> str:
    """What is lost; always the same."""
    passing("preview")
    return f"Drops {text!r} for ever."


@tool(queue="chaos", destructive=True, preview=describe)
async def drop(text: str, ctx: Ctx) -> dict[str, Any]:
    """Drop something, which cannot be undone."""
    return await _happen(ctx, DESTRUCTIVE, text)


@tool(queue="chaos", read_only=True, may_clarify=True)
async def ask(text: str, ctx: Ctx) -> ToolResult[dict[str, Any]]:
    """Find two, and ask which one was meant."""
    await _happen(ctx, "read_only", text)
    options = [
        Option(id=name, title=name, value={"text": f"{text} {name}"}) for name in ("left", "right")
    ]
    return ctx.clarify("side", "Which one?", options)


@tool(queue="chaos", effect_key="pay:{text}", says="Paid {text}")
async def pay(text: str, ctx: Ctx) -> dict[str, Any]:
    """Pay something: once, whichever chain asks for it."""
    return await _happen(ctx, "other", text)


@tool(queue="chaos", read_only=True)
def bulk(text: str, ctx: Ctx) -> dict[str, Any]:
    """Find very much."""
    return {"text": "x" * int(ctx.context["bytes"])}


@tool(queue="chaos", read_only=True, timeout="1s")
async def block(text: str, ctx: Ctx) -> dict[str, Any]:
    """Block the event loop of its worker, and with it all that runs there."""
    found = await _happen(ctx, "read_only", text)
    time.sleep(600)  # noqa: ASYNC251 - that is what it is for
    return found


@tool(queue="chaos", read_only=True)
async def die(text: str, ctx: Ctx) -> dict[str, Any]:
    """Take its worker with it, each time."""
    found = await _happen(ctx, "read_only", text)
    os.kill(os.getpid(), signal.SIGKILL)
    return found
