"""JSON text in which values are searched: parsed only when its folded text holds one, and then once for all (C13)."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any, Final

from haltpoint.chain.canonical import Form, canonical, folded
from haltpoint.chain.places import leaves
from haltpoint.chain.references import KEYS, Path, general, path_text, read_json, walk, write_text
from haltpoint.contracts.reasons import Source, SourceKind

SHORT: Final = 200
"""Characters of a line that is a scalar; what is longer is free text."""
_AROUND: Final = 40
_END: Final = "\0"
_NUMBER: Final = re.compile(r": ?(-?[0-9][0-9.eE+-]*)[,}]")


def holding(form: Form, texts: bytes) -> Iterator[int]:
    """The numbers of the texts that may hold a value, out of folded ones with a zero between them: one search."""
    for needle in form.needles:
        at = texts.find(needle) if texts else -1
        while at >= 0:
            yield texts.count(b"\0", 0, at)
            end = texts.find(b"\0", at)
            at = -1 if end < 0 else texts.find(needle, end + 1)  # behind it: a needle may be empty


class Document:
    """A receipt or the context: what a whole value in it counts as, where it is, and its data as JSON text.

    `called` are the arguments that brought it, `foreign` the fields that strangers write.
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
                if not self._was_called_with(form):
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

    def _was_called_with(self, form: Form) -> bool:
        given = leaves(read_json(self._called)) if form.is_in(folded(self._called)) else ()
        return any(form.found_in(str(leaf.value)) for leaf in given if leaf.named or isinstance(leaf.value, str))


document: Final = lru_cache(maxsize=256)(Document)
"""A document out of the memory of the last ones: most receipts of a chain have been there in the turn before."""


def _read(value: Any) -> Any:
    """What a text that is JSON reads as; any other value."""
    is_json = isinstance(value, str) and value[:1] in ("{", "[") and value[-1:] in ("}", "]")
    return (is_json and read_json(value)) or value
