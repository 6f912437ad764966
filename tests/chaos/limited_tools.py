"""A provider that bears only so many calls, and writes down when each of them begins and ends.

The task's context says where (`record`), and how long a call takes (`seconds`).
"""

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any, Final

from haltpoint import Ctx, tool

RATE: Final = 20
BURST: Final = 5
PLACES: Final = 4


def _write(ctx: Ctx, what: str) -> None:
    line = {"at": time.time_ns() / 1e9, "what": what, "key": ctx.idempotency_key, "pid": os.getpid()}
    with Path(ctx.context["record"]).open("a") as file:
        file.write(json.dumps(line) + "\n")
        file.flush()


async def _serve(ctx: Ctx) -> dict[str, Any]:
    _write(ctx, "begin")
    await asyncio.sleep(float(ctx.context.get("seconds", 0)))
    _write(ctx, "end")
    return {"attempt": ctx.attempt}


@tool(queue="chaos", idempotent=True, rate_limit=f"{RATE}/s burst {BURST}", at_once=PLACES)
async def limited(ctx: Ctx) -> dict[str, Any]:
    """Has both kinds of limits."""
    return await _serve(ctx)
