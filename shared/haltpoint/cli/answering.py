"""What a person may answer, read from what they type: at the prompt of `run --watch`, and behind
`haltpoint answer ID`.
"""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from haltpoint.contracts.base import root_of
from haltpoint.contracts.people.humans import Choice, RequestKind, choices
from haltpoint.contracts.reasons import Reach

if TYPE_CHECKING:
    from haltpoint.contracts.views.chains import RequestView

LEAVE: Final = "/abort"
"""Ends the chain where every word may be the answer."""


class NotUnderstoodError(Exception):
    """What was typed is no answer to the question; the text says why, and what would be one."""


@dataclass(frozen=True, slots=True)
class Said:
    """An answer before it is sent: an option, or a decision with what belongs to it."""

    option_id: str | None = None
    decision: Choice = Choice.SELECT
    text: str = ""
    value: dict[str, Any] | None = None
    reach: Reach | None = None
    arguments: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Way:
    """One way to answer a question."""

    choice: Choice
    key: str
    """The letter for it at a prompt."""
    verb: str
    """The word for it."""
    takes: str
    """What follows the word: WORDS, JSON, one of both, nothing; in brackets what may be left
    out.
    """
    meaning: str
    """What happens then."""

    @property
    def usage(self) -> str:
        """The word with what follows it."""
        return f"{self.verb} {self.takes}".rstrip()


_WAYS: Final[dict[RequestKind, tuple[Way, ...]]] = {
    RequestKind.CLARIFICATION: (
        Way(Choice.NONE, "n", "none", "[WORDS]", "none of them; the model reads your words"),
    ),
    RequestKind.CONFIRMATION: (
        Way(Choice.APPROVE, "y", "approve", "[JSON]", "approve the call; JSON changes arguments"),
        Way(Choice.REJECT, "n", "reject", "[WORDS]", "reject it; the model reads your words"),
    ),
    RequestKind.INPUT: (
        Way(Choice.ANSWER, "", "text", "WORDS", "the answer in words"),
        Way(Choice.ANSWER, "", "value", "JSON", "the form, filled in"),
    ),
    RequestKind.ESCALATION: (
        Way(Choice.REPHRASE, "r", "rephrase", "WORDS", "ask the model again in these words"),
        Way(Choice.MANUAL, "m", "manual", "WORDS", "you say it in its place"),
        Way(Choice.MANUAL, "m", "manual", "JSON", "you give the result of the tool"),
        Way(Choice.SKIP, "s", "skip", "WORDS", "you say why the step is not needed"),
        Way(Choice.RETRY, "t", "retry", "", "ask the model once more"),
        Way(Choice.CONTINUE, "c", "continue", "", "give the step its turns once more"),
    ),
    RequestKind.LEAVE_OUT: (
        Way(Choice.ACCEPT, "y", "accept", "", "leave it out"),
        Way(Choice.INSIST, "i", "insist", "[WORDS]", "it is to be done; the model reads that"),
    ),
    RequestKind.IN_DOUBT: (
        Way(Choice.HAPPENED, "h", "happened", "[JSON]", "it happened; JSON is its result"),
        Way(Choice.NOT_HAPPENED, "n", "not-happened", "", "it did not happen; run it again"),
        Way(Choice.FAILED, "f", "failed", "", "it did not happen; do not run it again"),
    ),
}
_IN_FULL: Final = {"y": "yes", "n": "no"}


def numbers_of(request: "RequestView") -> str:
    """The numbers of its options."""
    most = len(request.options)
    return f"1-{most}" if most > 1 else "1"


def ways(request: "RequestView") -> list[Way]:
    """The ways to answer a question, beside its options."""
    allowed = choices(request.kind, step=bool(request.step_id))
    below = request.chain_id != root_of(request.chain_id)
    end = "cancel only the chain that asks" if below else "cancel the chain"
    fitting = [way for way in _WAYS[request.kind] if way.choice in allowed]
    if request.kind is RequestKind.INPUT:
        fitting = [way for way in fitting if (way.takes == "JSON") == (request.form is not None)]
    if request.kind is RequestKind.ESCALATION:
        unfit = "WORDS" if request.tool else "JSON"
        fitting = [way for way in fitting if way.choice is not Choice.MANUAL or way.takes != unfit]
    return [*fitting, Way(Choice.ABORT, "a", "abort", "", end)]


def understand(request: "RequestView", typed: str) -> Said:
    """What was meant by an option's number or id, or by the word or letter of a decision with what
    belongs to it. Raises NotUnderstoodError.
    """
    first, _, rest = typed.strip().partition(" ")
    rest = rest.strip()
    chosen = {
        option.id
        for number, option in enumerate(request.options, 1)
        if first in (option.id, str(number))
    }
    if len(chosen) > 1:
        raise NotUnderstoodError(f"{first} is the number of one option and the id of another")
    if chosen:
        return Said(option_id=_alone(first, rest, chosen.pop()))
    open_ways = ways(request)
    for way in open_ways:
        if first.lower().replace("_", "-") in (way.verb, way.key or ..., _IN_FULL.get(way.key)):
            return _said(request, way, rest)
    numbers = ["the number or id of an option"] if request.options else []
    known = ", ".join([*numbers, *(way.usage for way in open_ways)])
    raise NotUnderstoodError(f"{first!r} is no answer to this question; possible: {known}")


def _alone(first: str, rest: str, option: str) -> str:
    if rest:
        raise NotUnderstoodError(f"{first} takes no words behind it, and this follows: {rest}")
    return option


def _said(request: "RequestView", way: Way, rest: str) -> Said:
    if "WORDS" in way.takes and not rest and way.takes[0] != "[":
        raise NotUnderstoodError(f"{way.verb} takes words; write: {way.usage}")
    if way.choice is Choice.APPROVE:
        return _approval(request, rest)
    if not way.takes:
        return Said(decision=Choice(_alone(way.verb, rest, way.choice)))
    if "JSON" in way.takes and (rest or way.takes[0] != "["):
        return Said(decision=way.choice, value=_object(way, rest))
    return Said(decision=way.choice, text=rest)


def _approval(request: "RequestView", rest: str) -> Said:
    """`approve`, with other values for some arguments, or with how far the yes goes."""
    word, _, reach = rest.partition(" ")
    if word == "for" and reach in list(Reach):
        return Said(decision=Choice.APPROVE, reach=Reach(reach))
    if not rest:
        return Said(decision=Choice.APPROVE)
    (way, *_) = ways(request)
    edited = {**request.arguments, **_object(way, rest)}
    return Said(decision=Choice.APPROVE, arguments=edited)


def _object(way: Way, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        why = f"{way.verb} takes a JSON object, and this is none ({error}): {text}"
        raise NotUnderstoodError(why) from error
    if not isinstance(value, dict):
        raise NotUnderstoodError(f"{way.verb} takes a JSON object, and this is not one: {text}")
    return value
