"""Hooks of the end-to-end tests' own, loaded by their dotted paths."""

from itertools import count

from haltpoint import Ctx, hook

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
