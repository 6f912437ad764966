"""What a user gets at the end (CONTRACT F): the model's words, and beside them what the runtime
says was done.
"""

from datetime import datetime
from enum import StrEnum
from typing import Final

from haltpoint.contracts.base import Contract, Strings

OR: Final = " or "
"""Between the names of tools any of which would do."""


class Deed(Contract, kw_only=True):
    """One successful receipt with an effect (F1)."""

    action_id: str
    """The action."""
    tool: str
    """Its tool."""
    says: str
    """The deed in the runtime's words."""
    target: str | None = None
    """To whom or what."""
    at: datetime
    """When it ended."""
    by: str | None = None
    """The person who gave or approved it."""
    warnings: Strings = ()
    """What is missing from it."""


class WhyNot(StrEnum):
    """Why something that was wanted was not done."""

    FAILED = "failed"
    DENIED = "denied"
    UNDECIDED = "undecided"
    IN_DOUBT = "in_doubt"
    NEVER_EXECUTED = "never_executed"
    LEFT_OUT = "left_out"
    NOT_CALLED = "not_called"


class NotDone(Contract, kw_only=True):
    """One call, or one effect that the goal asks for, that did not succeed. `message` is the reason
    in words, also that for which a step was given up.
    """

    action_id: str | None = None
    tool: str
    says: str
    target: str | None = None
    why: WhyNot
    message: str = ""

    @property
    def tools(self) -> Strings:
        """The tools any of which would have done it."""
        return tuple(self.tool.split(OR))


class FinalAnswer(Contract):
    """The model's words in `text`, and what the runtime knows."""

    text: str = ""
    deeds: tuple[Deed, ...] = ()
    not_done: tuple[NotDone, ...] = ()
