"""A hint that words tell of a deed that was not done (CONTRACT F3). Words prove nothing: precision goes before recall.

Read are plain sentences of a text, and nothing that is a letter, a list, a quote or code: "I have sent", "I booked",
"ich habe gesendet", "your order has been cancelled", "deine Bestellung wurde storniert". The verbs are those in the
names of the tools that are asked about. Most count only beside the thing that the name says: a summary is no file.
"""

import re
from functools import lru_cache
from typing import Final

from haltpoint.chain.model.canonical import plain, words_of


def _table(text: str) -> dict[str, tuple[str, ...]]:
    rows = (row.split() for row in text.replace("\n", ";").split(";"))
    return {first: tuple(forms) for first, *forms in filter(None, rows)}


MOST: Final = 10
_LONGEST: Final = 600  # characters of a sentence that is looked at
_SHOWN: Final = re.compile(
    r"```(?s:.*?)(?:```|\Z)|^[ \t]*(?:[>|#*+•\[{]|-+ |\d+[.)]).*|`[^`\n]*`"
    r"|[\"“”„«»][^\"“”„«»\n]*[\"“”„«»]?|(?<!\w)['‘‚][^'’\n]*['’](?!\w)"
    r"|^[ \t]*(?:(?:dear|hi|hello|hallo|liebe[rs]?|guten tag|sehr geehrte[rs]?)\b[^.!?\n]{0,60},[ \t]*$"
    r"|(?:subject|betreff)[ \t]*:)(?s:.*)|:[ \t]*\n(?s:.*)",
    re.MULTILINE | re.IGNORECASE,
)
"""What a text only shows; a letter, and what a line with a colon at its end announces, run to the end of the text."""

_SENTENCE: Final = re.compile(r"[^.!?\n]+(?:(?:[.!?](?!\s|$)|(?<=[:,.;] \d)\.)[^.!?\n]*)*[.!?]*")
_OPENERS: Final = (
    "yes|ok|okay|sure|great|perfect|done|good news|all set|and|so|but|then|also|now|meanwhile|i can confirm(?: that)?"
    "|as you (?:asked|requested|wished|wanted)|as (?:asked|requested)"
)
_START: Final = rf"^\W*(?:(?:{_OPENERS})\b[,:! -]*)*"
_I: Final = rf"(?:{_START}|[,;] (?:and |so |but |then )?|\b(?:and|so|but|then) )i(?:'ve| have)?"
_OTHERS: Final = r"(?:(?!\b(?:that|who|which|what|you|he|she|they|i)\b)[^,;:]){1,60}"
_DID_MORE: Final = rf"(?! (?:have|the|an?|my|your|her|his|some)\b){_OTHERS} and"
_SOME: Final = "(?: (?:just|now|already|also|then|again|finally|successfully|both|immediately|permanently|officially))*"
_YOUR: Final = rf"(?:{_START}|[,;] (?:and )?|\band )your (?:[\w-]+ ){{1,4}}(?:has|have){_SOME} been{_SOME}"
_DEINE: Final = r"(?:^\W*|[,;] |\bund )(?:deine?|ihre?|eure?) (?:[\w-]+ ){1,4}wurden? (?:[\w-]+ ){0,4}"

_IRREGULAR: Final = _table("""
    send sent; resend resent; write wrote written; pay paid; make made; put put; set set; reset reset; tell told
    buy bought; sell sold; run ran; build built; give gave given; withdraw withdrew withdrawn; submit submitted
    ship shipped; stop stopped; drop dropped; log logged; transfer transferred; cancel cancelled canceled
""")

_OF_ANY_THING: Final = re.compile(
    "send|email|mail|message|text|notify|inform|tell|book|rebook|reserve|pay|cancel|refund|transfer|wire|schedule"
    "|reschedule|charge|order|purchase|buy|publish|invite"
)
"""Verbs that count whatever they are done to; all others need the thing that the tool's name says."""

_OF: Final = re.compile(r"\b(?:of|from|with|about|in|below|above|von|aus|über)\b", re.IGNORECASE)

_NOT_DONE: Final = re.compile(
    r"\b(?:not|never|no|none|nothing|nobody|neither|nor|cannot|unable|fail\w*|without|if|unless|whether|when|whenever"
    r"|once|until|till|before|after|while|as soon as|how|would|could|should|might|may|must|will|shall|going to|about to"
    r"|almost|nearly|hope|wish|think|doubt|suppose|maybe|perhaps|drafts?|examples?|templates?"
    r"|according to|laut|(?:s?he|they) (?:says?|said|th(?:inks?|ought)|w(?:rites?|rote)|asked|replied)"
    r"|by (?!e?-?mail|phone|me\b|\d)\w+"
    r"|nicht|kein\w*|nie\w*|nichts|weder|ohne|wenn|falls|sobald|ob|bevor|nachdem|würden?|hätten?|könnten?|soll\w*"
    r"|werden?|fast|beinahe|vielleicht|entw[uü]rf\w*|beispiel\w*|vorlage\w*|von (?!mir\b)\w+)\b|n't\b|'ll\b|\?\s*$",
    re.IGNORECASE,
)
"""What takes a sentence back, makes it depend on something, gives the deed to another person, or only shows it."""

