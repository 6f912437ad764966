"""The effect that happens once, whichever chain of a tenant asks for it (CONTRACT E6): `effect_key`
of a tool.
"""

from string import Formatter
from typing import Any

from msgspec import json

from haltpoint.chain.checks.answer import shown
from haltpoint.chain.model.limits import minute_of
from haltpoint.chain.model.schemas import defaults
from haltpoint.contracts.base import value
from haltpoint.contracts.tools import ToolSpec
from haltpoint.runtime.store.limits.effects import Prior, Standing, digest_of_effect


@value
class Effect:
    """The effect of one call."""

    digest: str
    words: str
    """Its name in words."""

    def told(self, first: Prior) -> str:
        """What has become of the first call, in words."""
        begun = f"at {minute_of(first.at)} by {first.owner}"
        if first.standing is not Standing.DONE:
            return f"{self.words} was begun {begun}, may have happened, and its chain is over."
        says = f": {first.says}" if first.says else ""
        return f"{self.words} was done {begun}{says}."


def effect_of(spec: ToolSpec, tenant: str | None, arguments: str) -> Effect:
    """The effect of a call with these arguments (JSON text): equal values in other spellings make
    the same one.
    """
    filled = {**defaults(spec.parameters), **json.decode(arguments)}
    parts: list[Any] = []
    words = ""
    for text, name, _, _ in Formatter().parse(spec.recovery.effect_key or ""):
        parts.append(text)
        words += text
        if name is not None:
            parts.append([filled.get(name)])
            words += shown(name, filled.get(name))
    return Effect(digest_of_effect(tenant, parts), words)
