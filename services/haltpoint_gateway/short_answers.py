"""Words that are nothing but an answer (CONTRACT G5): yes, no, a number, or the id or the title of an option."""

from typing import Final

from haltpoint.contracts.people.humans import Answer, Choice, RequestKind
from haltpoint.contracts.views import RequestView

WORDS: Final = {
    Choice.APPROVE: ("yes", "yes please", "y", "yep", "yeah", "ja", "ja bitte", "j", "jawohl"),
    Choice.REJECT: ("no", "no thanks", "no thank you", "n", "nope", "nein", "nein danke", "nee"),
}
"""English and German."""


def short_answer(words: str, request: RequestView) -> Answer | None:
    """The answer to the question that the words are; None when they are something else, or leave a doubt."""
    said = _folded(words)
    decision = next((one for one, known in WORDS.items() if said.replace(",", "") in known), None)
    match request.kind:
        case RequestKind.CONFIRMATION:
            return None if decision is None else Answer(kind=request.kind, decision=decision)
        case RequestKind.CLARIFICATION | RequestKind.INPUT:
            meant = {
                option.id
                for number, option in enumerate(request.options, 1)
                if said in (_folded(option.id), _folded(option.title), str(number))
            }
            if meant:
                return Answer(kind=request.kind, option_id=meant.pop()) if len(meant) == 1 else None
            if request.kind is RequestKind.CLARIFICATION:
                return Answer(kind=request.kind, decision=Choice.NONE) if decision is Choice.REJECT else None
            plain = request.form is None and (decision is not None or said.removeprefix("-").isdecimal())
            return Answer(kind=request.kind, text=words.strip()) if plain else None
        case _:
            return None


def _folded(words: str) -> str:
    return " ".join(words.casefold().split()).rstrip(".!")
