"""Hooks of the end-to-end tests' own, loaded by their dotted paths."""

from itertools import count

from haltpoint import Ctx, ToolResult, hook
from haltpoint.contracts.results import ErrorInfo, ErrorType, NextAction
from haltpoint.contracts.tools import ToolKind

_SERIAL = count(1)


@hook.pre(tools="deliver*", order=10)
async def far_away(call: hook.Call, ctx: Ctx) -> hook.Ask | hook.Allow:
    """A person decides about places that are far."""
    place = call.arguments["place"]
    return hook.ask(f"{place} is far. Deliver anyway?", preview="by mule") if "far" in place else hook.allow()


@hook.pre(tools="deliver", order=20)
def restless(call: hook.Call, ctx: Ctx) -> hook.Modify | None:
    """Another place with each run, so that what was approved is not what would run."""
    place = call.arguments["place"]
    return hook.modify({"place": f"{place} {next(_SERIAL)}"}) if place.startswith("restless") else None


@hook.pre(tools="*", order=30, security=True)
def not_the_moon(call: hook.Call, ctx: Ctx) -> hook.Block | None:
    """Nothing goes to the moon."""
    return hook.block("nothing goes to the moon") if call.arguments.get("place") == "moon" else None


@hook.pre(tools="tell-*", order=5)
def calmly(call: hook.Call, ctx: Ctx) -> hook.Modify | hook.Block | None:
    """Skills are no place to shout."""
    words = call.arguments["words"]
    if call.call_type is ToolKind.SKILL and words.isupper():
        return (
            hook.block("no shouting at all")
            if "!" in words
            else hook.modify({**call.arguments, "words": words.lower()})
        )
    return None


@hook.pre(tools="lookup_*", order=5)
def not_mallory(call: hook.Call, ctx: Ctx) -> hook.Block | None:
    """An error that a model may recover from."""
    if "Mallory" not in str(call.arguments):
        return None
    fault = ErrorInfo(ErrorType.NOT_FOUND, "Mallory is not to be found", recoverable=True)
    return hook.block(ToolResult(success=False, next_action=NextAction.ERROR, error=fault))


@hook.pre(tools="unlock", order=10)
def another_door(call: hook.Call, ctx: Ctx) -> hook.Modify | None:
    """Who wants into the attic is sent to the bank, which nobody has looked up."""
    return hook.modify({"door_id": "door of the bank"}) if "attic" in call.arguments["door_id"] else None
