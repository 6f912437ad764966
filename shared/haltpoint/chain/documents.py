"""JSON text in which values are searched: parsed only when its folded text holds one, and then once for all (C13)."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

from haltpoint.chain.canonical import Form, folded
from haltpoint.chain.places import leaves
from haltpoint.chain.references import ANY, KEYS, Part, path_text, read_json, write_text
from haltpoint.contracts.reasons import Source, SourceKind

SHORT: Final = 200
"""Characters of a line that is a scalar; what is longer is free text."""
_AROUND: Final = 40
_END: Final = "\0"

_Path = tuple[Part, ...]


class _Text:
    """A JSON text, folded; its scalars are found when they are needed."""

    __slots__ = ("_data", "_joined", "_numbers", "_scalars", "folded")

    def __init__(self, data: str) -> None:
        self._data = data
        self._joined = b""
        self._numbers: dict[str, bool] = {}
        self.folded = folded(write_text(read_json(data)) if "\\u" in data else data)

    def has_number(self, number: str) -> bool:
        """Whether a number is a whole value of an object; nothing is parsed for that."""
        if number not in self._numbers:
            ways = (f":{space}{number}{end}" for space in ("", " ") for end in ",}")
            self._numbers[number] = any(way in self._data for way in ways)
        return self._numbers[number]

    def holding(self, form: Form) -> Iterable[tuple[_Path, str]]:
        """The scalars that may hold a value, with their paths."""
        return self._found(form) if form.is_in(self.folded) else ()

    def _found(self, form: Form) -> Iterator[tuple[_Path, str]]:
        if not self._joined:
            self._scalars = list(_scalars(read_json(self._data)))
            self._joined = folded(_END.join(text for _, text in self._scalars))
        for needle in form.needles:
            at = self._joined.find(needle)
            while at >= 0:
                yield self._scalars[self._joined.count(b"\0", 0, at)]
                end = self._joined.find(b"\0", at)
                at = -1 if end < 0 else self._joined.find(needle, end)


_remembered: Final = lru_cache(maxsize=128)(_Text)
"""What follows from a text, kept for the next turns: most receipts of a chain have been there before."""


class Document:
    """A receipt or the context. `called` are the arguments that brought it, `foreign` the fields of strangers."""

    __slots__ = ("_called", "_data", "_foreign", "_where")

    def __init__(self, where: str, data: str, called: str = "{}", foreign: tuple[str, ...] = ()) -> None:
        self._where, self._data, self._called, self._foreign = where, data, called, foreign

    def number(self, form: Form) -> Source | None:
        """The document, when it holds this number as a whole."""
        found = _remembered(self._data).has_number(form.text)
        return Source(source=SourceKind.RESULT, where=self._where) if found else None

    def whole(self, form: Form, kind: SourceKind) -> Source | None:
        """The place where the value is a whole scalar, on a line of its own."""
        for path, text in _remembered(self._data).holding(form):
            if self._is_whole(form, path, text) and not self._was_called_with(form):
                return Source(source=kind, where=self._place(path))
        return None

    def piece(self, form: Form) -> Source | None:
        """The place where the value is a piece of text, or a field that strangers write."""
        for path, text in _remembered(self._data).holding(form):
            span = form.found_in(text)
            if span is not None and not self._is_whole(form, path, text):
                around = " ".join(text[max(0, span[0] - _AROUND) : span[0] + 3 * _AROUND].split())
                return Source(source=SourceKind.TEXT, where=self._place(path), excerpt=around)
        return None

    def _place(self, path: _Path) -> str:
        return f"{self._where}.{path_text(path)}"[:SHORT]

    def _is_whole(self, form: Form, path: _Path, text: str) -> bool:
        if len(text) > SHORT or "\n" in text or not form.equals(text):
            return False
        shown = path_text(tuple(ANY if isinstance(part, int) else part for part in path)) if self._foreign else ""
        return not any(shown == at or shown.startswith((f"{at}.", f"{at}[", f"{at}{{")) for at in self._foreign)

    def _was_called_with(self, form: Form) -> bool:
        if not form.is_in(folded(self._called)):
            return False
        given = leaves(read_json(self._called))
        return any(form.found_in(str(leaf.value)) for leaf in given if leaf.named or isinstance(leaf.value, str))


def _scalars(whole: Any) -> Iterator[tuple[_Path, str]]:
    """Every text and number inside of a value with its path, the keys too; text that is JSON is read as JSON."""
    inside: list[tuple[_Path, Any]] = [((), whole)]
    for path, value in inside:  # grows while it is walked
        is_json = isinstance(value, str) and value[:1] in ("{", "[") and value[-1:] in ("}", "]")
        one = (is_json and read_json(value)) or value
        if isinstance(one, dict):
            inside += [((*path, key), inner) for key, inner in one.items()]
            yield from (((*path, KEYS), key.replace(_END, " ")) for key in one)
        elif isinstance(one, list):
            inside += [((*path, number), inner) for number, inner in enumerate(one)]
        elif isinstance(one, str):
            yield path, one.replace(_END, " ")
        elif isinstance(one, int | float) and not isinstance(one, bool):
            yield path, str(one).removesuffix(".0")
