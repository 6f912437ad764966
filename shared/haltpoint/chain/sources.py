"""Where each value of a call comes from, found by comparison and never by a model (CONTRACT C13).

The order: the user's words, a person, the task's context, a whole scalar of a receipt, a piece of free text in one, and
the model where it is found nowhere. Receipts are searched as folded text first, and parsed only where that holds the
value. A value that a tool was called with is no result of it: a tool that gives back what a model has put in is no
source.
"""

import re
from collections.abc import Iterator
from posixpath import dirname, normpath
from typing import Any, Final

from haltpoint.chain import policy
from haltpoint.chain.canonical import Form, folded, form_of
from haltpoint.chain.named import is_named
from haltpoint.chain.places import Leaf, leaves
from haltpoint.chain.provenance import SAID, by_a_person
from haltpoint.chain.references import ANY, KEYS, Part, path_text, read_json, write_json, write_text
from haltpoint.chain.state import Action, PlanOrigin
from haltpoint.chain.work import Work
from haltpoint.contracts.policy import Targets
from haltpoint.contracts.reasons import Source, SourceKind
from haltpoint.contracts.tasks import Mode
from haltpoint.contracts.tools import ToolSpec

MOST: Final = 100
"""Values of a call whose sources are kept; targets are looked at before others."""
SHORT: Final = 200
"""Characters of a line that is a scalar; what is longer is free text."""
_AROUND: Final = 40
_LEVELS: Final = 40

_Path = tuple[Part, ...]
_ANY: Final = ToolSpec(name="any")
MODEL: Final = Source(source=SourceKind.MODEL)


def sources_for(work: Work, index: int, arguments: dict[str, Any], spec: ToolSpec) -> dict[str, Source]:
    """The sources of a call's values by their places; none where nobody looks at them.

    Those are the calls of a submitter's literal plan, and of a read-only tool that neither carries data outward nor
    takes values with an origin.
    """
    unseen = spec.read_only and not spec.outward and not spec.provenance
    if unseen or work.origin is PlanOrigin.LITERAL or policy.mode(work.chain.task, work.steps[index]) is Mode.OFF:
        return {}
    known = Known(work)
    found = sorted(leaves(arguments, spec, is_named(work.world.policy.targets)), key=lambda leaf: not leaf.named)
    return {leaf.place: known.source(leaf) for leaf in found[:MOST]}


def after_hooks(sources: dict[str, Source], before: str, ran: str) -> dict[str, Source]:
    """The sources of the arguments that ran (JSON text, both): what hooks have written is theirs."""
    old, new = ({leaf.place: leaf.value for leaf in plain_leaves(read_json(text))} for text in (before, ran))
    hook = Source(source=SourceKind.HOOK)
    found = ((place, sources.get(place) if old.get(place) == value else hook) for place, value in new.items())
    return {place: source for place, source in found if source is not None}


def plain_leaves(arguments: dict[str, Any]) -> Iterator[Leaf]:
    """The values of a call, without what its tool declares."""
    return leaves(arguments, _ANY, is_named(Targets()))


def users_words(work: Work) -> tuple[str, ...]:
    """What the user has said: the task's goal, and a person's words in its place."""
    return tuple(words for words in (work.chain.task.goal, work.goal) if words)


def folders_of(path: str) -> Iterator[str]:
    """The folders that a path is inside of, the nearest first, resolved by its words alone; the working directory and
    the root only when it is directly in them. Of one that leaves the working directory there are none.
    """
    folder = dirname(normpath(re.sub("^/+", "/", path.replace("\\", "/"))))
    if folder.startswith("..") or normpath(path) == "..":
        return
    yield folder or "."
    while (folder := dirname(folder)) not in ("", "/"):
        yield folder


