"""What values are looked for in, a receipt or the context: as folded text first, so that one is parsed only when it may
hold a value, and then once for all (CONTRACT C13).
"""

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, Final

from haltpoint.chain.checks.places import leaves
from haltpoint.chain.model.canonical import Form, canonical, folded, holding
from haltpoint.chain.model.references import KEYS, Path, covers, parse_path, path_text, read_json, walk, write_text
from haltpoint.contracts.reasons import Source, SourceKind

SHORT: Final = 200
"""Characters of a line that is a scalar; what is longer is free text."""
_AROUND: Final = 40
_END: Final = "\0"
_NUMBER: Final = re.compile(r": ?(-?[0-9][0-9.eE+-]*)[,}]")


class Document:
    """A receipt or the context: what a whole value in it counts as, where it is, and its data as JSON text. `called`
    are the arguments that brought it, `foreign` the fields that strangers write.
    """

    def __init__(self, kind: SourceKind, where: str, data: str, called: str = "", foreign: Sequence[str] = ()) -> None:
        self.kind, self.where, self._data, self._called = kind, where, data, called
        self._foreign = [parse_path(place) or () for place in foreign]
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
            if (
                len(text) <= SHORT
                and "\n" not in text
                and form.text in (text, canonical(text))
                and not self._is_foreign(path)
            ):
                if not self._is_in_call(form):
                    return Source(source=self.kind, where=where)
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

    @cached_property
    def _given(self) -> tuple[list[str], bytes]:
        """The texts of the call, its keys and what its JSON holds too, with the numbers at targets; and all folded."""
        call = read_json(self._called)
        found = [str(leaf.value) for leaf in leaves(call) if leaf.named or isinstance(leaf.value, str)]
        inside = (one if isinstance(one, dict) else [one] for _, one in walk(call, _read))
        found += [text for one in inside for text in one if isinstance(text, str)]
        return found, folded(_END.join(text.replace(_END, " ") for text in found))

    def _is_in_call(self, form: Form) -> bool:
        texts, whole = self._given
        repeated = (texts[number] for number in holding(form, whole))
        return any(form.found_in(text) or canonical(text) == form.text for text in repeated)

    def _is_foreign(self, path: Path) -> bool:
        return any(len(at) <= len(path) and covers(at, path) for at in self._foreign)


document: Final = lru_cache(maxsize=256)(Document)
"""A document out of the memory of the last ones: most receipts of a chain have been there in the turn before."""


def _read(value: Any) -> Any:
    """What a text that is JSON reads as; any other value."""
    is_json = isinstance(value, str) and value[:1] in ("{", "[") and value[-1:] in ("}", "]")
    return (is_json and read_json(value)) or value
