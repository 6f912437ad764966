"""What a chain knows: the user's own words, what persons gave, the task's context, and receipts
(C13).

A value is known when the words hold it as a word or phrase, or when it is the whole of a text or
number in one of the others, at a field that no stranger writes and that is no echo of the call
which brought it. Receipts that a chain knows are made known to those below it and to the one above
(I1).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
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
_PICKED: Final = ("selected", "id")

Receipts = tuple[KnownReceipt, ...]
Values = tuple[tuple[Path, Any], ...]


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
        places = _places(self.data).get(form(value), ())
        own = [place for place in places if KEYS not in place and not self._is_foreign(place)]
        if self.kind is SourceKind.TEXT or not own or self._is_echo(value):
            return None
        return Source(source=self.kind, where=self._at(own[0]))

    def piece(self, value: Any) -> Source | None:
        """The place of the first text that holds a value; of an echo there is none."""
        wanted = str(value).lower()
        for place, scalar in _scalars(self.data):
            text = str(scalar)
            start = text.lower().find(wanted)
            if start >= 0 and KEYS not in place and not self._is_echo(value):
                piece = text[max(0, start - _AROUND) : start + 3 * _AROUND]
                excerpt = " ".join(piece.split())
                return Source(source=SourceKind.TEXT, where=self._at(place), excerpt=excerpt)
        return None

    def _at(self, place: Path) -> str:
        return f"{self.where}.{path_text(place)}"[:LONGEST_PLACE]

    def _is_foreign(self, place: Path) -> bool:
        marks = [parse_path(mark) or () for mark in self.foreign]
        return any(is_below(mark, place) for mark in marks)

    def _is_echo(self, value: Any) -> bool:
        given = [scalar for _, scalar in _scalars(self.call)]
        return any(form(scalar) == form(value) or holds(str(scalar), value) for scalar in given)


@lru_cache(maxsize=256)
def _scalars(data: str) -> Values:
    """The texts and numbers of JSON text. Most documents of a chain were there in the turn
    before.
    """
    return tuple(scalars_at(read_json(data)))


@lru_cache(maxsize=256)
def _places(data: str) -> dict[str, list[Path]]:
    """The places of texts and numbers by the form of each."""
    places: dict[str, list[Path]] = {}
    for place, value in _scalars(data):
        places.setdefault(form(value), []).append(place)
    return places


@lru_cache(maxsize=256)
def _given(document: Document, origins: tuple[str, ...]) -> dict[str, Any]:
    """The values of a document that are at one of these origins, by their forms. The option of a
    tool that a person picked is one of its own.
    """
    paths = [] if document.typed is None else [document.typed]
    for origin in origins:
        tool, _, place = origin.partition(".")
        if tool == document.tool:
            paths += [parse_path(place) or (), _PICKED]
    scalars = _scalars(document.data) if paths else ()
    return {
        form(value): value
        for place, value in scalars
        if any(is_below(path, place) for path in paths)
    }


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
        documents = [Document(SourceKind.GOAL, "plan", write_json(self.written))]
        documents.append(Document(SourceKind.PERSON, "answers", write_json(self.answers), typed=()))
        documents.append(
            Document(SourceKind.CONTEXT, "context", write_json(self.context), typed=())
        )
        for action in self.receipts.values():
            documents += _documents_of(action, self.tools.get(action.tool))
        return documents

    def whole(self, value: Any) -> Source | None:
        """The source of a value that is known; None for all others."""
        if self._is_said(value):
            return Source(source=SourceKind.GOAL)
        wholes = (document.whole(value) for document in self._documents)
        return next(filter(None, wholes), None)

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
        is_goal = GOAL in origins and self._is_said(value)
        return is_goal or form(value) in self._values_at(origins)

    def spelling(self, value: Any, origins: tuple[str, ...]) -> str | None:
        """The spelling of a text at the one origin from which it differs in signs alone (C9)."""
        if not isinstance(value, str) or self.has_origin(value, origins):
            return None
        texts = [text for text in self._values_at(origins).values() if isinstance(text, str)]
        alike = [text for text in texts if bare(text) == bare(value)]
        return alike[0] if len(alike) == 1 else None

    def _values_at(self, origins: tuple[str, ...]) -> dict[str, Any]:
        """The values at origins by their forms: in receipts of their tools, in the context, and
        what a person picked there or typed anywhere.
        """
        values: dict[str, Any] = {}
        for document in self._documents:
            values |= _given(document, origins)
        return values

    def origin_actions(self, spec: ToolSpec) -> tuple[str, ...]:
        """The actions whose receipts may be the origin of a value that a tool takes."""
        tools = {tool for origins in spec.provenance.values() for tool in tools_of(origins)}
        receipts = self.receipts.values()
        own = [action for action in receipts if action.by_a_person or action.tool in tools]
        return tuple(action.id for action in own)


def _documents_of(action: Action, spec: ToolSpec | None) -> Iterator[Document]:
    """What a receipt gives. Of a tool that no worker serves any more it is not known what strangers
    write.
    """
    approval = action.told.approval
    if approval is not None and approval.proposed is not None:
        yield Document(SourceKind.PERSON, f"{action.id} edited", action.ran, approval.proposed)
    where, is_question = f"{action.id} data", action.tool == ASK_HUMAN
    tool = action.tool if action.satisfies and not is_question else ""
    foreign = () if spec is None else spec.foreign
    if action.by_a_person:
        # the ids of a model's options are numbers that nobody has typed
        own = ("selected",) if is_question else _in_options(foreign)
        typed = None if action.selected else (SAID,)
        yield Document(SourceKind.PERSON, where, action.data, "", own, tool, typed)
    elif action.satisfies and not action.in_models_words:
        kind = SourceKind.TEXT if spec is None else SourceKind.RESULT
        yield Document(kind, where, action.data, action.arguments, foreign, tool)


def _in_options(foreign: tuple[str, ...]) -> tuple[str, ...]:
    """Fields of a result that strangers write, which the value of a picked option has, too."""
    return (*foreign, *(f"selected.value.{field}" for field in foreign))


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
    earlier = [before.goal for before in task.handed.earlier if before.user == task.user]
    return tuple(words for words in (own, work.people.goal, *earlier) if words)


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
    """The receipts of its own from which values may come: a tool's success, and what a person said
    or chose.
    """
    for action in work.actions.values():
        by = action.told.by if action.by_a_person else None
        if (action.satisfies or action.by_a_person) and not action.in_models_words:
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
