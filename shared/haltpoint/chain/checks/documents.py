"""What values are looked for in, a receipt or the context: as folded text first, so that one is parsed only when it may
hold a value, and then once for all (CONTRACT C13).
"""

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any, Final

from haltpoint.chain.checks.places import leaves, nodes_at
from haltpoint.chain.model.canonical import Form, canonical, folded, form_of, holding
from haltpoint.chain.model.references import KEYS, Path, covers, parse_path, path_text, read_json, walk, write_text
from haltpoint.chain.model.schemas import Compiled
from haltpoint.chain.model.typed import names_in
from haltpoint.contracts.reasons import Source, SourceKind

SHORT: Final = 200
"""Characters of a line that is a scalar; what is longer is free text."""
_AROUND: Final = 40
_END: Final = "\0"
_NUMBER: Final = re.compile(r": ?(-?[0-9][0-9.eE+-]*)[,}]")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_INSIDE: Final = 16
"""How deep JSON in JSON in a call is read: each depth is another text to look through."""


class Document:
    """A receipt or the context: what a whole value in it counts as, where it is, and its data as JSON text. `called`
    are the arguments that brought it, `tool` is what they were given to, if a worker still declares it.
    """

    def __init__(self, kind: SourceKind, where: str, data: str, called: str = "", tool: Compiled | None = None) -> None:
        self.kind, self.where, self._data, self._called, self._tool = kind, where, data, called, tool
        self._foreign = [parse_path(place) or () for place in (tool.spec.foreign if tool else ())]
        self.find = lru_cache(maxsize=1024)(self._find)
        """`_find`, once for each value: it comes again in the call, and in the next ones."""
        text = write_text(read_json(data)) if "\\u" in data else data
        self.folded = folded(text.replace(_END, " "))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The numbers that are whole values of an object; nothing is parsed for that."""
        return frozenset(_NUMBER.findall(self._data))

    def _find(self, form: Form) -> Source | None:
        """The place where the value is a whole scalar, on a line of its own, and the call did not have it; else the
        first place where it is a piece of text, or a field that strangers write.
        """
        texts, whole = self._scalars if form.is_in(self.folded) else ([], b"")
        repeated, piece = bool(texts) and self._is_in_call(form), None
        for path, text in (texts[number] for number in holding(form, whole)):
            if len(text) <= SHORT and "\n" not in text and _is_whole(form, text) and not self._is_foreign(path):
                if not repeated:
                    return Source(source=self.kind, where=self._place(path))
            elif piece is None and (span := form.found_in(text)) is not None:
                around = " ".join(text[max(0, span[0] - _AROUND) : span[0] + 3 * _AROUND].split())
                piece = Source(source=SourceKind.TEXT, where=self._place(path), excerpt=around)
        return piece

    def _place(self, path: Path) -> str:
        return f"{self.where}.{path_text(path)}"[:SHORT]

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
    def _given(self) -> tuple[str, frozenset[str]]:
        """What the call was given, one behind the other, and each in its canonical form: the texts, the numbers at its
        targets and the keys that no schema declares, and what each of them is as JSON.
        """
        call, tool = read_json(self._called), self._tool
        given = [str(leaf.value) for leaf in leaves(call) if leaf.named or isinstance(leaf.value, str)]
        for path, one in walk(call):
            if isinstance(one, dict) and one:
                nodes = nodes_at(tool.spec, path) if tool else ()
                given += one.keys() - names_in(nodes)
        found = list(dict.fromkeys(text for one in given for text in _as_json(one)))
        return _END.join(found), frozenset(map(canonical, found))

    def _is_in_call(self, form: Form) -> bool:
        words, forms = self._given
        return form.text in forms or form.found_in(words) is not None

    def _is_foreign(self, path: Path) -> bool:
        return any(len(at) <= len(path) and covers(at, path) for at in self._foreign)


document: Final = lru_cache(maxsize=256)(Document)
"""A document out of the memory of the last ones: most receipts of a chain have been there in the turn before."""


def _is_whole(form: Form, text: str) -> bool:
    """Whether a text is the value and nothing else, its `..` resolved or not."""
    return form.text in (text, canonical(text)) or (".." in text and form.text == form_of(text, resolved=False).text)


def _read(value: Any) -> Any:
    """What a text that is JSON reads as; any other value."""
    is_json = isinstance(value, str) and value[:1] in ("{", "[") and value[-1:] in ("}", "]")
    return (is_json and read_json(value)) or value


def _as_json(text: str) -> Iterator[str]:
    """A text and the texts in it as JSON reads them, and JSON in JSON: whether it is all JSON or not."""
    for _ in range(_INSIDE):
        yield from (text, *text.split('"'))
        text, found = _ESCAPE.subn(_character, text)
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # two halves are one character
        if not found:
            return


def _character(escape: re.Match[str]) -> str:
    number, sign = escape.groups()
    return chr(int(number, 16)) if number else " " if sign in "bfnrt" else sign
