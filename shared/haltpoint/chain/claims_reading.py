"""Which of a text's words say that somebody has done something: grammar for F1, on clauses of plain text.

Told as done: "I sent", "we have deleted", "it was sent", "the file is saved", "Message sent", "Sent it", and what goes
on from them ("I looked him up and sent it"). Not told as done: what is negated, asked, wished, to come, conditional,
habitual, somebody else's doing, somebody else's words or in quotation marks.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from haltpoint.chain import claims_english as english
from haltpoint.chain.claims_clauses import Sentence, sentences
from haltpoint.chain.claims_english import Verb, words
from haltpoint.chain.claims_lexicon import Lexicon
from haltpoint.chain.claims_phrases import (
    ASKING,
    BE,
    DEFINITE,
    NOT_PASSIVE,
    PAST,
    acts,
    adverb,
    announced,
    by_a_source,
    by_another,
    long_ago,
    past,
    to_the_user,
    turned,
    unreal,
)

_MOST: Final = 40  # verbs of one sentence that are looked at
_FILE_NAME: Final = re.compile(r"[\w/~-]+\.[a-z]\w{0,5}")
_INVERTED: Final = words(
    "do does did is are was were has have had should shall may might can could will would who what when where why how"
)


@dataclass(frozen=True, slots=True)
class Told:
    """A verb that is told as done, of what kinds, and the sentence."""

    verb: str
    kinds: tuple[str, ...]
    sentence: str


def told_as_done(text: str, known: Lexicon) -> Iterator[Told]:
    """Every verb that the text tells as done by the one who speaks, or by nobody in particular."""
    for written in dict.fromkeys(sentences(text)):
        sentence = Sentence(written)
        if known.opening.isdisjoint(sentence.tokens):
            continue
        for verb, kinds in _Reading(sentence, known).told():
            yield Told(verb, kinds, written.strip()[:300])


class _Reading:
    """What one sentence tells as done."""

    def __init__(self, sentence: Sentence, lexicon: Lexicon) -> None:
        self._sentence = sentence
        self._tokens = sentence.tokens
        self._lexicon = lexicon

    def told(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        if self._sentence.asked and (self._sentence.last_end < 0 or self._tokens[0] in _INVERTED):
            return
        if by_a_source(self._tokens):
            return
        opening, forms = self._lexicon.opening, self._lexicon.forms
        places = [i for i, word in enumerate(self._tokens) if word in opening]
        for i in places[:_MOST]:
            pair = f"{self._tokens[i]} {self._sentence.at(i + 1)}"
            form = pair if pair in forms else self._tokens[i]
            verb = forms.get(form)
            kinds = self._told_at(i, 2 if form is pair else 1, form, verb) if verb else ()
            if verb and kinds:
                yield verb.base, kinds

    def _told_at(self, i: int, width: int, form: str, verb: Verb) -> tuple[str, ...]:
        """The kinds of what is told as done by the verb at i; none when it is not."""
        start, end = self._sentence.clause(i, i + width)
        start += announced(self._tokens[start:i])
        if self._sentence.asked and end > self._sentence.last_end >= start - 1:
            return ()
        before, after = self._tokens[start:i], self._tokens[i + width : end]
        if turned(before) or (after and after[0] in english.NOTHING) or self._tokens[end : end + 1] == [":"]:
            return ()
        done = self._how(i, start, form, verb, before, after)
        if not done:
            return ()
        return self._kinds(verb, before, after, self._sentence.originals[i + width : end])

    def _how(self, i: int, start: int, form: str, verb: Verb, before: list[str], after: list[str]) -> bool:
        j = self._sentence.back(i, start)
        last = self._tokens[j] if j >= start else ""
        if form not in self._lexicon.pasts and form not in self._lexicon.participles:
            return self._roundabout(form, before, j, start)
        if last in english.ME or last in english.PERFECT or last in ("have", "had", "having"):
            return self._mine(form, last, j, start, verb, after)
        if last in BE or last.endswith("'s"):
            return form in self._lexicon.participles and self._passive(verb, form, last, j, start, after)
        if last in ("and", "then", "&", "") and self._goes_on(j, start, verb, form, after):
            return True
        return form in self._lexicon.participles and self._news(i, start, verb, before, after)

    def _mine(self, form: str, last: str, j: int, start: int, verb: Verb, after: list[str]) -> bool:
        """I sent, I've sent, we have just sent."""
        known = self._lexicon
        if last in english.ME:
            if form not in known.pasts or (j > start and self._tokens[self._sentence.back(j, start)] in ASKING):
                return False
        elif last not in english.PERFECT:
            k = self._sentence.back(j, start)
            if k < start and last == "have" and not self._sentence.asked:
                return form in known.participles
            if k < start or self._tokens[k] not in english.ME or last == "having":
                return False
            if k > start and self._tokens[k - 1] in ASKING:
                return False
        return not to_the_user(verb, after)

    def _passive(self, verb: Verb, form: str, last: str, j: int, start: int, after: list[str]) -> bool:
        """It was sent, the files have been deleted, the file is saved; not: will be, by John, every day, yesterday."""
        somebody = verb.person and verb.base not in english.TELLING  # Hannah was told; a file was called
        if somebody or last in ("be", "being", "am") or by_another(after) or long_ago(after):
            return False
        subject = self._tokens[start:j]
        if last == "been":
            k = self._sentence.back(j, start)
            have = self._tokens[k] if k >= start else ""
            if have not in ("have", "has", "had") and not have.endswith(("'s", "'ve")):
                return False
            subject = self._tokens[start : k + ("'" in have)] or [have]
        while subject and adverb(subject[-1]):
            subject = subject[:-1]
        if (subject and subject[-1].partition("'")[0] in NOT_PASSIVE) or "how" in subject or "why" in subject:
            return False
        if any(word in english.MODALS and word != "to" for word in subject) or long_ago(subject):
            return False
        if last in ("is", "are") or (last.endswith("'s") and last != "been"):
            now = any(word in ("now", "already", "successfully") for word in self._tokens[j : j + 4])
            habit = any(word in english.HABITS for word in after)
            settled = any(word in DEFINITE for word in (*subject, last))
            return (verb.state or now) and settled and not habit
        if not subject:
            return (
                j > 0
                and self._tokens[start - 1 : start] in (["and"], [","])
                and self._inherits(start - 1, form) == "thing"
            )
        return True

    def _goes_on(self, j: int, start: int, verb: Verb, form: str, after: list[str]) -> bool:
        """...and sent it: whoever did what is told before did this too."""
        at = j if j >= start else start - 1
        if at < 0 or (self._tokens[at] not in ("and", "then", "&", ",")):
            return False
        who = self._inherits(at, form)
        if who == "me":
            return form in self._lexicon.pasts and not by_another(after) and not to_the_user(verb, after)
        return who == "thing" and form in self._lexicon.participles and not by_another(after) and not long_ago(after)

    def _inherits(self, at: int, form: str) -> str:
        """Who does what stands before `at`, and `form` behind it: `me`, `thing` (a passive), or nobody that counts."""
        clear = form not in self._lexicon.infinitives
        for k in range(at - 1, max(-1, at - 30), -1):
            word = self._tokens[k]
            if word in english.ME or word in english.PERFECT:
                lo = self._sentence.clause(k, k + 1)[0]
                following = self._tokens[k + 1 : k + 5]
                away = turned(self._tokens[lo:at]) or unreal(following, clear=clear)
                return "" if away or not self._did(k, following) else "me"
            if word in ("was", "were", "been"):
                lo = self._sentence.clause(k, k + 1)[0]
                whole = self._tokens[lo:at]
                return "" if turned(whole) or unreal(whole, clear=clear) else "thing"
            if acts(self._tokens[k:at]) or unreal([word], clear=clear):
                return ""
        return ""

    def _did(self, k: int, following: list[str]) -> bool:
        """Whether what follows I or we is told as past."""
        if self._tokens[k] in english.PERFECT:
            return True
        word = next((one for one in following if one not in ("have", "had") and not adverb(one)), "")
        return word.endswith("ed") or word in PAST or word in self._lexicon.pasts

    def _roundabout(self, form: str, before: list[str], j: int, start: int) -> bool:
        """I was able to send, I managed to delete, I did send, I have finished writing."""
        known = self._lexicon
        kept = [word for word in before if not adverb(word)]
        if not any(word in english.ME or word in english.PERFECT for word in kept):
            return False
        if form in known.infinitives:
            if kept[-2:] == ["able", "to"]:
                return kept[-3:-2] in (["was"], ["were"], ["been"])
            return kept[-2:] == ["managed", "to"] or (kept[-1:] == ["did"] and kept[-2:-1] in (["i"], ["we"]))
        return kept[-1:] in (["finished"], ["completed"]) or kept[-2:] in (
            ["succeeded", "in"],
            ["care", "of"],
            ["liberty", "of"],
        )

    def _news(self, i: int, start: int, verb: Verb, before: list[str], after: list[str]) -> bool:
        """Message sent; Sent the message; Done, 3 files deleted."""
        if verb.person or by_another(after) or any(t in english.FINITE for t in after) or long_ago((*before, *after)):
            return False
        k = start
        while k < i and (self._tokens[k] in english.LEADS or not self._tokens[k][0].isalnum()):
            k += 1
        k = i if all(map(adverb, self._tokens[k:i])) else k
        first = after[0] if after else ""
        if k == i:
            named = bool(after) and self._sentence.originals[i + 1][:1].isupper() and "send" in verb.kinds
            things = first in self._lexicon.heads or first.isdigit() or bool(_FILE_NAME.fullmatch(first))
            whole = not any(word[0].isalnum() for word in after)
            return whole or (first in english.ALONG and first != "from") or things or named or first == "§"
        phrase = [word for word in self._tokens[k:i] if not adverb(word)]
        if len(phrase) > 7 or any(t in english.NEVER_IN_NEWS or t in english.FINITE for t in phrase):
            return False
        if any(word in english.MODALS and word != "to" for word in phrase) or any(map(past, phrase)):
            return False
        whole = not any(word[0].isalnum() for word in after)
        heads = [t for t in phrase if t in self._lexicon.heads or _FILE_NAME.fullmatch(t)]
        if not heads:
            return False
        return whole or (phrase[-1] in (heads[-1], "§") and (first in english.ALONG or first in ("§", "as")))

    def _kinds(self, verb: Verb, before: list[str], after: list[str], originals: Sequence[str]) -> tuple[str, ...]:
        """Of what kinds the deed is, by the verb and by its object; none when the verb needs another object."""
        near = (*before[-8:], *after[:10])
        if verb.base in english.LIGHT_BASES:
            noun = next((word for word in (*after[:10], *before[-8:]) if word in english.NOUN_KINDS), None)
            if noun or not verb.kinds:
                return (english.NOUN_KINDS[noun],) if noun else ()
        if verb.base in english.ONLY_WITH and not english.ONLY_WITH[verb.base].intersection(after[:5]):
            return ()
        if any(word in english.NOT_WITH.get(verb.base, ()) for word in after[:4]):
            return ()
        if verb.base == "call" and any("_" in word for word in originals):
            return ()
        if verb.thing:
            lasting = any(word in self._lexicon.things or _FILE_NAME.fullmatch(word) for word in near)
            if not lasting or any(word in ("below", "above", "following") for word in near):
                return ()
        return verb.kinds
