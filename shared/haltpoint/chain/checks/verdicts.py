"""The one answer to "may this call run?" (CONTRACT C6)."""

from typing import Final

from haltpoint.contracts.base import value
from haltpoint.contracts.reasons import Reason
from haltpoint.contracts.work.thoughts import Correction


@value
class Go:
    """It may."""


@value
class Refuse:
    """It may not; `correction` says to the model why."""

    correction: Correction


@value
class AskFirst:
    """A person decides, and sees these reasons on one card."""

    reasons: tuple[Reason, ...]


Verdict = Go | Refuse | AskFirst

GO: Final = Go()