_GERMAN_VERBS: Final = _table("""
    send gesendet geschickt verschickt abgeschickt; email gemailt geschrieben; mail gemailt geschickt
    message geschrieben; notify benachrichtigt informiert; book gebucht reserviert; reserve reserviert
    pay bezahlt gezahlt überwiesen; transfer überwiesen; cancel storniert abgesagt gekündigt; delete gelöscht
    create erstellt angelegt; add hinzugefügt eingetragen; update aktualisiert geändert; write geschrieben
    save gespeichert; schedule geplant angesetzt; order bestellt; buy gekauft; move verschoben
    publish veröffentlicht; post veröffentlicht gepostet; invite eingeladen
""")

_GERMAN_THINGS: Final = _table("""
    file datei; message nachricht; email mail; event termin; meeting termin treffen; appointment termin
    invoice rechnung; bill rechnung; contact kontakt; ticket ticket; note notiz; page seite; report bericht
    document dokument; record eintrag datensatz; task aufgabe; reminder erinnerung
""")

Deed = tuple[re.Pattern[str], re.Pattern[str] | None]
"""The verb that reports a deed, and the thing that must follow it."""


def claims(text: str, tools: tuple[str, ...]) -> tuple[str, ...]:
    """The sentences that tell of a deed of one of these tools as done, as they are in the text."""
    found: list[str] = []
    deeds = [deed for tool in tools for deed in _deeds_of(tool)]
    hidden = _SHOWN.sub(lambda shown: "§" * len(shown[0]), text) if deeds else ""
    for match in _SENTENCE.finditer(hidden):
        sentence = plain(match[0][:_LONGEST]).strip()
        told = (_reported(sentence, how, thing) for how, thing in deeds)
        if any(deed and ":" not in sentence[: deed.start()] for deed in told) and not _NOT_DONE.search(sentence):
            found.append(text[match.start() : match.end()].strip()[:_LONGEST])
    return tuple(dict.fromkeys(found))[:MOST]


def _reported(sentence: str, how: re.Pattern[str], thing: re.Pattern[str] | None) -> re.Match[str] | None:
    """The verb of a deed that is done to its thing: "wrote the file", but not "wrote a summary of the file"."""
    deed = how.search(sentence)
    named = thing.search(sentence, deed.start()) if deed and thing else None
    done_to_it = thing is None or (deed and named and not _OF.search(sentence, deed.end(), named.start()))
    return deed if done_to_it else None


@lru_cache(maxsize=1024)
def _deeds_of(tool: str) -> list[Deed]:
    """The deeds of a tool: each word of its name may be its verb, and the others the thing."""
    words = [word for word in words_of(tool).split("_") if word.isalpha()]
    deeds = list[Deed]()
    for verb in words:
        names = [word.removesuffix("s") for word in words if word != verb]
        german = (form for name in names for form in _GERMAN_THINGS.get(name, ()))
        things = "|".join((*(rf"\b{name}\w{{0,2}}" for name in names), *german, "(?!)"))
        deeds.append((_told(verb), None if _OF_ANY_THING.fullmatch(verb) else re.compile(things, re.IGNORECASE)))
    return deeds


def _told(verb: str) -> re.Pattern[str]:
    """A deed as it is told: in the first person, or of something of yours. "I sent you away" tells of none."""
    past, done = "|".join(past_of(verb)), "|".join(_GERMAN_VERBS.get(verb, ("(?!)",)))
    forms = (
        rf"{_I}(?:{_DID_MORE})?{_SOME}(?:(?: have)? (?:{past})| (?:did|managed to|was able to) {verb})\b(?! you\b)",
        rf"{_YOUR} (?:{past})\b",
        rf"\b(?:ich habe|habe ich)(?: [^.;:]{{0,80}})? (?:{done})\b",
        rf"{_DEINE}(?:{done})\b",
    )
    return re.compile("|".join(forms), re.IGNORECASE)


def past_of(verb: str) -> tuple[str, ...]:
    """The past forms of a verb: sent; booked, moved, copied."""
    regular = f"{verb}d" if verb.endswith("e") else f"{verb}ed"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        regular = f"{verb[:-1]}ied"
    return _IRREGULAR.get(verb, (regular,))
