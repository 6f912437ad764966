"""The fixed words that the runtime says beside a model's (CONTRACT F1), by language; English for all others."""

from datetime import datetime
from typing import Final

from haltpoint.contracts.base import value
from haltpoint.contracts.work.routing import ROUTED


@value
class Phrases:
    """The words of one language."""

    done: str
    not_done: str
    nothing: str
    unanswered: str
    results: str
    unknown: str
    unasked: str
    stopped: str
    only_if: str
    undone: str
    unreached: str
    unneeded: str
    cut: str
    silent: str
    called: str
    unread: str
    spent: str
    late: str
    unnamed: str
    no: str
    denied: str
    other: str
    none_fits: str
    happened: str
    misfit: str
    did_not_happen: str


_ENGLISH: Final = Phrases(
    done="Done",
    not_done="Not done",
    nothing="Nothing was sent, changed or deleted.",
    unanswered="There is no answer in words",
    results="The results:",
    unknown="It was running when the chain ended; whether it happened is unknown.",
    unasked="A person was asked about it, and the chain ended before an answer came.",
    stopped="It was stopped before it was complete.",
    only_if="only if",
    undone="The goal asks for it, and no call did it.",
    unreached="The chain ended before this call.",
    unneeded="Not needed",
    cut="cut off: the reply reached its limit of tokens",
    silent="the model said nothing",
    called="the model called a tool instead of answering",
    unread="the model's reply could not be read",
    spent="the budget for the model is used up",
    late="the deadline has passed",
    unnamed="the supervisor gave none",
    no="no",
    denied="A person was asked and did not allow it",
    other="A person was asked and said",
    none_fits="none of the options is the right one",
    happened="a person says that it happened; its result is not known",
    misfit="a person gave this result and it does not fit the schema",
    did_not_happen="a person says that it did not happen",
)
_GERMAN: Final = Phrases(
    done="Erledigt",
    not_done="Nicht erledigt",
    nothing="Es wurde nichts gesendet, geändert oder gelöscht.",
    unanswered="Es gibt keine Antwort in Worten",
    results="Die Ergebnisse:",
    unknown="Der Aufruf lief noch, als die Kette endete; ob er etwas bewirkt hat, ist unbekannt.",
    unasked="Ein Mensch wurde danach gefragt, und die Kette endete vor der Antwort.",
    stopped="Es wurde abgebrochen, bevor es fertig war.",
    only_if="nur falls",
    undone="Das Ziel verlangt es, und kein Aufruf hat es getan.",
    unreached="Die Kette endete vor diesem Aufruf.",
    unneeded="Nicht nötig",
    cut="abgeschnitten: die Antwort hat ihre Grenze an Tokens erreicht",
    silent="das Modell hat nichts gesagt",
    called="das Modell hat ein Werkzeug aufgerufen, statt zu antworten",
    unread="die Antwort des Modells war nicht lesbar",
    spent="das Budget für das Modell ist aufgebraucht",
    late="die Frist ist abgelaufen",
    unnamed="der Supervisor hat keine gegeben",
    no="nein",
    denied="Ein Mensch wurde gefragt und hat es nicht erlaubt",
    other="Ein Mensch wurde gefragt und sagte",
    none_fits="keine der Möglichkeiten ist die richtige",
    happened="ein Mensch sagt, dass es geschehen ist; das Ergebnis ist nicht bekannt",
    misfit="ein Mensch hat dieses Ergebnis angegeben, und es entspricht dem Schema nicht",
    did_not_happen="ein Mensch sagt, dass es nicht geschehen ist",
)
_TABLES: Final = {"en": _ENGLISH, "de": _GERMAN}


def phrases(language: str) -> Phrases:
    """The words of a language, named as `de` or `de-AT`."""
    return _TABLES.get(language[:2].lower(), _ENGLISH)


def count(number: int, noun: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def why_dropped(reason: str) -> str:
    """Why a call never ran; `reason` is the log's word for it."""
    return "it was beside a decision" if reason == ROUTED else reason


def runs_again(until: datetime | None) -> str:
    """When an action that rests is sent again."""
    return f"runs again {'when the chain continues' if until is None else f'at {until:%H:%M:%S} UTC'}"
