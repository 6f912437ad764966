"""What a chain knows: the user's own words, what persons gave, the task's context, and receipts (C13).

A value is known when the words hold it as a word or phrase, or when it is the whole of a text or number
in one of the others, at a field that no stranger writes and that is no echo of the call which brought it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Final, Self

from haltpoint.chain.checks import human_tool
from haltpoint.chain.model.canonical import form, holds
from haltpoint.chain.model.references import (
    Path,
    Place,
    covers,
    parse_path,
    path_text,
    read_json,
    scalars_at,
    values_at,
    walk,
    write_json,
)
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.work import Work
from haltpoint.contracts.reasons import Source, SourceKind
from haltpoint.contracts.tools import ToolSpec

GOAL: Final = "goal"
"""The origin that is the user's words."""
SAID: Final = "said"
"""The key in the data of a receipt that a person completed: the words as they were typed."""
LONGEST_PLACE: Final = 200
_AROUND: Final = 40
_SELECTED: Final = "selected"
_PICKED: Final = (_SELECTED, "id")


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON value (text) that the chain knows.

    The texts and numbers in it count as `kind`, but for those at the places in `foreign`, and for those
    that are in the `call` (JSON text) that brought it.
    """

    kind: SourceKind
    where: str
    data: str
    call: str = ""
    foreign: tuple[str, ...] = ()

    def whole(self, value: Any) -> Source | None:
        """The source of a value that is the whole of a text or number."""
        places = _wholes(self.data).get(form(value), ())
        own = [place for place in places if not self._is_foreign(place)]
        if not own or self._is_echo(value):
            return None
        return Source(source=self.kind, where=self._at(own[0]))

    def piece(self, value: Any) -> Source | None:
        """The place of the first text that holds a value; of an echo there is none."""
        if self._is_echo(value):
            return None
        wanted = str(value).lower()
        for place, text in _texts(self.data):
            start = text.lower().find(wanted)
            if start >= 0:
                excerpt = _around(text, start)
                return Source(source=SourceKind.TEXT, where=self._at(place), excerpt=excerpt)
        return None

    def _at(self, place: Place) -> str:
        return f"{self.where}.{path_text(place)}"[:LONGEST_PLACE]

    def _is_foreign(self, place: Place) -> bool:
        marks = [parse_path(mark) or () for mark in self.foreign]
        return any(len(mark) <= len(place) and covers(mark, place) for mark in marks)

    def _is_echo(self, value: Any) -> bool:
        if not self.call:
            return False
        given = [scalar for _, scalar in scalars_at(read_json(self.call))]
        return any(form(one) == form(value) or holds(str(one), value) for one in given)


def _around(text: str, start: int) -> str:
    """A piece of a text in one line."""
    piece = text[max(0, start - _AROUND) : start + 3 * _AROUND]
    return " ".join(piece.split())


@lru_cache(maxsize=256)
def _wholes(data: str) -> dict[str, list[Place]]:
    """The places of the texts and numbers of a document, by the form of each.

    Most documents of a chain were there in the turn before.
    """
    places: dict[str, list[Place]] = {}
    for place, value in walk(read_json(data)):
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            places.setdefault(form(value), []).append(place)
    return places


def _texts(data: str) -> Iterator[tuple[Place, str]]:
    for place, value in walk(read_json(data)):
        if isinstance(value, str | int | float):
            yield place, str(value)


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

    @classmethod
    def of(cls, work: Work) -> Self:
        """What the chain of a decision knows."""
        words, task, tools = users_words(work), work.task, work.world.tools
        return cls(words, work.receipts, task.context, work.answers, tools)

    @cached_property
    def _documents(self) -> tuple[Document, ...]:
        """What persons gave before the context, and this before results."""
        answers = write_json([*self.answers])
        documents = [Document(SourceKind.PERSON, "answers", answers)]
        documents.append(Document(SourceKind.CONTEXT, "context", write_json(self.context)))
        for action in self.receipts.values():
            documents += self._documents_of(action)
        order = list(SourceKind)
        return tuple(sorted(documents, key=lambda document: order.index(document.kind)))

    def _documents_of(self, action: Action) -> Iterator[Document]:
        approval = action.told.approval
        if approval is not None and approval.proposed is not None:
            where = f"{action.id} edited"
            yield Document(SourceKind.PERSON, where, action.ran, approval.proposed)
        where, spec = f"{action.id} data", self.tools.get(action.tool)
        foreign = () if spec is None else spec.foreign
        if action.by_a_person:
            # the ids of a model's options are numbers that nobody has typed
            own = (_SELECTED,) if action.tool == human_tool.NAME else foreign
            yield Document(SourceKind.PERSON, where, action.data, foreign=own)
        elif action.satisfies and not action.in_models_words:
            # of a tool that no worker serves any more it is not known what strangers write
            kind = SourceKind.TEXT if spec is None else SourceKind.RESULT
            yield Document(kind, where, action.data, action.arguments, foreign)

    def whole(self, value: Any) -> Source | None:
        """The source of a value that is known; None for all others."""
        if self._is_said(value):
            return Source(source=SourceKind.GOAL)
        for document in self._documents:
            source = document.whole(value)
            if source is not None and source.source is not SourceKind.TEXT:
                return source
        return None

    def source(self, value: Any) -> Source:
        """The source of any value."""
        whole = self.whole(value)
        if whole is not None:
            return whole
        pieces = (document.piece(value) for document in self._documents)
        return next(filter(None, pieces), Source(source=SourceKind.MODEL))

    def _is_said(self, value: Any) -> bool:
        return any(holds(words, value) for words in self.words)

    def has_origin(self, value: Any, origins: tuple[str, ...]) -> bool:
        """Whether a value is at one of its declared origins (C6)."""
        if GOAL in origins and self._is_said(value):
            return True
        return form(value) in self.values_at(origins)

    def values_at(self, origins: tuple[str, ...]) -> dict[str, Any]:
        """The values at origins by their forms: in receipts of their tools, in the context, and what a
        person picked there or typed anywhere.
        """
        values = [scalar for _, scalar in scalars_at(self.context)]
        values += self.answers
        for action in self.receipts.values():
            values += _typed(action)
            for origin in origins:
                values += _given(action, origin)
        return {form(value): value for value in values}

    def origin_actions(self, spec: ToolSpec) -> tuple[str, ...]:
        """The actions whose receipts may be the origin of a value that a tool takes."""
        tools = {tool for origins in spec.provenance.values() for tool in tools_of(origins)}
        receipts = self.receipts.values()
        found = (one for one in receipts if one.by_a_person or _is_origin(one, tools))
        return tuple(action.id for action in found)


def _typed(action: Action) -> list[Any]:
    """The words that a person typed; what was picked is a tool's own, whatever it is called."""
    if not action.by_a_person or _scalars(action.data, (_SELECTED,)):
        return []
    return _scalars(action.data, (SAID,))