class Known:
    """All that a chain knows, looked through for the values of one call."""

    def __init__(self, work: Work) -> None:
        self._words = [("", words) for words in users_words(work)]
        self._typed: list[tuple[str, str]] = []
        self._persons: list[_Document] = []
        self._results: list[_Document] = []
        context = work.chain.task.context
        self._context = [_Document("context", write_json(context))] if context else []
        for action in work.actions.values():
            self._read(action, work.world.tools.get(action.tool))

    def _read(self, action: Action, spec: ToolSpec | None) -> None:
        outcome = action.outcome
        if outcome is None or len(action.data) <= len("{}"):
            return
        document = _Document(f"{action.id} data", action.data, action.arguments, spec.foreign if spec else ())
        if not by_a_person(outcome):
            if outcome.satisfies:
                self._results.append(document)
            return
        given = read_json(action.data)
        if isinstance(given, dict) and isinstance(said := given.get(SAID), str):
            self._typed.append((action.id, said))
        if outcome.satisfies:
            self._persons.append(document)

    def source(self, leaf: Leaf) -> Source:
        """Where a value comes from; a path that is found nowhere, by the folder that it is in."""
        form = form_of(leaf.value)
        if not form.text:
            return MODEL
        found = self.named(form) or _first(self._results, form, SourceKind.RESULT)
        if found is not None:
            return found
        if leaf.is_path and "://" not in form.text:
            for folder in folders_of(str(leaf.value)):
                named = None if folder in (".", "/") else self.named(form_of(folder))
                if named is not None:
                    return Source(source=named.source, where=f"{named.where} folder {folder}".strip())
        pieces = (document.piece(form) for document in (*self._results, *self._context, *self._persons))
        return next((piece for piece in pieces if piece is not None), MODEL)

    def named(self, form: Form) -> Source | None:
        """Whether the user, a person or the context names the value."""
        for kind, said in ((SourceKind.GOAL, self._words), (SourceKind.PERSON, self._typed)):
            for where, words in said:
                if form.found_in(words):
                    return Source(source=kind, where=where)
        found = _first(self._persons, form, SourceKind.PERSON)
        return found or _first(self._context, form, SourceKind.CONTEXT)


def _first(documents: "list[_Document]", form: Form, kind: SourceKind) -> Source | None:
    for document in documents:
        where = document.whole(form)
        if where is not None:
            return Source(source=kind, where=where)
    return None


class _Document:
    """JSON text in which values are searched: parsed when its folded text holds one, once for all values."""

    __slots__ = ("_called", "_data", "_folded", "_foreign", "_leaves", "_where")

    def __init__(self, where: str, data: str, called: str = "{}", foreign: tuple[str, ...] = ()) -> None:
        self._where, self._data, self._called, self._foreign = where, data, called, foreign
        self._folded: bytes | None = None
        self._leaves: list[tuple[_Path, Any]] | None = None

    def whole(self, form: Form) -> str | None:
        """The place where the value is a whole scalar, on a line of its own."""
        for path, value in self._holding(form):
            whole = _is_line(value) and form.equals(value) and not self._is_foreign(path)
            if whole and not self._was_called_with(form):
                return f"{self._where}.{path_text(path)}"
        return None

    def piece(self, form: Form) -> Source | None:
        """The place where the value is a piece of text, or a field that strangers write."""
        for path, value in self._holding(form):
            text = str(value)
            span = form.found_in(text)
            if span is not None and not (_is_line(value) and form.equals(value) and not self._is_foreign(path)):
                around = " ".join(text[max(0, span[0] - _AROUND) : span[0] + 3 * _AROUND].split())
                return Source(source=SourceKind.TEXT, where=f"{self._where}.{path_text(path)}", excerpt=around)
        return None

    def _is_foreign(self, path: _Path) -> bool:
        if not self._foreign:
            return False
        shown = path_text(tuple(ANY if isinstance(part, int) else part for part in path))
        return any(
            shown == place or shown.startswith((f"{place}.", f"{place}[", f"{place}{{")) for place in self._foreign
        )

    def _holding(self, form: Form) -> Iterator[tuple[_Path, Any]]:
        if self._folded is None:
            escaped = "\\u" in self._data
            self._folded = folded(write_text(read_json(self._data)) if escaped else self._data)
        if not form.is_in(self._folded):
            return
        if self._leaves is None:
            self._leaves = list(_scalars(read_json(self._data)))
        for path, value in self._leaves:
            if form.is_in(folded(str(value))):
                yield path, value

    def _was_called_with(self, form: Form) -> bool:
        given = plain_leaves(read_json(self._called))
        return any(form.found_in(str(leaf.value)) for leaf in given if leaf.named or isinstance(leaf.value, str))


def _is_line(value: Any) -> bool:
    text = str(value)
    return len(text) <= SHORT and "\n" not in text


def _scalars(value: Any, path: _Path = (), levels: int = _LEVELS) -> Iterator[tuple[_Path, Any]]:
    """Every scalar inside of a value with its path, the keys too; text that is JSON is read as JSON."""
    if isinstance(value, str) and value[:1] in ("{", "[") and value[-1:] in ("}", "]"):
        inner = read_json(value)
        value = inner if inner else value
    if isinstance(value, dict) and levels:
        for key, inner in value.items():
            yield (*path, KEYS), key
            yield from _scalars(inner, (*path, key), levels - 1)
    elif isinstance(value, list) and levels:
        for number, inner in enumerate(value):
            yield from _scalars(inner, (*path, number), levels - 1)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield path, value
