"""The tools of the measurements: one that does nothing, and some that take their time."""

import asyncio
from typing import Any

from haltpoint import Ctx, Option, ToolResult, tool


@tool(queue="bench", read_only=True)
async def noop(text: str) -> dict[str, Any]:
    """Give back what came in."""
    return {"text": text}


@tool(queue="bench", read_only=True)
async def sleep(text: str) -> dict[str, Any]:
    """Give back what came in, 200 ms later."""
    await asyncio.sleep(0.2)
    return {"text": text}


@tool(queue="bench", read_only=True, may_clarify=True)
async def ask(text: str, ctx: Ctx) -> ToolResult[dict[str, Any]]:
    """Always ask which one was meant."""
    options = [Option(id=name, title=name, value={"text": text}) for name in ("left", "right")]
    return ctx.clarify("side", "Which one?", options)
