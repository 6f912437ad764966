"""What a chain knows: the user's own words, what persons gave, the task's context, and receipts
(C13).

A value is known when the words hold it as a word or phrase, or when it is the whole of a text or
number in one of the others, at a field that no stranger writes and that is no echo of the call
which brought it. Receipts that a chain knows are made known to those below it and to the one above
(I1).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import chain
from typing import Any, Final, Self

from msgspec import structs

from haltpoint.chain.model.canonical import bare, form, holds
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
from haltpoint.contracts.reasons import Source, SourceKind
from haltpoint.contracts.tools import ASK_HUMAN, ToolSpec
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
_AROUND: Final = 40
"""Characters that an excerpt shows before a value."""
_PICKED: Final = ("selected", "id")
"""The option of a tool that a person picked is one of those that it found."""

Receipts = tuple[KnownReceipt, ...]
Values = tuple[dict[str, Any], dict[str, set[str]]]
"""Values by their forms, and texts by what they are without spaces and signs."""


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON value (text) that the chain knows. The texts and numbers in it count as `kind`."""

    kind: SourceKind
    where: str
    data: str
    call: str = ""
    """The arguments (JSON text) of the call that brought it: what it repeats of them is no
    source.
    """
    foreign: tuple[str, ...] = ()
    """The places that strangers write."""
    tool: str = ""
    """The tool whose origins are in it."""
    typed: Path | None = None
    """The place of what a person or the task gave as a whole: an origin of any value."""

    def whole(self, value: Any) -> Source | None:
        """The source of a value that is the whole of a text or number."""
        places = [place for place, _ in _entries(self.data).get(form(value), ())]
        own = [place for place in places if KEYS not in place and not self._is_foreign(place)]
        if self.kind is SourceKind.TEXT or not own or self._is_echo(value):
            return None
        return Source(source=self.kind, where=self._at(own[0]))

    def piece(self, value: Any) -> Source | None:
        """The place of the first text that holds a value; of an echo there is none."""
        if self._is_echo(value):
            return None
        for place, scalar in chain.from_iterable(_entries(self.data).values()):
            text = str(scalar)
            start = text.lower().find(str(value).lower())
            if start >= 0 and KEYS not in place:
                around = text[max(0, start - _AROUND) :][: 4 * _AROUND]
                excerpt = " ".join(around.split())
                return Source(source=SourceKind.TEXT, where=self._at(place), excerpt=excerpt)
        return None

    def values(self, origins: Iterable[str]) -> dict[str, Any]:
        """The values in it that are at one of these origins, by their forms."""
        paths = [] if self.typed is None else [self.typed]
        for origin in origins:
            tool, _, place = origin.partition(".")
            if tool == self.tool:
                paths += [parse_path(place), _PICKED]
        return _at_paths(self.data, tuple(paths)) if paths else {}

    def _at(self, place: Path) -> str:
        return f"{self.where}.{path_text(place)}"[:LONGEST_PLACE]

    def _is_foreign(self, place: Path) -> bool:
        return _is_in(place, [parse_path(mark) for mark in self.foreign])

    def _is_echo(self, value: Any) -> bool:
        given = _entries(self.call)
        scalars = (scalar for _, scalar in chain.from_iterable(given.values()))
        return form(value) in given or any(holds(str(scalar), value) for scalar in scalars)


def _is_in(place: Path, paths: Iterable[Path]) -> bool:
    return any(is_below(path, place) for path in paths)


@lru_cache(maxsize=256)
def _entries(data: str) -> dict[str, list[tuple[Path, Any]]]:
    """The texts and numbers of JSON text with their places, by their forms. Most documents of a
    chain were there in the turn before.
    """
    entries: dict[str, list[tuple[Path, Any]]] = {}
    for place, scalar in scalars_at(read_json(data)):
        entries.setdefault(form(scalar), []).append((place, scalar))
    return entries


@lru_cache(maxsize=256)
def _at_paths(data: str, paths: tuple[Path, ...]) -> dict[str, Any]:
    """The texts and numbers of JSON text at these paths, by their forms."""
    at_paths: dict[str, Any] = {}
    for known, entries in _entries(data).items():
        own = [scalar for place, scalar in entries if _is_in(place, paths)]
        if own:
            at_paths[known] = own[-1]
    return at_paths


