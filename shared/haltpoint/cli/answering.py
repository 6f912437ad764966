"""What a person may answer, read from what they type: at the prompt of `run --watch`, and behind
`haltpoint answer ID`.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

from haltpoint.contracts.base import JsonObject, root_of
from haltpoint.contracts.people.humans import Choice, choices
from haltpoint.contracts.reasons import Reach
from haltpoint.contracts.strict_json import read_strictly
from haltpoint.runtime.config.errors import why_unread

if TYPE_CHECKING:
    from haltpoint.contracts.views.chains import RequestView

LEAVE: Final = "/abort"
"""Ends the chain where every word may be the answer."""

Said = JsonObject
"""The arguments of `Client.answer`: an option, or a decision with what belongs to it."""


class NotUnderstoodError(Exception):
    """What was typed is no answer to the question; the text says why, and what would be one."""


class Way(NamedTuple):
    """One way to answer a question."""

    choice: Choice
    key: str
    """The letter for it at a prompt."""
    takes: str
    """What follows the word: WORDS, JSON, nothing; in brackets what may be left out."""
    meaning: str
    """What happens then."""

    @property
    def verb(self) -> str:
        """The word for it."""
        if self.choice is Choice.ANSWER:
            return "value" if self.takes == "JSON" else "text"
        return self.choice.value.replace("_", "-")

    @property
    def usage(self) -> str:
        """The word with what follows it."""
        return f"{self.verb} {self.takes}".rstrip()

    @property
    def names(self) -> tuple[str, ...]:
        """What may be typed for it."""
        in_full = {"y": "yes", "n": "no"}.get(self.key, self.verb)
        return (self.verb, self.key or self.verb, in_full)


_WAYS: Final = (
    Way(Choice.NONE, "n", "[WORDS]", "none of them; the model reads your words"),
    Way(Choice.APPROVE, "y", "[JSON]", "approve the call; JSON changes arguments"),
    Way(Choice.REJECT, "n", "[WORDS]", "reject it; the model reads your words"),
    Way(Choice.ANSWER, "", "WORDS", "the answer in words"),
    Way(Choice.ANSWER, "", "JSON", "the form, filled in"),
    Way(Choice.REPHRASE, "r", "WORDS", "ask the model again in these words"),
    Way(Choice.MANUAL, "m", "WORDS", "you write the result in its place"),
    Way(Choice.MANUAL, "m", "JSON", "you give the result of the call"),
    Way(Choice.SKIP, "s", "WORDS", "you say why the step is not needed"),
    Way(Choice.RETRY, "t", "", "ask the model once more"),
    Way(Choice.CONTINUE, "c", "", "give the step another round of turns"),
    Way(Choice.ACCEPT, "y", "", "leave it out"),
    Way(Choice.INSIST, "i", "[WORDS]", "it must be done; the model reads that"),
    Way(Choice.HAPPENED, "h", "[JSON]", "it happened; JSON is its result"),
    Way(Choice.NOT_HAPPENED, "n", "", "it did not happen; run it again"),
    Way(Choice.FAILED, "f", "", "it did not happen; do not run it again"),
)


def numbers_of(request: "RequestView") -> str:
    """The numbers of its options."""
    most = len(request.options)
    return f"1-{most}" if most > 1 else "1"


def ways(request: "RequestView") -> list[Way]:
    """The ways to answer a question, beside its options."""
    allowed = choices(request.kind, step=bool(request.step_id))
    unfit = {
        (Choice.ANSWER, "JSON" if request.form is None else "WORDS"),
        (Choice.MANUAL, "WORDS" if request.tool else "JSON"),
    }
    below = request.chain_id != root_of(request.chain_id)
    end = "cancel only the chain that asks" if below else "cancel the chain"
    fitting = [way for way in _WAYS if way.choice in allowed]
    fitting = [way for way in fitting if (way.choice, way.takes) not in unfit]
    return [*fitting, Way(Choice.ABORT, "a", "", end)]


def understand(request: "RequestView", typed: str) -> Said:
    """What was meant by an option's number or id, or by the word or letter of a decision with what
    belongs to it. Raises NotUnderstoodError.
    """
    first, _, rest = typed.strip().partition(" ")
    rest = rest.strip()
    if (option := option_named(request, first)) is not None:
        _nothing_behind(first, rest)
        return {"option_id": option}
    for way in ways(request):
        if first.lower().replace("_", "-") in way.names:
            return {"decision": way.choice, **_what_belongs_to(way, request, rest)}
    known = [way.usage for way in ways(request)]
    if request.options:
        known.insert(0, "the number or id of an option")
    possible = ", ".join(known)
    raise NotUnderstoodError(
        f"{first!r} does not answer this question; possible answers: {possible}"
    )


def option_named(request: "RequestView", name: str) -> str | None:
    """The id of the option with this number or id. Raises NotUnderstoodError for two."""
    chosen = set()
    for number, option in enumerate(request.options, 1):
        if name in (option.id, str(number)):
            chosen.add(option.id)
    if len(chosen) > 1:
        raise NotUnderstoodError(f"{name} is the number of one option and the id of another")
    return chosen.pop() if chosen else None


def _what_belongs_to(way: Way, request: "RequestView", rest: str) -> Said:
    if not way.takes:
        _nothing_behind(way.verb, rest)
    if not rest and way.takes in ("WORDS", "JSON"):
        raise NotUnderstoodError(f"{way.verb} takes words; write: {way.usage}")
    if not rest:
        return {}
    if "WORDS" in way.takes:
        return {"text": rest}
    if way.choice is not Choice.APPROVE:
        return {"value": _object(way, rest)}
    word, _, reach = rest.partition(" ")
    if word == "for" and reach in list(Reach):
        return {"reach": Reach(reach)}
    return {"arguments": {**request.arguments, **_object(way, rest)}}


def _nothing_behind(word: str, rest: str) -> None:
    if rest:
        raise NotUnderstoodError(f"{word} takes no words after it, but got: {rest}")


def _object(way: Way, text: str) -> JsonObject:
    fault = ""
    try:
        value = read_strictly(text)
    except ValueError as error:
        value, fault = None, f" ({why_unread(error)})"
    if not isinstance(value, dict):
        raise NotUnderstoodError(f"{way.verb} takes a JSON object; this is not one{fault}: {text}")
    return value
