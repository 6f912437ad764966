"""The words of the hint (CONTRACT F3): irregular English verbs, and German for verbs and things."""

import re
from typing import Final


def _table(text: str) -> dict[str, tuple[str, ...]]:
    rows = (row.split() for row in text.replace("\n", ";").split(";"))
    return {first: tuple(forms) for first, *forms in filter(None, rows)}


IRREGULAR: Final = _table("""
    send sent; resend resent; write wrote written; pay paid; make made; put put; set set; reset reset; tell told
    buy bought; sell sold; run ran; build built; give gave given; withdraw withdrew withdrawn; submit submitted
    ship shipped; stop stopped; drop dropped; log logged; transfer transferred; cancel cancelled canceled
""")

OF_ANY_THING: Final = frozenset(
    _table("""
    send; email; mail; message; text; notify; inform; tell; book; rebook; reserve; pay; cancel; refund; transfer; wire
    schedule; reschedule; charge; order; purchase; buy; publish; invite
""")
)
"""Verbs that count whatever they are done to; all others need the thing that the tool's name says."""

PARTICLES: Final = "just|now|already|also|then|again|finally|successfully|both|immediately|permanently|officially"

NOT_DONE: Final = re.compile(
    r"\b(?:not|never|no|none|nothing|nobody|neither|nor|cannot|unable|fail\w*|without|if|unless|whether|when|whenever"
    r"|once|until|till|before|after|while|as soon as|how|would|could|should|might|may|must|will|shall|going to|about to"
    r"|almost|nearly|hope|wish|think|doubt|suppose|maybe|perhaps|drafts?|examples?|templates?"
    r"|according to|laut|(?:s?he|they) (?:says?|said|th(?:inks?|ought)|w(?:rites?|rote)|asked|replied)"
    r"|by (?!e?-?mail|phone|me\b|\d)\w+"
    r"|nicht|kein\w*|nie\w*|nichts|weder|ohne|wenn|falls|sobald|ob|bevor|nachdem|würden?|hätten?|könnten?|soll\w*"
    r"|werden?|fast|beinahe|vielleicht|entw[uü]rf\w*|beispiel\w*|vorlage\w*|von (?!mir\b)\w+)\b|n't\b|'ll\b|\?\s*$",
    re.IGNORECASE,
)
"""What takes a sentence back, makes it depend on something, gives the deed to somebody else, or only shows it."""

GERMAN_VERBS: Final = _table("""
    send gesendet geschickt verschickt abgeschickt; email gemailt geschrieben; mail gemailt geschickt
    message geschrieben; notify benachrichtigt informiert; book gebucht reserviert; reserve reserviert
    pay bezahlt gezahlt überwiesen; transfer überwiesen; cancel storniert abgesagt gekündigt; delete gelöscht
    create erstellt angelegt; add hinzugefügt eingetragen; update aktualisiert geändert; write geschrieben
    save gespeichert; schedule geplant angesetzt; order bestellt; buy gekauft; move verschoben
    publish veröffentlicht; post veröffentlicht gepostet; invite eingeladen
""")

GERMAN_THINGS: Final = _table("""
    file datei; message nachricht; email mail; event termin; meeting termin treffen; appointment termin
    invoice rechnung; bill rechnung; contact kontakt; ticket ticket; note notiz; page seite; report bericht
    document dokument; record eintrag datensatz; task aufgabe; reminder erinnerung
""")
