"""Fabrication (CONTRACT F1, F2): what a text claims to have been done, and no receipt shows."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from haltpoint.contracts.tools import ToolSpec


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that says that something was done. `tools` would have done it; none: no tool here could."""

    verb: str
    sentence: str
    tools: tuple[str, ...]


def unfounded_claims(
    text: str, tools: Mapping[str, ToolSpec], succeeded: Collection[str], extra: Mapping[str, tuple[str, ...]] = {}
) -> tuple[Claim, ...]:
    """The claims of a text for which no tool that carries their verb has succeeded. Never raises."""
    del text, tools, succeeded, extra  # the rules come with the next landing
    return ()
