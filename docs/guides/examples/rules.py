"""Hooks around every call that sends something."""

import re
from datetime import UTC, datetime

from haltpoint import Ctx, ToolResult, hook

CARD = re.compile(r"\b(?:\d{4}[ -]?){3}\d{4}\b")
LINK = re.compile(r"https?://\S+")


@hook.pre(tools="send_*", order=10)
async def quiet_hours(call: hook.Call, ctx: Ctx) -> hook.Ask | None:
    if datetime.now(UTC).hour < 6:
        return hook.ask("It is night there. Send anyway?", preview=call.arguments["content"])
    return None


@hook.pre(tools=["send_*", "post_*"], order=20, timeout="500ms", security=True)
def only_known_domains(call: hook.Call, ctx: Ctx) -> hook.Block | None:
    links = LINK.findall(str(call.arguments))
    if all(link.startswith("http://intranet.example") for link in links):
        return None
    return hook.block("links to unknown domains are not sent")


@hook.post(tools="*")
def no_card_numbers(call: hook.Call, result: ToolResult, ctx: Ctx) -> hook.Block | None:
    if CARD.search(str(result.data)):
        return hook.block("the result holds a card number")
    return None
