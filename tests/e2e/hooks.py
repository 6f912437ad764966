"""Hooks of the end-to-end tests' own, loaded by their dotted paths."""

from haltpoint import Ctx, hook


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
