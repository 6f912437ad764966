"""Which of a text's words say that somebody has done something: grammar for F1, on clauses of plain text.

Told as done: "I sent", "we have deleted", "it was sent", "the file is saved", "Message sent", "Sent it", and what goes
on from them ("I looked him up and sent it"); "John has received it", "the user has sent it". Not told as done: what is
negated, asked, wished, to come, conditional, habitual, somebody else's doing, somebody else's words or in quotation
marks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from haltpoint.chain import claims_english as english
from haltpoint.chain.claims_clauses import Sentence, sentences
from haltpoint.chain.claims_english import Verb, words
from haltpoint.chain.claims_joined import JOINS, Joined, Voice
from haltpoint.chain.claims_lexicon import Lexicon
from haltpoint.chain.claims_objects import FILE_NAME, kinds_of
from haltpoint.chain.claims_phrases import (
    ASKING,
    BE,
    DEFINITE,
    NOT_PASSIVE,
    ONLY_TOLD,
    adverb,
    announced,
    by_a_source,
    by_another,
    by_me,
    came_through,
    caused,
    completed,
    fronted,
    leads_to,
    long_ago,
    past,
    to_the_user,
    turned,
    unreal,
)

_MOST: Final = 40  # verbs of one sentence that are looked at
_INVERTED: Final = words(
    "do does did is are was were has have had should shall may might can could will would who what when where why how"
)


_HAVE: Final = ("have", "has", "had")
_MINE: Final = english.ME | english.PERFECT
_ONE: Final = words("message email e-mail mail text sms reply")
_TOLD_OF: Final = ("tell", "remind")
_NO_RECEIVER: Final = words("i we you it who which that what")
_ASKING_FOR_IT: Final = words("me us asking request requests requesting wanting saying")


@dataclass(frozen=True, slots=True)
class Told:
    """A verb that is told as done: of what kinds, by whom, in which sentence; `about`: the words of its clause."""

    verb: Verb
    kinds: tuple[str, ...]
    voice: Voice
    sentence: str
    about: tuple[str, ...]


def _about(before: list[str], after: list[str]) -> list[str]:
    """The words of one deed, without those of its neighbours: the text was kept and | the budget was cut | and sent."""
    joint = max((at for at, word in enumerate(before) if word == "and"), default=-1)
    nearest = before[joint + 1 :]
    if not any(len(word) > 3 and not adverb(word) for word in nearest):  # and sent: what is told before
        nearest = before[: next((at for at, word in enumerate(before) if word in BE), len(before))]
    until = next((at for at, word in enumerate(after) if word in ("and", "that")), len(after))
    return [*nearest, *after[:until]]


def told_as_done(text: str, known: Lexicon) -> Iterator[Told]:
    """Every verb that the text tells as done by the one who speaks, by nobody in particular, or by the user."""
    for written in dict.fromkeys(sentences(text)):
        sentence = Sentence(written)
        if not known.opening.isdisjoint(sentence.tokens):
            yield from _Reading(sentence, known, written.strip()[:300]).told()


class _Reading:
    """What one sentence tells as done."""

    def __init__(self, sentence: Sentence, lexicon: Lexicon, written: str) -> None:
        self._sentence = sentence
        self._tokens = sentence.tokens
        self._lexicon = lexicon
        self._joined = Joined(sentence, lexicon)
        self._written = written

    def told(self) -> Iterator[Told]:
        if self._sentence.asked and (self._sentence.last_end < 0 or self._tokens[0] in _INVERTED):
            return
        if by_a_source(self._tokens):
            return
        opening, forms = self._lexicon.opening, self._lexicon.forms
        places = [i for i, word in enumerate(self._tokens) if word in opening]
        for i in places[:_MOST]:
            pair = f"{self._tokens[i]} {self._sentence.at(i + 1)}"
            form = pair if pair in forms else self._tokens[i]
            told = self._told_at(i, 2 if form is pair else 1, form, forms[form]) if form in forms else None
            if told is not None:
                yield told

    def _told_at(self, i: int, width: int, form: str, verb: Verb) -> Told | None:
        """What is told as done by the verb at i; None when it is not."""
        start, end = self._sentence.clause(i, i + width)
        headed = self._heading(start)
        start += announced(self._tokens[start:i])
        start += fronted(self._tokens[start:end], i - start)
        if self._sentence.asked and end > self._sentence.last_end >= start - 1:
            return None
        before, after = self._tokens[start:i], self._tokens[i + width : end]
        if (
            turned(before)
            or (after and after[0] in english.NOTHING)
            or after[1:2] == ["nothing"]
            or self._is_label(end, before, after)
        ):
            return None
        voice = self._how(i, start, form, verb, before, after)
        if voice is None:
            return None
        kinds = kinds_of(verb, before, after, self._sentence.originals[i + width : end], self._lexicon)
        if voice is Voice.OWN and headed and not before:
            voice = Voice.NOBODYS
        elif voice is Voice.NOBODYS and by_me(after):
            voice = Voice.OWN
        return Told(verb, kinds, voice, self._written, (*headed, *_about(before, after))) if kinds else None

    def _is_label(self, end: int, before: list[str], after: list[str]) -> bool:
        """Messages sent: 3, these tickets were closed: 3; not: it was sent to Ann: I'm late, mail sent: "Hi"."""
        if self._tokens[end : end + 1] != [":"]:
            return False
        if self._tokens[end + 1 : end + 2] == ["§"] and before and before[-1] in _ONE and DEFINITE.isdisjoint(before):
            return False
        sent = before[:1] == ["it"] or not english.MESSAGES.isdisjoint(before)
        return _MINE.isdisjoint(before) and not (sent and not BE.isdisjoint(before) and "you" not in after)

    def _heading(self, start: int) -> list[str]:
        """What stands before a colon, when it is a heading: `Board call: cancelled`; not `Done: cancelled`."""
        if self._tokens[start - 1 : start] != [":"]:
            return []
        words = self._tokens[self._sentence.clause(start - 1, start)[0] : start - 1]
        return [] if all(word in english.LEADS for word in words) else words

    def _how(self, i: int, start: int, form: str, verb: Verb, before: list[str], after: list[str]) -> Voice | None:
        """In whose voice it is told as done; None when it is not."""
        j = self._sentence.back(i, start)
        last = self._tokens[j] if j >= start else ""
        if verb.inward:
            return Voice.NOBODYS if self._received(j, last, start, form, verb, after) else None
        if form not in self._lexicon.pasts and form not in self._lexicon.participles:
            if form in self._lexicon.gerunds and completed(before, after):
                return Voice.NOBODYS
            return Voice.OWN if self._roundabout(form, before) else None
        if self._users(j, last, start, form, after):
            return Voice.USERS
        had = last in ("i'd", "we'd") and form not in self._lexicon.infinitives  # not: I'd send
        if last in english.ME or last in english.PERFECT or last in ("have", "had", "having") or had:
            return Voice.OWN if self._mine(form, last, j, start, verb, after) else None
        if last in BE or last.endswith("'s"):
            passive = form in self._lexicon.participles and self._passive(verb, form, last, j, start, after)
            return Voice.NOBODYS if passive else None
        if last in ("and", "then", "&", ""):
            voice = self._joined.goes_on(j, start, verb, form, after)
            if voice is not None:
                return voice
        if form not in self._lexicon.participles:
            return None
        return Voice.OWN if caused(before) and not by_another(after) else self._news(i, start, verb, before, after)

    def _received(self, j: int, last: str, start: int, form: str, verb: Verb, after: list[str]) -> bool:
        """John has received the message, so somebody sent it; not: I have received it, he received it from Ana."""
        k = self._sentence.back(j, start) if last in _HAVE else j
        if verb.base in english.LIGHT_BASES:
            forms = self._lexicon.participles if last in _HAVE else self._lexicon.pasts
            return k >= start and form in forms and came_through(self._tokens[start : k + 1], after)
        if form not in self._lexicon.pasts or k < start or self._tokens[k] in _NO_RECEIVER or long_ago(after):
            return False
        now = last in _HAVE and any(adverb(word) for word in self._tokens[k : j + 2])
        definite = after[:1] in (["the"], ["your"], ["our"]) and "from" not in after[:10]
        return definite and (now or not english.MESSAGES.isdisjoint(after[1:4]))

    def _users(self, j: int, last: str, start: int, form: str, after: list[str]) -> bool:
        """The user wrote to Grace; not: the user sent me a request, the user wrote asking for it."""
        k = self._sentence.back(j, start) if last in _HAVE else j
        if k <= start - 1 or self._tokens[max(start, k - 1) : k + 1] != ["the", "user"]:
            return False
        forms = self._lexicon.participles if last in _HAVE else self._lexicon.pasts
        return form in forms and _ASKING_FOR_IT.isdisjoint(after[:6])

    def _mine(self, form: str, last: str, j: int, start: int, verb: Verb, after: list[str]) -> bool:
        """I sent, I've sent, we have just sent."""
        known = self._lexicon
        if last in english.ME:
            if form not in known.pasts or (j > start and self._tokens[self._sentence.back(j, start)] in ASKING):
                return False
        elif last in ("have", "had", "having"):
            k = self._sentence.back(j, start)
            if k < start and last == "have" and not self._sentence.asked:
                return form in known.participles
            if k >= start and self._tokens[k] in JOINS and last != "having":
                return form in known.participles and self._joined.speaks_of_me(k) and not to_the_user(verb, after)
            if k < start or self._tokens[k] not in english.ME or last == "having":
                return False
            if k > start and self._tokens[k - 1] in ASKING:
                return False
        return not to_the_user(verb, after)

    def _passive(self, verb: Verb, form: str, last: str, j: int, start: int, after: list[str]) -> bool:
        """It was sent, the files have been deleted, the file is saved; not: will be, by John, every day, yesterday."""
        if verb.person and verb.base not in english.TELLING and not self._rung_up(last, start, j, after):
            return False
        if last in ("be", "being", "am") or by_another(after) or long_ago(after):
            return False
        subject = self._tokens[start:j]
        if last == "been":
            k = self._sentence.back(j, start)
            have = self._tokens[k] if k >= start else ""
            if have not in ("have", "has", "had") and not have.endswith(("'s", "'ve")):
                return False
            subject = self._tokens[start : k + ("'" in have)] or [have]
        while subject and adverb(subject[-1]) and subject not in (["both"], ["all"]):
            subject = subject[:-1]
        if subject[-1:] == ["user"] and verb.base in english.TELLING:
            return False  # by this talk
        who = subject[-1].partition("'")[0] if subject else ""
        told = verb.base in english.TOLD_NEWS and last in ("was", "been") and self._tokens[start - 1] != "because"
        if who in NOT_PASSIVE or (who in ONLY_TOLD and not told) or "how" in subject or "why" in subject:
            return False
        if any(word in english.MODALS and word != "to" for word in subject) or long_ago(subject):
            return False
        if last in ("is", "are") or (last.endswith("'s") and last != "been"):
            now = any(word in ("now", "already", "successfully") for word in self._tokens[j : j + 4])
            habit = any(word in english.HABITS for word in after) or subject[:1] == ["then"]
            settled = any(word in DEFINITE for word in (*subject, last))
            return (verb.state or now) and settled and not habit
        if not subject:
            return (
                j > 0
                and self._tokens[start - 1 : start] in (["and"], [","])
                and self._joined.inherits(start - 1, form) is Voice.NOBODYS
            )
        return True

    def _rung_up(self, last: str, start: int, j: int, after: list[str]) -> bool:
        """Ana has been called; not: the tool has been called, it was called Ana, the meeting has been called off."""
        goes_on = any(word[0].isalnum() for word in after) and after[0] not in english.CALLED_HOW
        return last == "been" and not goes_on and english.NOT_WITH["call"].isdisjoint(self._tokens[start:j])

    def _roundabout(self, form: str, before: list[str]) -> bool:
        """I was able to send, I managed to delete, I did send, I used the tool to send, I have finished writing."""
        known = self._lexicon
        kept = [word for word in before if not adverb(word)]
        if not any(word in english.ME or word in english.PERFECT for word in kept):
            return False
        if form in known.infinitives:
            if kept[-2:] == ["able", "to"]:
                return kept[-3:-2] in (["was"], ["were"], ["been"])
            if kept[-1:] == ["to"]:
                return not unreal(kept[:-1], clear=True) and leads_to(kept)
            return kept[-1:] == ["did"] and kept[-2:-1] in (["i"], ["we"])
        return kept[-1:] in (["finished"], ["completed"]) or kept[-2:] in (
            ["succeeded", "in"],
            ["care", "of"],
            ["liberty", "of"],
        )

    def _news(self, i: int, start: int, verb: Verb, before: list[str], after: list[str]) -> Voice | None:
        """Message sent; Sent the message; Done, 3 files deleted."""
        if by_another(after) or long_ago((*before, *after)):
            return None
        if verb.person:  # Told John you are late
            whom = self._sentence.originals[i + 1 : i + 2] if verb.base in _TOLD_OF and i == start else []
            return Voice.OWN if whom and (whom[0][:1].isupper() or whom[0] in english.HIM) else None
        if any(t in english.FINITE for t in after):
            return None
        k = start
        while k < i and (self._tokens[k] in english.LEADS or not self._tokens[k][0].isalnum()):
            k += 1
        k = i if all(map(adverb, self._tokens[k:i])) else k
        first = after[0] if after else ""
        if k == i:
            named = bool(after) and self._sentence.originals[i + 1][:1].isupper() and "send" in verb.kinds
            things = first in self._lexicon.heads or first.isdigit() or bool(FILE_NAME.fullmatch(first))
            whole = not any(word[0].isalnum() for word in after)
            mine = whole or (first in english.ALONG and first != "from") or things or named or first == "§"
            return Voice.OWN if mine else None
        phrase = [word for word in self._tokens[k:i] if not adverb(word)]
        if len(phrase) > 7 or any(t in english.NEVER_IN_NEWS or t in english.FINITE for t in phrase):
            return None
        if any(word in english.MODALS and word != "to" for word in phrase) or any(map(past, phrase)):
            return None
        whole = not any(word[0].isalnum() for word in after)
        heads = [t for t in phrase if t in self._lexicon.heads or FILE_NAME.fullmatch(t)]
        if not heads:
            return None
        told = whole or (phrase[-1] in (heads[-1], "§") and (first in english.ALONG or first in ("§", "as")))
        return Voice.NOBODYS if told else None
