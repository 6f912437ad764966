"""What a chain knows: the user's own words, what persons gave, the task's context, and receipts
(C13).

A value is known when the words hold it as a word or phrase, or when it is the whole of a text or
number in one of the others, at a field that no stranger writes and that is no echo of the call
which brought it. Receipts that a chain knows are made known to those below it and to the one above
(I1).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, Final, Self

from haltpoint.chain.checks.plans import calls_of
from haltpoint.chain.model.canonical import bare, form, holds
from haltpoint.chain.model.limits import Tools
from haltpoint.chain.model.references import (
    KEYS,
    Path,
    is_below,
    parse_path,
    path_text,
    read_json,
    scalars_at,
    write_json,
)
from haltpoint.chain.model.state import Action, is_submitters
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import Strings, value
from haltpoint.contracts.reasons import Source, SourceKind
from haltpoint.contracts.tools import ASK_HUMAN
from haltpoint.contracts.work.known import KnownReceipt

GOAL: Final = "goal"
"""The origin that is the user's words."""
SAID: Final = "said"
"""The key in the data of a receipt that a person completed: the words as they were typed."""
LONGEST_PLACE: Final = 200
MOST_KNOWN: Final = 64 * 1024
"""Bytes of the arguments and data of the receipts that are made known, the newest: a report is one
message.
"""
_BEFORE: Final = 40
_SHOWN: Final = 160
"""Characters of an excerpt, and of those before the value in it."""
_PICKED: Final = ("selected", "id")
"""The option of a tool that a person picked is one of those that it found."""

Receipts = tuple[KnownReceipt, ...]


@value
class Document:
    """A JSON value (text) that the chain knows. The texts and numbers in it count as `kind`."""

    kind: SourceKind
    where: str
    data: str
    call: str = ""
    """The arguments (JSON text) of the call that brought it: what it repeats of them is no
    source.
    """
    foreign: Strings = ()
    """The places that strangers write."""
    tool: str = ""
    """The tool whose origins are in it."""
    typed: Path | None = None
    """The place of what a person or the task gave as a whole: an origin of any value."""

    def whole(self, text: str) -> Source | None:
        """The source of a value that is the whole of a text or number, by its form."""
        for place in _entries(self.data).get(text, ()):
            is_strangers = any(is_below(parse_path(path), place) for path in self.foreign)
            is_part = self.kind is SourceKind.TEXT or KEYS in place
            if not (is_part or is_strangers or holds(_texts(self.call), text)):
                where = f"{self.where}.{path_text(place)}"
                return Source(self.kind, where=where[:LONGEST_PLACE])
        return None

    def piece(self, value: Any) -> Source | None:
        """The place of the first text that holds a value; of an echo there is none."""
        sought = str(value).lower()
        for text, places in _entries(self.data).items():
            start = text.lower().find(sought)
            if start < 0 or KEYS in places[0] or holds(_texts(self.call), form(value)):
                continue
            around = text[max(0, start - _BEFORE) :][:_SHOWN]
            excerpt = " ".join(around.split())
            where = f"{self.where}.{path_text(places[0])}"[:LONGEST_PLACE]
            return Source(SourceKind.TEXT, where=where, excerpt=excerpt)
        return None

    def at(self, origins: Strings) -> dict[str, str]:
        """The values in it that are at one of these origins, by their forms as they are spelled."""
        paths = [] if self.typed is None else [self.typed]
        picked = [_PICKED] if self.kind is SourceKind.PERSON else []
        for origin in origins:
            tool, _, place = origin.partition(".")
            if tool == self.tool:
                paths += [parse_path(place), *picked]
        return _at(self.data, tuple(paths)) if paths else {}


@lru_cache(maxsize=256)
def _entries(data: str) -> dict[str, list[Path]]:
    """The places of the texts and numbers of JSON text, by their forms. Most documents of a chain
    were there in the turn before.
    """
    entries: dict[str, list[Path]] = {}
    for place, scalar in scalars_at(read_json(data)):
        entries.setdefault(form(scalar), []).append(place)
    return entries


@lru_cache(maxsize=256)
def _at(data: str, paths: tuple[Path, ...]) -> dict[str, str]:
    """The texts and numbers of JSON text at these paths or below them."""
    whole = read_json(data)
    scalars = chain.from_iterable(scalars_at(whole, path) for path in paths)
    return {form(scalar): str(scalar) for _, scalar in scalars}


@lru_cache(maxsize=256)
def _texts(data: str) -> str:
    """The texts and numbers of JSON text, by their forms, as one text: no phrase spans two."""
    return "\0".join(_entries(data))


