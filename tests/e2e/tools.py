"""Tools of the end-to-end tests' own."""

import asyncio
from typing import Any

from typing_extensions import TypedDict

from haltpoint import Ctx, ToolError, ToolResult, hook, tool
from haltpoint.contracts.tools import Target


@tool(queue="slow", read_only=True)
async def wait_long(ctx: Ctx) -> dict[str, bool]:
    """Take longer than any test."""
    await asyncio.sleep(120)
    return {"waited": True}


@tool(read_only=True)
def echo(words: str) -> dict[str, str]:
    """Give the words back."""
    if words == "break":
        raise ToolError.permission("not these words")
    return {"words": words}


class Booking(TypedDict):
    """A room that is booked."""

    room: str
    code: int


@tool
def book_room(room: str) -> Booking:
    """Book a room."""
    return {"room": room, "code": 17}


@tool
def publish(page: str, ctx: Ctx) -> ToolResult[dict[str, str]]:
    """Publish a page, if a person says yes."""
    if not ctx.confirmed:
        return ctx.confirm("publish", Target(id=page, name=page), f"Publish {page!r}?", preview="everybody can read it")
    return ctx.ok({"published": page})


@tool(read_only=True)
def archive(pages: int) -> dict[str, Any]:
    """Give back much more than a result may hold."""
    return {"pages": ["x" * 1000] * pages}


@tool
def deliver(place: str, ctx: Ctx) -> dict[str, Any]:
    """Bring something to a place."""
    return {"delivered": place, "confirmed": ctx.confirmed}


@hook.post(tools="deliver")
def signed(call: hook.Call, result: ToolResult, ctx: Ctx) -> ToolResult | None:
    """Somebody has signed for it."""
    return result.model_copy(update={"data": {**result.data, "signed": True}}) if result.success else None
