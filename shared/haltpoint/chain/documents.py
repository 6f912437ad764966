"""JSON text in which values are searched: parsed only when its folded text holds one, and then once for all (C13)."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from haltpoint.chain.canonical import Form, folded
from haltpoint.chain.places import leaves
from haltpoint.chain.references import ANY, KEYS, Part, path_text, read_json, write_text
from haltpoint.contracts.reasons import Source, SourceKind

SHORT: Final = 200
"""Characters of a line that is a scalar; what is longer is free text."""
_LARGE: Final = 32_768
_AROUND: Final = 40
_END: Final = "\0"

_Path = tuple[Part, ...]


class _Text:
    """A JSON text, folded; its scalars are found when they are needed."""

    __slots__ = ("_data", "_joined", "_numbers", "_paths", "_scalars", "folded")

    def __init__(self, data: str) -> None:
        self._data = data
        self.folded = folded(write_text(read_json(data)) if "\\u" in data else data)
        self._joined = b""
        self._numbers: dict[str, bool] = {}

    def has_number(self, number: str) -> bool:
        """Whether a number is a whole value of an object; nothing is parsed for that."""
        found = self._numbers.get(number)
        if found is None:
            ways = (f":{space}{number}{end}" for space in ("", " ") for end in ",}")
            found = self._numbers[number] = any(way in self._data for way in ways)
        return found

    def holding(self, form: Form) -> Iterator[tuple[_Path, str]]:
        """The scalars that may hold a value, with their paths."""
        if not form.is_in(self.folded):
            return
        if not self._joined:
            self._paths, self._scalars = _scalars(read_json(self._data))
            self._joined = folded(_END.join(self._scalars))
        for needle in form.needles:
            at = self._joined.find(needle)
            while at >= 0:
                index = self._joined.count(b"\0", 0, at)
                yield self._paths[index], self._scalars[index]
                end = self._joined.find(b"\0", at)
                at = -1 if end < 0 else self._joined.find(needle, end)


_small: Final = lru_cache(maxsize=256)(_Text)
_large: Final = lru_cache(maxsize=8)(_Text)
"""What follows from a text, kept for the next turns: most receipts of a chain have been there before."""


class Document:
    """A receipt or the context. `called` are the arguments that brought it, `foreign` the fields of strangers."""

    __slots__ = ("_called", "_data", "_foreign", "_where")

    def __init__(self, where: str, data: str, called: str = "{}", foreign: tuple[str, ...] = ()) -> None:
        self._where, self._data, self._called, self._foreign = where, data, called, foreign

    def has_number(self, value: float) -> str | None:
        """The document, when it holds this number as a whole."""
        return self._where if self._text().has_number(str(value)) else None

    def may_hold(self, form: Form) -> bool:
        """Whether it is worth while to look for the value."""
        return form.is_in(self._text().folded)

    def whole(self, form: Form) -> str | None:
        """The place where the value is a whole scalar, on a line of its own."""
        for path, text in self._text().holding(form):
            if _is_line(text) and form.equals(text) and not self._is_foreign(path) and not self._was_called_with(form):
                return self._place(path)
        return None

    def piece(self, form: Form) -> Source | None:
        """The place where the value is a piece of text, or a field that strangers write."""
        for path, text in self._text().holding(form):
            span = form.found_in(text)
            if span is not None and not (_is_line(text) and form.equals(text) and not self._is_foreign(path)):
                around = " ".join(text[max(0, span[0] - _AROUND) : span[0] + 3 * _AROUND].split())
                return Source(source=SourceKind.TEXT, where=self._place(path), excerpt=around)
        return None

    def _place(self, path: _Path) -> str:
        return f"{self._where}.{path_text(path)}"[:SHORT]

    def _text(self) -> _Text:
        return _small(self._data) if len(self._data) <= _LARGE else _large(self._data)

    def _is_foreign(self, path: _Path) -> bool:
        if not self._foreign:
            return False
        shown = path_text(tuple(ANY if isinstance(part, int) else part for part in path))
        return any(shown == at or shown.startswith((f"{at}.", f"{at}[", f"{at}{{")) for at in self._foreign)

    def _was_called_with(self, form: Form) -> bool:
        if not form.is_in(folded(self._called)):
            return False
        given = leaves(read_json(self._called))
        return any(form.found_in(str(leaf.value)) for leaf in given if leaf.named or isinstance(leaf.value, str))


def _is_line(text: str) -> bool:
    return len(text) <= SHORT and "\n" not in text


def _scalars(value: Any) -> tuple[list[_Path], list[str]]:
    """Every text and number inside of a value with its path, the keys too; text that is JSON is read as JSON."""
    paths: list[_Path] = []
    texts: list[str] = []
    inside: list[tuple[_Path, Any]] = [((), value)]
    for path, outer in inside:  # grows while it is walked
        named = outer.items() if isinstance(outer, dict) else enumerate(outer)
        for key, inner in named:
            if isinstance(key, str):
                paths.append((*path, KEYS))
                texts.append(key.replace(_END, " "))
            one = inner
            if isinstance(one, str) and one[:1] in ("{", "[") and one[-1:] in ("}", "]"):
                one = read_json(one) or one
            if isinstance(one, dict | list):
                inside.append(((*path, key), one))
            elif isinstance(one, str):
                paths.append((*path, key))
                texts.append(one.replace(_END, " "))
            elif isinstance(one, int | float) and not isinstance(one, bool):
                paths.append((*path, key))
                texts.append(str(one).removesuffix(".0"))
    return paths, texts