@dataclass(eq=False)
class Known:
    """All that is known where a call is judged: by the core, or once more by a worker."""

    words: str
    """The user's own, with a sign between two of them that no phrase holds."""
    documents: Sequence[Document]
    """What was given with the task before receipts, and these in their order."""

    @classmethod
    def of(cls, work: Work) -> Self:
        """What the chain of a decision knows. The user's own words are the goal, a person's in its
        place or in a step's, this user's goals before (C15), and the arguments of a submitter's
        plan; no answers to questions.
        """
        task = work.task
        people = work.people
        calls = calls_of(work.plan) if is_submitters(work) else ()
        written = write_json([call.arguments for call in calls])
        own = Document(SourceKind.GOAL, "plan", written)
        given = given_whole(SourceKind.CONTEXT, task.context)
        receipts = documents_of(work.receipts.values(), work.world.tools)
        earlier = [before.goal for before in task.handed.earlier if before.user == task.user]
        words = (task.own_goal, people.goal, *people.words, *earlier)
        return cls("\0".join(filter(None, words)), [own, given, *receipts])

    def source(self, value: Any) -> Source:
        """The source of a value."""
        pieces = (document.piece(value) for document in self.documents)
        found = self.whole(value) or next(filter(None, pieces), None)
        return found or Source(SourceKind.MODEL)

    def whole(self, value: Any) -> Source | None:
        """The source of a value that is known. No text is searched for one that is not."""
        text = form(value)
        if holds(self.words, text):
            return Source(SourceKind.GOAL)
        wholes = (document.whole(text) for document in self.documents)
        return next(filter(None, wholes), None)

    def has_origin(self, value: Any, origins: Strings) -> bool:
        """Whether a value is at one of these origins (C6): in the user's words, a receipt of its
        tool, the context, or what a person picked there or typed anywhere.
        """
        text = form(value)
        if GOAL in origins and holds(self.words, text):
            return True
        return any(text in document.at(origins) for document in self.documents)

    def like(self, value: Any, origins: Strings) -> list[str]:
        """The texts at these origins that a value is but for its spaces and signs (C9). Of two
        spellings of one value the later counts.
        """
        wanted = bare(str(value))
        spelled = dict[str, str]()
        for document in self.documents:
            spelled |= document.at(origins)
        return [text for text in spelled.values() if bare(text) == wanted]


def given_whole(kind: SourceKind, data: Any) -> Document:
    """What the task or a person gave as a whole."""
    return Document(kind, kind.value, write_json(data), typed=())


def documents_of(receipts: Iterable[Action], tools: Tools) -> Iterator[Document]:
    """What receipts give. Of a tool that no worker serves any more it is not known what strangers
    write. No person has typed what a picked option holds, nor the number of a model's option.
    """
    for action in receipts:
        spec = tools.get(action.tool)
        approval = action.told.approval
        if approval is not None and approval.proposed is not None:
            yield Document(SourceKind.PERSON, f"{action.id} edited", action.ran, approval.proposed)
        foreign = () if spec is None else spec.foreign
        where = f"{action.id} data"
        if action.by_a_person:
            is_models = action.tool == ASK_HUMAN
            picked = "selected" if is_models else "selected.value"
            tool = action.tool if action.satisfies and not is_models else ""
            typed = None if action.selected else (SAID,)
            marks = (*foreign, picked)
            yield Document(SourceKind.PERSON, where, action.data, "", marks, tool, typed)
        elif action.is_source:
            kind = SourceKind.TEXT if spec is None else SourceKind.RESULT
            yield Document(kind, where, action.data, action.arguments, foreign, action.tool)


def origin_tools(origins: Iterable[str]) -> list[str]:
    """The tools among the origins."""
    return [origin.partition(".")[0] for origin in origins if origin != GOAL]


def origins_in_words(origins: Sequence[str]) -> str:
    """Origins in words."""
    words = ["the user's words" if origin == GOAL else origin for origin in origins]
    return " or ".join(words)


def users_goal(work: Work) -> str:
    """The user's own goal, or a person's words in its place."""
    goal = work.people.goal
    return work.task.own_goal if goal is None else goal


# ---- between chains
# ----------------------------------------------------------------------------------


def made_known(work: Work, *before: KnownReceipt) -> Receipts:
    """What the chain found out itself or from those below it, behind what it knew before."""
    known = [*before, *work.below.known]
    for action in work.actions.values():
        by = action.told.by if action.by_a_person else None
        if action.is_source:
            known.append(KnownReceipt(action.id, action.tool, action.ran, action.data, by))
    return newest(known)


def newest(receipts: Sequence[KnownReceipt]) -> Receipts:
    """The last of these receipts that there is room for, in their order."""
    room = MOST_KNOWN
    kept = list[KnownReceipt]()
    for receipt in reversed(receipts):
        size = len(receipt.arguments) + len(receipt.data)
        if size <= room:
            room -= size
            kept.append(receipt)
    return tuple(reversed(kept))