@dataclass(eq=False)
class Known:
    """All that is known where a call is judged: by the core, or once more by a worker."""

    words: Sequence[str] = ()
    """The user's own."""
    receipts: Mapping[str, Action] = field(default_factory=dict)
    """By the ids of their actions."""
    context: Mapping[str, Any] = field(default_factory=dict)
    """That of the task."""
    answers: Sequence[Any] = ()
    """What a person typed while the chain was planned."""
    tools: Mapping[str, ToolSpec] = field(default_factory=dict)
    """What is declared of them."""
    written: Sequence[Any] = ()
    """The arguments in a submitter's literal plan."""

    @classmethod
    def of(cls, work: Work) -> Self:
        """What the chain of a decision knows."""
        steps = work.steps if is_submitters(work) else ()
        written = [[call.arguments for call in step.actions] for step in steps]
        words, answers = users_words(work), work.planning.answers
        return cls(words, work.receipts, work.task.context, answers, work.world.tools, written)

    @cached_property
    def _documents(self) -> list[Document]:
        """What was given with the task before receipts, and these in their order."""
        documents = [
            Document(SourceKind.GOAL, "plan", write_json(self.written)),
            Document(SourceKind.PERSON, "answers", write_json(self.answers), typed=()),
            Document(SourceKind.CONTEXT, "context", write_json(self.context), typed=()),
        ]
        for action in self.receipts.values():
            documents += _documents_of(action, self.tools.get(action.tool))
        return documents

    @cached_property
    def whole(self) -> Callable[[Any], Source | None]:
        """The source of a value that is known; None for all others. It is looked for once."""
        return cache(self._whole)

    def _whole(self, value: Any) -> Source | None:
        if self._is_said(value):
            return Source(source=SourceKind.GOAL)
        wholes = (document.whole(value) for document in self._documents)
        return next(filter(None, wholes), None)

    def source(self, value: Any) -> Source:
        """The source of any value."""
        pieces = (document.piece(value) for document in self._documents)
        return self.whole(value) or next(filter(None, pieces), Source(source=SourceKind.MODEL))

    def _is_said(self, value: Any) -> bool:
        return any(holds(words, value) for words in self.words)

    def has_origin(self, value: Any, origins: tuple[str, ...]) -> bool:
        """Whether a value is at one of these origins (C6): in the user's words, a receipt of its
        tool, the context, or what a person picked there or typed anywhere.
        """
        if form(value) in self._values(origins)[0]:
            return True
        return GOAL in origins and self._is_said(value)

    def spellings(self, value: Any, origins: tuple[str, ...]) -> set[str]:
        """The texts at these origins that differ from a value only in their Unicode form, spaces,
        dashes or quotes (C9).
        """
        return self._values(origins)[1].get(bare(str(value)), set())

    @cached_property
    def _values(self) -> Callable[[tuple[str, ...]], Values]:
        """The values at these origins, worked out once: a call has thousands, and so has a
        result.
        """
        return cache(self._at)

    def _at(self, origins: tuple[str, ...]) -> Values:
        forms: dict[str, Any] = {}
        spelled: dict[str, set[str]] = {}
        for document in self._documents:
            forms |= document.values(origins)
        for text in forms.values():
            if isinstance(text, str):
                spelled.setdefault(bare(text), set()).add(text)
        return forms, spelled


def _documents_of(action: Action, spec: ToolSpec | None) -> Iterator[Document]:
    """What a receipt gives. Of a tool that no worker serves any more it is not known what strangers
    write.
    """
    approval = action.told.approval
    if approval is not None and approval.proposed is not None:
        yield Document(SourceKind.PERSON, f"{action.id} edited", action.ran, approval.proposed)
    foreign = () if spec is None else spec.foreign
    where = f"{action.id} data"
    tool = action.tool if action.satisfies and action.tool != ASK_HUMAN else ""
    if action.by_a_person:
        # no person has typed what a picked option holds, nor the number of a model's option
        own = [*foreign, *(f"selected.value.{field}" for field in foreign)]
        strangers = ("selected",) if action.tool == ASK_HUMAN else tuple(own)
        typed = None if action.selected else (SAID,)
        yield Document(SourceKind.PERSON, where, action.data, "", strangers, tool, typed)
    elif action.satisfies and not action.in_models_words:
        kind = SourceKind.TEXT if spec is None else SourceKind.RESULT
        yield Document(kind, where, action.data, action.arguments, foreign, tool)


def origin_tools(origins: Iterable[str]) -> list[str]:
    """The tools among the origins."""
    return [origin.partition(".")[0] for origin in origins if origin != GOAL]


def origins_in_words(origins: Sequence[str]) -> str:
    """Origins in words."""
    words = ["the user's words" if origin == GOAL else origin for origin in origins]
    return " or ".join(words)


def users_words(work: Work) -> tuple[str, ...]:
    """The goal, a person's words in its place or in a step's, and this user's goals before (C15);
    no answers to questions.
    """
    task = work.task
    earlier = [before.goal for before in task.handed.earlier if before.user == task.user]
    return tuple(filter(None, (task.own_goal, work.people.goal, *work.people.words, *earlier)))


def users_goal(work: Work) -> str:
    """The user's own goal, or a person's words in its place."""
    goal = work.people.goal
    return work.task.own_goal if goal is None else goal


# ---- between chains
# ----------------------------------------------------------------------------------


def for_below(work: Work) -> Receipts:
    """All that the chain knows."""
    others = (*work.task.handed.known, *work.below.known)
    return _newest((*others, *_own(work)))


def for_above(work: Work) -> Receipts:
    """What it did not know from above. Of a skill the result says all."""
    is_agents = work.task.handed.assigned is not None
    return _newest((*work.below.known, *_own(work))) if is_agents else ()


def hear(work: Work, known: Receipts) -> None:
    """Keep what a chain below has made known."""
    if known:
        newest = _newest((*work.below.known, *known))
        work.below = structs.replace(work.below, known=newest)


def _own(work: Work) -> Iterator[KnownReceipt]:
    """The chain's receipts from which values may come: a tool's success, and what a person said
    or chose.
    """
    for action in work.actions.values():
        is_known = action.by_a_person or action.satisfies
        if is_known and not action.in_models_words:
            by = action.told.by if action.by_a_person else None
            yield KnownReceipt(action.id, action.tool, action.ran, action.data, by)


def _newest(receipts: Receipts) -> Receipts:
    """The last of these receipts that there is room for, in their order."""
    room, kept = MOST_KNOWN, list[KnownReceipt]()
    for receipt in reversed(receipts):
        size = len(receipt.arguments) + len(receipt.data)
        if size <= room:
            room -= size
            kept.append(receipt)
    return tuple(reversed(kept))
