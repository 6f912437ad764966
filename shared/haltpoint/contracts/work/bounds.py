"""What a goal asks of tools, and what it says against their effects (CONTRACT C12)."""

from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta

from haltpoint.contracts.base import Contract, Strict, Strings

Names = Annotated[Strings, Meta(max_length=100)]
"""Names of tools."""

EVERY: Final = "*"
"""In place of a name: every tool with effects."""


class Bounds(Strict):
    """One reading of a goal: names of tools, and conditions in words. A missing list was not
    read.
    """

    required_tools: Names | None = None
    """Each must succeed."""
    optional_tools: Names | None = None
    """May be called without a question."""
    ask_before: Names | None = None
    """A person is asked before each call."""
    forbidden: Names | None = None
    """Are not called."""
    conditions: Names | None = None
    """Words that limit an effect and cannot be said with tool names."""


class SaidBy(StrEnum):
    """Whose word a bound is: the model's reading of the goal, a pattern's, or the submitter's."""

    GOAL = "goal"
    PATTERN = "pattern"
    SUBMITTER = "submitter"


class Bound(Contract):
    """One entry of the bounds that hold."""

    by: SaidBy
    # Any of these: of a required entry one success is enough. Empty: a condition.
    tools: Strings = ()
    # A condition, or why a pattern asks for it.
    words: str = ""
    # The id of the pattern.
    pattern: str | None = None


class ChainBounds(Contract):
    """The bounds that hold in a chain, from every source."""

    required_tools: tuple[Bound, ...] = ()
    optional_tools: tuple[Bound, ...] = ()
    ask_before: tuple[Bound, ...] = ()
    forbidden: tuple[Bound, ...] = ()
    conditions: tuple[Bound, ...] = ()


class LeftOut(Contract):
    """A promise that a step ended without, and why in words (C11)."""

    tools: Strings
    reason: str
