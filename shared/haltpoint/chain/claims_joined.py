"""What goes on from what was told before: in whose voice stands `... and sent it` (CONTRACT F1)."""

from enum import Enum
from typing import Final

from haltpoint.chain import claims_english as english
from haltpoint.chain.claims_clauses import Sentence
from haltpoint.chain.claims_english import Verb
from haltpoint.chain.claims_lexicon import Lexicon
from haltpoint.chain.claims_phrases import (
    PAST,
    acts,
    adverb,
    by_another,
    fronted,
    long_ago,
    to_the_user,
    turned,
    unreal,
)

JOINS: Final = ("and", "then", "&", ",")


class Voice(Enum):
    """Who has done it, as it is told: the one who speaks, nobody in particular (it was sent), or the user."""

    OWN = 1
    NOBODYS = 2
    USERS = 3


class Joined:
    """The joints of one sentence."""

    def __init__(self, sentence: Sentence, lexicon: Lexicon) -> None:
        self._sentence = sentence
        self._tokens = sentence.tokens
        self._lexicon = lexicon

    def speaks_of_me(self, at: int) -> bool:
        """Whether `and have sent` at this place goes on from I or we: I have his id and have sent it."""
        for k in range(at - 1, max(-1, at - 30), -1):
            word = self._tokens[k]
            if word in english.ME or word in english.PERFECT:
                lo = self._main_clause(k)
                return not turned(self._tokens[lo:at]) and not unreal(self._tokens[k + 1 : k + 3], clear=True)
            if acts(self._tokens[k:at]):
                return False
        return False

    def _main_clause(self, me: int) -> int:
        """Where the clause of this I or we begins, without what stands before it: After the lookup | I wrote it and."""
        start, end = self._sentence.clause(me, me + 1)
        return start + fronted(self._tokens[start:end], me + 1 - start)

    def goes_on(self, j: int, start: int, verb: Verb, form: str, after: list[str]) -> Voice | None:
        """...and sent it: whoever did what is told before did this too."""
        at = j if j >= start else start - 1
        if at < 0 or self._tokens[at] not in JOINS:
            return None
        who = self.inherits(at, form)
        if who is Voice.OWN:
            mine = form in self._lexicon.pasts and not by_another(after) and not to_the_user(verb, after)
            return who if mine else None
        told = form in self._lexicon.participles and not by_another(after) and not long_ago(after)
        return who if told else None

    def inherits(self, at: int, form: str) -> Voice | None:
        """In whose voice stands what is before `at`, and so `form` behind it; None: nobody's who counts."""
        clear = form not in self._lexicon.infinitives
        for k in range(at - 1, max(-1, at - 30), -1):
            word = self._tokens[k]
            if word in english.ME or word in english.PERFECT:
                lo = self._main_clause(k)
                following = self._tokens[k + 1 : k + 5]
                away = turned(self._tokens[lo:at]) or unreal(following, clear=clear)
                did = self._did(k, following) or self._holds(k, at)
                return Voice.OWN if did and not away else None
            if word in ("was", "were", "been"):
                lo = self._sentence.clause(k, k + 1)[0]
                whole = self._tokens[lo:at]
                return None if turned(whole) or unreal(whole, clear=clear) else Voice.NOBODYS
            if acts(self._tokens[k:at]) or unreal([word], clear=clear):
                return None
        return None

    def _did(self, k: int, following: list[str]) -> bool:
        """Whether what follows I or we is told as past."""
        if self._tokens[k] in english.PERFECT:
            return True
        word = next((one for one in following if one not in ("have", "had") and not adverb(one)), "")
        return word.endswith("ed") or word in PAST or word in self._lexicon.pasts

    def _holds(self, k: int, at: int) -> bool:
        """I have her id and sent it; not: I have the mails written and sent."""
        between = self._tokens[k + 2 : at]
        holds = self._tokens[k + 1 : k + 2] in (["have"], ["know"])
        return holds and not any(word.endswith("ed") or word in self._lexicon.participles for word in between)
