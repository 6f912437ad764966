"""A call that is judged, and the one answer to "may it run?" (CONTRACT C6)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from haltpoint.chain.checks.knowledge import Known
from haltpoint.chain.model.limits import treatment
from haltpoint.chain.model.schemas import signature_of, text_of
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import JsonObject, value
from haltpoint.contracts.policy import Treatment, Treatments
from haltpoint.contracts.reasons import Reason, ReasonKind
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction, Violation


@dataclass(eq=False)
class CheckedCall:
    """A call of a step, which its judges look at. What they need is worked out when it is asked
    for, and once: it is of the moment, and made anew when an action has been added to the chain.
    """

    work: Work
    index: int
    spec: ToolSpec
    arguments: JsonObject
    mode: Mode
    """How far the model is held to its word in it."""

    @cached_property
    def known(self) -> Known:
        """What the chain knows."""
        return Known.of(self.work)

    @cached_property
    def signature(self) -> str:
        """What equal calls have in common."""
        return signature_of(self.spec, text_of(self.arguments))


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


def refuse(
    call: CheckedCall, words: str, violation: Violation = Violation.NOT_ALLOWED, form: str = ""
) -> Refuse:
    """The verdict that ends a call, in words for the model."""
    return Refuse(Correction(violation, words, call.spec.name, form))


def ask(kind: ReasonKind, words: str) -> AskFirst:
    """The verdict that lets a person decide, in words for them."""
    return AskFirst((Reason(kind, words),))


def treated(
    call: CheckedCall, rules: Treatments, kind: ReasonKind, words: str, refusal: str
) -> Verdict:
    """What a policy says of a call of this tool: to ask a person, in these words, or to refuse
    it.
    """
    match treatment(rules, call.spec.name):
        case Treatment.ALLOW:
            return GO
        case Treatment.REFUSE:
            return refuse(call, refusal)
        case _:
            return ask(kind, words)
