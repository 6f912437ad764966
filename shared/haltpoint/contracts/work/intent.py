"""What a goal asks for, makes conditional or forbids (CONTRACT C12); drawn from the goal alone, before any data."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, field

from haltpoint.contracts.base import Contract


class IntentOrigin(StrEnum):
    """Whose word an entry is: the model's reading of the goal, the submitter's, a pattern's over the goal (C2), or that
    of a person who answered a question of the model.
    """

    GOAL = "goal"
    SUBMITTER = "submitter"
    PATTERN = "pattern"
    ANSWER = "answer"


class IntentEntry(Contract, rename={"origin": "from"}):
    """Some tools, and the words of the goal that speak of them. `when` quotes a condition ("if he agrees").

    `pattern` is the id of the pattern that has found them (C2).
    """

    tools: Annotated[tuple[str, ...], Meta(description="globs over names of tools")]
    words: str = ""
    when: str | None = None
    origin: IntentOrigin = IntentOrigin.SUBMITTER
    pattern: str | None = None


class Intent(Contract):
    """The effects that a goal asks for, those to be confirmed by the user first, and those that it forbids."""

    effects_asked: tuple[IntentEntry, ...] = ()
    ask_before: tuple[IntentEntry, ...] = ()
    forbidden: tuple[IntentEntry, ...] = ()


class ChainIntent(Intent):
    """The intent of a chain, and how far it has come with it.

    `looked_at` are tools that no entry named and that a second look at the words was asked about, `approved` those that
    a person has allowed since the words want to be asked before. `asked_again`: the model was asked for a better
    intent, `reminded`: for an effect without a deed. `not_needed`: tools of steps that were given up or skipped, each
    with the reasons (C11).
    """

    looked_at: tuple[str, ...] = ()
    approved: tuple[str, ...] = ()
    asked_again: bool = False
    reminded: bool = False
    not_needed: dict[str, tuple[str, ...]] = field(default_factory=dict)
