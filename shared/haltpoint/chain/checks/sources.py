"""Where each value of a call comes from, found by comparison and never by a model (CONTRACT C13).

The order: the user's words, a person, the task's context, a whole scalar of a receipt, a piece of free text in one, and
the model where it is found nowhere. A value that a tool was called with is no result of it. Receipts are searched as
folded text; one is parsed only when it may hold a value, and then once for all.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from posixpath import dirname, normpath
from typing import Any, Final

from haltpoint.chain.checks.places import Leaf, leaves
from haltpoint.chain.checks.provenance import SAID, by_a_person, denied
from haltpoint.chain.model.canonical import Form, canonical, folded, form_of
from haltpoint.chain.model.references import KEYS, Path, general, path_text, read_json, walk, write_json, write_text
from haltpoint.chain.model.work import Work
from haltpoint.contracts.reasons import Source, SourceKind

MODEL: Final = Source(source=SourceKind.MODEL)
SHORT: Final = 200
"""Characters of a line that is a scalar; what is longer is free text."""
_AROUND: Final = 40
_END: Final = "\0"
_NUMBER: Final = re.compile(r": ?(-?[0-9][0-9.eE+-]*)[,}]")


def users_words(work: Work) -> tuple[str, ...]:
    """What the user has said: the goal, a person's words in its place, and this user's goals before (C15)."""
    return tuple(words for words in (work.task.goal, work.goal, *earlier_goals(work)) if words)


def earlier_goals(work: Work) -> tuple[str, ...]:
    """This user's goals before, in the same conversation (C15)."""
    return tuple(one.goal for one in work.task.earlier if one.user == work.task.user)


def written_over(sources: dict[str, Source], before: str, after: str, by: SourceKind) -> dict[str, Source]:
    """The sources of a call whose arguments (JSON text, both) were changed: what is new is `by`'s."""
    old, new = ({leaf.place: leaf.value for leaf in leaves(read_json(text))} for text in (before, after))
    found = ((at, sources.get(at) if old.get(at) == one else Source(source=by)) for at, one in new.items())
    return {place: source for place, source in found if source is not None}


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


def holding(form: Form, texts: bytes) -> Iterator[int]:
    """The numbers of the texts that may hold a value, out of folded ones with a zero between them: one search."""
    for needle in form.needles:
        at = texts.find(needle) if texts else -1
        while at >= 0:
            yield texts.count(b"\0", 0, at)
            end = texts.find(b"\0", at)
            at = -1 if end < 0 else texts.find(needle, end + 1)  # behind it: a needle may be empty


