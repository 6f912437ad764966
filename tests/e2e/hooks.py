"""Hooks of the end-to-end tests' own, loaded by their dotted paths."""

from haltpoint import Ctx, hook
from haltpoint.contracts.tools import ToolKind


@hook.pre(tools="deliver*", order=10)
async def far_away(call: hook.Call, ctx: Ctx) -> hook.Ask | hook.Allow:
    """A person decides about places that are far."""
    place = call.arguments["place"]
    return (
        hook.ask(f"{place} is far. Deliver anyway?", preview="by mule")
        if "far" in place
        else hook.allow()
    )


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


@hook.pre(tools="unlock", order=10)
def another_door(call: hook.Call, ctx: Ctx) -> hook.Modify | None:
    """Who wants into the attic is sent to the bank, which nobody has looked up."""
    return (
        hook.modify({"door_id": "door of the bank"})
        if "attic" in call.arguments["door_id"]
        else None
    )
