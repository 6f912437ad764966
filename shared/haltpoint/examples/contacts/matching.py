"""Who is meant? The rules by which a query finds people, and when a person has to be asked. Pure.

    the whole name (or nickname, or address) is the query          exact           0.95
    a name begins with the query                                   prefix          0.80
    every word of the query is a word of the name                  every word      0.70
    the query stands somewhere in the name or the address          contains        0.60
    every word is spelt nearly like a word of the name             close spelling  0.40

The best rule counts; +0.10 when the person was written to recently, +0.05 when the entry is
complete; at most 1. Below 0.30 nobody is meant. A single letter is an initial: it says so little
that it counts as close spelling at best.

Case, accents, punctuation and repeated spaces do not matter; the order of words matters for exact
and prefix only.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from difflib import SequenceMatcher
from enum import StrEnum

RECENTLY = timedelta(days=30)
LEAST = 0.30  # below it nobody is meant
SURE = 0.60  # a single match below it is asked about
APART = 0.20  # the best two must be this far apart, else a person chooses
MOST_OPTIONS = 5
NEARLY = 0.80  # how alike two words are: twice the letters in common, in order, over all letters
_RECENT, _COMPLETE = 0.10, 0.05

# Letters that NFKD does not take apart.
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th", "ı": "i"}
)


class Rule(StrEnum):
    """Why somebody was found."""

    EXACT = "exact"
    PREFIX = "prefix"
    EVERY_WORD = "every word"
    CONTAINS = "contains"
    CLOSE_SPELLING = "close spelling"


CONFIDENCE: dict[Rule, float] = {
    Rule.EXACT: 0.95,
    Rule.PREFIX: 0.80,
    Rule.EVERY_WORD: 0.70,
    Rule.CONTAINS: 0.60,
    Rule.CLOSE_SPELLING: 0.40,
}


@dataclass(frozen=True, slots=True)
class Contact:
    """One person of the address book."""

    id: str
    name: str
    nickname: str = ""
    email: str = ""
    phone: str = ""
    organization: str = ""
    last_contact: date | None = None

    def written_to_since(self, day: date) -> bool:
        """Whether the last message to this person is of that day or later."""
        return self.last_contact is not None and self.last_contact >= day

    @property
    def complete(self) -> bool:
        """Whether this person can be reached in both ways that we know."""
        return bool(self.email and self.phone)


@dataclass(frozen=True, slots=True)
class Found:
    """A possible person, why, and the confidence (0 to 1, two decimals)."""

    contact: Contact
    rule: Rule
    confidence: float
    recent: bool


def find(contacts: Iterable[Contact], query: str, today: date) -> list[Found]:
    """Everybody who may be meant, the likeliest first; equals by name, then id. An empty query
    means nobody.
    """
    wanted = plain(query)
    found: list[Found] = []
    for contact in contacts:
        rule = _rule(contact, wanted) if wanted else None
        if rule is None:
            continue
        recent = contact.written_to_since(today - RECENTLY)
        confidence = CONFIDENCE[rule] + _RECENT * recent
        confidence += _COMPLETE * contact.complete
        if confidence >= LEAST:
            rounded = round(min(1.0, confidence), 2)
            found.append(Found(contact, rule, rounded, recent))
    return sorted(found, key=_rank)


def must_ask(found: list[Found]) -> bool:
    """Whether a person has to choose: the best two are too close, or the only one is too unsure."""
    best = [match.confidence for match in found[:2]]
    if len(best) == 2:
        return round(best[0] - best[1], 2) < APART
    return bool(best) and best[0] < SURE


def _rank(match: Found) -> tuple[float, str, str]:
    name = plain(match.contact.name)
    return -match.confidence, name, match.contact.id


def plain(text: str) -> str:
    """Without case, accents, punctuation and needless spaces; `@` and the dots of an address become
    spaces too.
    """
    folded = text.casefold().translate(_LETTERS)
    kept = ""
    for letter in unicodedata.normalize("NFKD", folded):
        if not unicodedata.combining(letter):
            kept += letter if letter.isalnum() else " "
    words = kept.casefold().split()
    return " ".join(words)


def _rule(contact: Contact, wanted: str) -> Rule | None:
    names = [plain(name) for name in (contact.name, contact.nickname) if name]
    address = plain(contact.email)
    words = [word for name in names for word in name.split()]
    if len(wanted) == 1:
        begins = any(word.startswith(wanted) for word in words)
        return Rule.CLOSE_SPELLING if begins else None
    if wanted in (*names, address):
        return Rule.EXACT
    if any(name.startswith(wanted) for name in names):
        return Rule.PREFIX
    asked = wanted.split()
    if set(words).issuperset(asked):
        return Rule.EVERY_WORD
    if any(wanted in text for text in (*names, address)):
        return Rule.CONTAINS
    if all(_is_near_any(word, words) for word in asked):
        return Rule.CLOSE_SPELLING
    return None


def _is_near_any(word: str, others: list[str]) -> bool:
    return any(_nearly(word, other) for other in others)


def _nearly(word: str, other: str) -> bool:
    matcher = SequenceMatcher(None, word, other, autojunk=False)
    if matcher.real_quick_ratio() < NEARLY:
        return False
    return matcher.ratio() >= NEARLY