class Document:
    """A receipt or the context: what a whole value in it counts as, where it is, and its data as JSON text. `called`
    are the arguments that brought it, `foreign` the fields that strangers write.
    """

    def __init__(self, kind: SourceKind, where: str, data: str, called: str = "", foreign: Sequence[str] = ()) -> None:
        self._kind, self.where, self._data, self._called, self._foreign = kind, where, data, called, foreign
        text = write_text(read_json(data)) if "\\u" in data else data
        self.folded = folded(text.replace(_END, " "))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The numbers that are whole values of an object; nothing is parsed for that."""
        return frozenset(_NUMBER.findall(self._data))

    def find(self, form: Form) -> Source | None:
        """The place where the value is a whole scalar, on a line of its own, and the call did not have it; else the
        first place where it is a piece of text, or a field that strangers write.
        """
        piece = None
        texts, whole = self._scalars if form.is_in(self.folded) else ([], b"")
        for path, text in (texts[number] for number in holding(form, whole)):
            where = f"{self.where}.{path_text(path)}"[:SHORT]
            if len(text) <= SHORT and "\n" not in text and canonical(text) == form.text and not self._is_foreign(path):
                if not _is_in_call(form, self._called):
                    return Source(source=self._kind, where=where)
            elif piece is None and (span := form.found_in(text)) is not None:
                around = " ".join(text[max(0, span[0] - _AROUND) : span[0] + 3 * _AROUND].split())
                piece = Source(source=SourceKind.TEXT, where=where, excerpt=around)
        return piece

    @cached_property
    def _scalars(self) -> tuple[list[tuple[Path, str]], bytes]:
        """Every text and number with its path, the keys too, and all of them folded; a text that is JSON is read."""
        found = list[tuple[Path, str]]()
        for path, one in walk(read_json(self._data), _read):
            if isinstance(one, dict):
                found += [((*path, KEYS), key.replace(_END, " ")) for key in one]
            elif isinstance(one, str):
                found.append((path, one.replace(_END, " ")))
            elif isinstance(one, int | float) and not isinstance(one, bool):
                found.append((path, str(one).removesuffix(".0")))
        return found, folded(_END.join(text for _, text in found))

    def _is_foreign(self, path: Path) -> bool:
        shown = path_text(general(path)) if self._foreign else ""
        return any(shown == at or shown.startswith((f"{at}.", f"{at}[", f"{at}{{")) for at in self._foreign)


def _is_in_call(form: Form, arguments: str) -> bool:
    given = leaves(read_json(arguments)) if form.is_in(folded(arguments)) else ()
    return any(form.found_in(str(leaf.value)) for leaf in given if leaf.named or isinstance(leaf.value, str))


document: Final = lru_cache(maxsize=256)(Document)
"""A document out of the memory of the last ones: most receipts of a chain have been there in the turn before."""


def _read(value: Any) -> Any:
    """What a text that is JSON reads as; any other value."""
    is_json = isinstance(value, str) and value[:1] in ("{", "[") and value[-1:] in ("}", "]")
    return (is_json and read_json(value)) or value


class Known:
    """All that a chain knows, looked through for the values of one call."""

    def __init__(self, work: Work) -> None:
        self._said = [(words, Source(source=SourceKind.GOAL), "") for words in users_words(work)]
        self._named, self._results = list[Document](), list[Document]()
        for action in work.actions.values():
            data, outcome = action.data, action.outcome
            if outcome is None or len(data) <= len("{}") or data[0] not in "{[":
                continue
            person = by_a_person(action)
            if person and data[0] == "{" and isinstance(said := read_json(data).get(SAID), str):
                refused = action.arguments if denied(action) else ""  # "not to eve@x.org" gives no address
                self._said.append((said, Source(source=SourceKind.PERSON, where=action.id), refused))
            if outcome.satisfies:
                spec = work.world.tools.get(action.tool)
                kind, foreign = SourceKind.PERSON if person else SourceKind.RESULT, spec.foreign if spec else ()
                found = document(kind, f"{action.id} data", data, action.arguments, foreign)
                (self._named if person else self._results).append(found)
        if context := work.task.context:
            self._named.append(document(SourceKind.CONTEXT, "context", write_json(context)))
        self._documents = (*self._results, *self._named)

    def source(self, leaf: Leaf) -> Source:
        """Where a value comes from; a path that is found nowhere, by the folder that it is in."""
        form, pieces = form_of(leaf.value), list[Source]()
        named = self.named(form) if form.text else MODEL
        if named is not None:
            return named
        if not leaf.named and not isinstance(leaf.value, str):
            where = next((one.where for one in self._results if form.text in one.numbers), None)
            return MODEL if where is None else Source(source=SourceKind.RESULT, where=where)
        for one in (one for needle in form.needles for one in self._documents if needle in one.folded):
            found = one.find(form)
            if found is not None and found.source is not SourceKind.TEXT:
                return found
            pieces += () if found is None else (found,)
        return self._folder(leaf) or next(iter(pieces), MODEL)

    def _folder(self, leaf: Leaf) -> Source | None:
        """The source of the nearest folder of a path that anything names."""
        for folder in folders_of(str(leaf.value)) if leaf.is_path and "://" not in str(leaf.value) else ():
            named = None if folder in (".", "/") else self.named(form_of(folder))
            if named is not None:
                return Source(source=named.source, where=f"{named.where} folder {folder}".strip())
        return None

    def named(self, form: Form) -> Source | None:
        """Whether the user, a person or the context names the value."""
        said = (by for words, by, refused in self._said if form.found_in(words) and not _is_in_call(form, refused))
        whole = (found for one in self._named if (found := one.find(form)) and found.source is not SourceKind.TEXT)
        return next(said, None) or next(whole, None)
