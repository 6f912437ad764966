"""Retold or made up? A deed without a doer (`the contract was cancelled`) that the chain's own data tell of (F1).

Who sums up a mailbox or minutes tells of deeds that no tool of this chain has done. Such a sentence is retold when data
that the chain was given hold its verb, near to what the sentence is about. Where the chain is asked for a deed of this
kind, by the goal, by its plan or by a call that was proposed, that is not enough: what the sentence is about must not
be what the goal is about, since a mail that says "the message was sent to John" sends nothing. And data never found
what is told in the first person.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice, pairwise
from typing import Final

from haltpoint.chain import claims_english as english
from haltpoint.chain import claims_english_retold as retelling
from haltpoint.chain.claims_english import Verb
from haltpoint.chain.claims_phrases import to_the_user
from haltpoint.chain.patterns import asking

_LONGEST: Final = 12_000  # characters of one result: as much of it as a model is shown
_ALL_TOGETHER: Final = 48_000  # and of all of them
_MOST: Final = 100  # places of one form in one text
_AROUND: Final = 240  # characters before and behind a verb in which its passage may begin and end
_WORD: Final = re.compile(r"[\w@/~](?:[\w@/~]|['.-](?=\w)|(?<=\d)[,:](?=\d))*")
_PASSAGE: Final = re.compile(
    r"[.!?]?\"?\}[\s,\]\}]*\{?|(?<!:)(?<!: )\{|\n+|[.!?](?=[\s\"])|\",\s*\"(?![^\"]{0,60}\"\s*:)"
)
_GOES_ON: Final = re.compile(r"\W*(?:and |then |so )?(?:it|this|that|they|he|she|these|both)\b")
_OF_IT: Final = re.compile(r"\s+(?:it|them|this|that|these|both|all)\b")
_NOT_DONE: Final = re.compile(
    r"(?:\b(?:not|never|no|be|being|cannot|will|wants?|needs?|if|once|unless|until)\b|n't\b)[^.;:,\"\n]{0,30}$"
)
_UNTRUE: Final = re.compile(r'"?\s*[:=]\s*"?(?:false|no|null|none|0)\b|[^.!;"\n]{0,80}\?')
_TO_DO: Final = re.compile(r"(?:^|[^\w\s]\s*|\b(?:to|please|and|then|you|i|we|must|should|can|could|may|let's)\s+)$")
_ESCAPED: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
_IT: Final = english.words("it this that they these everything both all")
_REPLIES: Final = frozenset({"reply", "answer"})  # of whoever reads a mail, whatever stands before
_PLURAL: Final = re.compile(r"(?:'s|s'|s)$")
_NUMBER: Final = re.compile(r"\d{1,2}|\d+:[\d:]+|\d+(?:st|nd|rd|th|am|pm|h)")


@dataclass(frozen=True)
class Background:
    """What a chain knows when something is said.

    `planned` are the tools that its plan requires or that were proposed, `brought` its data, the newest first.
    """

    goal: str = ""
    planned: Collection[str] = ()
    brought: Iterable[str] = ()

    @cached_property
    def data(self) -> tuple[str, ...]:
        """What a model may have read of it, the newest first, in lower case."""
        left, found = _ALL_TOGETHER, []
        for text in self.brought:
            plainly = text[: min(left, _LONGEST)].replace("\\n", "\n")
            if "\\u" in plainly:
                plainly = _ESCAPED.sub(lambda escaped: chr(int(escaped[1], 16)), plainly)
            found.append(plainly.lower())
            left -= len(plainly)
            if left <= 0:
                break
        return tuple(found)


def is_retold(verb: Verb, about: Iterable[str], background: Background, *, asked_for: bool) -> bool:
    """Whether data tell of this deed. `about` are the words of its clause; `asked_for`: a deed of this kind is due."""
    clause = tuple(about)
    things, wanted = _things(clause) - _stems(_forms(verb)), _wanted(background.goal)
    named = {stem for stem in things & _MESSAGES if stem in _REPLIES or _definite(stem, clause)}
    if asked_for and (named or not things or not things.isdisjoint(wanted) or clause[0] in _IT):
        return False
    things = things - wanted | named  # data about what was asked for need not name it again
    return any(_tells(text, _forms(verb), things, named) for text in background.data)


@lru_cache(maxsize=64)
def kinds_asked_for(goal: str) -> frozenset[str]:
    """The kinds of deeds that a goal asks for; `any` when it leaves to others what is to be done."""
    return frozenset(kind for clause in asking(goal) for kind in _asked_in(_WORD.findall(clause.lower())))


def _asked_in(words: list[str]) -> Iterator[str]:
    having = False
    for at, word in enumerate(words):
        previous, after = words[at - 1] if at else "", words[at + 1 : at + 6]
        having = having or word in retelling.HAVING_DONE
        if having and word in _BY_PARTICIPLE:
            yield from _BY_PARTICIPLE[word]
        if previous and previous not in retelling.REQUESTED_BY and not previous.endswith("ly"):
            continue
        if word in retelling.DELEGATES or (word == "take" and "care" in after):
            yield english.ANY
        if word in retelling.ASKS or (word == "write" and after[:1] == ["to"]):
            yield "send"
        for verb in _BY_BASE.get(word, _BY_BASE.get(f"{word} {''.join(after[:1])}", ())):
            if not to_the_user(verb, after) and (not verb.thing or not english.THINGS.isdisjoint(after)):
                yield from verb.kinds
        if word in english.LIGHT_BASES:
            yield from (english.NOUN_KINDS[noun] for noun in after if noun in english.NOUN_KINDS)


def _tells(text: str, forms: Collection[str], things: frozenset[str], named: Collection[str]) -> bool:
    """Whether the text tells somewhere that it was done, to half of these things and to all that must be named."""
    enough = (len(things) + 1) // 2
    for form in forms:
        for at in islice(_places(form, text), _MOST):
            end = at + len(form)
            window = text[max(0, at - _AROUND) : end + _AROUND]
            if sum(thing in window for thing in things) < enough or not _is_done(text, at, end):
                continue
            found = things & _named(_passage(text, at, end), form)
            if len(found) >= enough and found.issuperset(named):
                return True
    return False


def _is_done(text: str, start: int, end: int) -> bool:
    """Whether the word here tells of a deed as done; not: it was not sent, to be sent, sent: false, was it sent?"""
    before = text[max(0, start - 40) : start]
    if _NOT_DONE.search(before) or _UNTRUE.match(text, end):
        return False
    return text[start:end] not in _BY_BASE or not _TO_DO.search(before)  # `set`: done, or to be done?


def _passage(text: str, start: int, end: int) -> str:
    """The sentence, line or record around a place; more of it, when it goes on from there or names nothing itself."""
    first = max(0, start - _AROUND)
    window = text[first : end + _AROUND]
    marks = list(_PASSAGE.finditer(window))
    row = window.rfind("[", 0, start - first)
    if row > 0 and window[:row].rstrip()[-1:] in ("[", ","):  # a row of a table, not one of a list
        return window[row + 1 :].partition("]")[0]
    begins = [0, *(mark.end() for mark in marks if mark.end() <= start - first)]
    ends = [*(mark.start() for mark in marks if mark.start() >= end - first), len(window)]
    passage = window[begins[-1] : ends[0]]
    if len(begins) > 1 and (_GOES_ON.match(passage) or _OF_IT.match(text, end)):
        return window[begins[-2] : ends[0]]
    if not _named(passage, text[start:end]):  # one word in a list: its record
        return window[window.rfind("{", 0, start - first) + 1 : ends[0]]
    return passage


def _named(passage: str, form: str) -> frozenset[str]:
    words = _WORD.findall(passage)
    return _things([*words, *(part for word in words if "_" in word for part in word.split("_"))]) - {form}


def _places(form: str, text: str) -> Iterator[int]:
    at = text.find(form)
    while at >= 0:
        end = at + len(form)
        if not (text[at - 1 : at].isalnum() or text[end : end + 1].isalnum()):
            yield at
        at = text.find(form, end)


@lru_cache(maxsize=512)
def _forms(verb: Verb) -> frozenset[str]:
    """What data may say where a text says this verb: its past, its participle, and what is as good as them."""
    own = {form for spoken in (verb.past, verb.participle) for form in (spoken, spoken.replace(" ", "_"))}
    return frozenset(own.union(*(group for group in retelling.LIKE if not own.isdisjoint(group))))


def _things(words: Iterable[str]) -> frozenset[str]:
    """What words name, without those that name nothing."""
    telling = (word for word in words if len(word) > 2 and word[0].isalnum() and not _NUMBER.fullmatch(word))
    return _stems(word for word in telling if word not in retelling.TELLS_LITTLE and word not in retelling.TIMES)


@lru_cache(maxsize=64)
def _wanted(goal: str) -> frozenset[str]:
    return _things(_WORD.findall(goal[:4000].lower()))


def _stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(_PLURAL.sub("", word) for word in words)


def _definite(stem: str, clause: tuple[str, ...]) -> bool:
    """The message, your message; not: a message."""
    return any(word.startswith(stem) and before in ("the", "your") for before, word in pairwise(clause))


def _by_base() -> Mapping[str, tuple[Verb, ...]]:
    found: dict[str, tuple[Verb, ...]] = {}
    for verb in english.VERBS:
        if not verb.inward:
            found[verb.base] = (*found.get(verb.base, ()), verb)
    return found


_MESSAGES: Final = _stems(english.MESSAGES)
_BY_BASE: Final = _by_base()
_BY_PARTICIPLE: Final = {verb.participle: verb.kinds for verb in english.VERBS if not verb.inward}
