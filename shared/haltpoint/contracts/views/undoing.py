"""What a person's undo of a chain does (CONTRACT E7), over HTTP and in the client alike."""

from enum import StrEnum

from haltpoint.contracts.answers import Deed
from haltpoint.contracts.doors import View


class WhyLeft(StrEnum):
    """Why an undo leaves something as it is."""

    NO_UNDO = "no_undo"
    IN_DOUBT = "in_doubt"


class LeftView(View):
    """A call that stays as it is."""

    action_id: str | None
    tool: str
    says: str
    why: WhyLeft
    """Its tool declares no undo; or it is unknown whether it, or its undo, happened."""


class UndoView(View):
    """What undoing a chain does: the deeds of the chain and of those below it."""

    chain_id: str | None
    """The chain that undoes; null when nothing is left to undo."""
    undoes: tuple[Deed, ...] = ()
    """What it undoes, in this order."""
    undone: tuple[Deed, ...] = ()
    """What was undone before."""
    left: tuple[LeftView, ...] = ()