def _given(action: Action, origin: str) -> list[Any]:
    """The values that a receipt has at an origin, and the option that a person picked there."""
    tool, _, place = origin.partition(".")
    if not _is_origin(action, {tool}):
        return []
    path = parse_path(place) or ()
    return [*_scalars(action.data, path), *_scalars(action.data, _PICKED)]


@lru_cache(maxsize=256)
def _scalars(data: str, path: Path) -> list[Any]:
    """The texts and numbers at a path of a receipt: it is the same in each turn."""
    values = values_at(read_json(data), path)
    return [scalar for _, scalar in scalars_at(values)]


def _is_origin(action: Action, tools: set[str]) -> bool:
    by_a_tool = action.tool in tools and action.tool != human_tool.NAME
    return by_a_tool and action.satisfies and not action.in_models_words


def tools_of(origins: Sequence[str]) -> list[str]:
    """The tools among the origins."""
    return [origin.partition(".")[0] for origin in origins if origin != GOAL]


def in_words(origins: Sequence[str]) -> str:
    """Origins in words."""
    words = ["the user's words" if origin == GOAL else origin for origin in origins]
    return " or ".join(words)


def users_words(work: Work) -> tuple[str, ...]:
    """The goal, a person's words in its place, and this user's goals before (C15); no answers to
    questions. Where an agent has written the goal, the user's own.
    """
    task = work.task
    own = task.goal if task.asked is None else task.asked
    return tuple(words for words in (own, work.goal, *earlier_goals(work)) if words)


def earlier_goals(work: Work) -> tuple[str, ...]:
    """This user's goals before, in the same conversation (C15)."""
    task = work.task
    return tuple(earlier.goal for earlier in task.handed.earlier if earlier.user == task.user)
