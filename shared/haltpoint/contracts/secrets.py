"""Secrets in texts and JSON values: known by their name, by their form, or by the type of a tool's
parameter. Three stars take their place.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache, lru_cache, partial
from typing import Any, Final, TypeAlias

import re2
from msgspec import Raw, json

from haltpoint.contracts.base import value as frozen
from haltpoint.contracts.reasons import SourceKind
from haltpoint.contracts.secret_forms import (
    COUNTED,
    COUNTS,
    FORM,
    HEAD,
    KNOWN_BY_ITS_END,
    LIKE_SECRET,
    LINE,
    VALUE,
    names_secret,
)

Names: TypeAlias = Collection[str]

STARS: Final = "***"

_compiled: Final = cache(re2.compile)

_SHORTEST: Final = 3
"""Characters of a value that is searched for in other texts."""
_INSIDE: Final = 6
"""Characters of a value that is searched for inside of words, too."""
_SMALL: Final = 2048
"""Bytes of JSON that are read whole rather than looked at part by part."""
_ARGUMENTS: Final = frozenset({"arguments", "ran", "input"})
"""The fields of views that have the arguments of a call."""
_SAYING: Final = frozenset({"name", "Name", "key", "Key", "header", "field"})
_SAID: Final = frozenset({"value", "Value", "values", "val", "answer", "content"})
"""The fields of an entry with a name and a value, of headers and forms."""
_DATA: Final = _ARGUMENTS | {"data", "result", "value"}
"""Those that have values of tools and people; in others a word may be that of a state."""
_PARTS: Final = ("properties", "$defs")
"""The fields of a JSON Schema whose names are those of its parts."""
_SOURCES: Final = tuple(SourceKind)
"""A value with one of these as its source says of a parameter where its value comes from."""
_END: Final = re.compile(
    r"\A(?=(?:\*{3}.{4}|(?:\d[ -]?){8,12}\d{4}|[A-Z]{2}\d\d(?: ?[A-Z\d]{4}){2,7} ?[A-Z\d]{0,3})\Z)"
    r".+(.{4})"
)
"""Of a number of a card or an IBAN that nothing follows, or of what has its stars."""
_TOKEN: Final = re.compile(r"[\w.:~/+-]*")
"""An id, a time, the word of a state: no text in which words are searched for."""


def _hides(name: str, value: Any) -> bool:
    """Whether what has this name is a secret with this value. Counts of tokens are none, nor is
    what says where the value of a parameter of this name comes from.
    """
    if not names_secret(name):
        return False
    if isinstance(value, dict) and value.get("source") in _SOURCES:
        return False
    if isinstance(value, str) or not COUNTED.match(name):
        return True
    return not COUNTS.fullmatch(" ".join(lines_in(value)))


def typed_in(schema: Any) -> Iterator[str]:
    """The names of the parameters that a tool types as `SecretStr`, by its JSON Schema: wherever it
    says so in the schema of a parameter, also behind a reference.
    """
    parts: list[tuple[str, Any]] = [("", schema)]
    seen = set()
    while parts:
        name, part = parts.pop()
        match part:
            case {"writeOnly": True}:
                yield name
            case {"$ref": str(there)} if (name, there) not in seen:
                seen.add((name, there))
                parts.append((name, schema.get("$defs", {}).get(there.rpartition("/")[2])))
            case {"properties": dict(parameters), **others}:
                parts += [*parameters.items(), (name, others)]
            case dict():
                parts += [(name, inner) for key, inner in part.items() if key != "$defs"]
            case list():
                parts += [(name, inner) for inner in part]
            case _:
                pass


def without_secrets(text: str, values: Iterable[str] = ()) -> str:
    """The text with stars in place of secrets of known forms and names, and of these values."""
    for hidden in sorted(values, key=len, reverse=True):
        text = _without(text, hidden)
    readable = text.encode(errors="replace").decode()
    if not _compiled(LIKE_SECRET).search(readable):
        return text
    return _without_pairs(_compiled(FORM).sub(_stars_between, readable))


_key: Final = lru_cache(maxsize=4096)(without_secrets)


def without_secrets_in(text: bytes, typed: Names = ()) -> bytes:
    """JSON text with stars; as it is when there is nothing to hide."""
    return json.encode(starred(_opened(text, typed), typed=typed))


def _opened(text: bytes, names: Names = ()) -> Any:
    """JSON text for `starred`: parts without secrets, also in fields of these names, stay text. A
    long view has few others.
    """
    is_named = any(json.encode(name) in text for name in names)
    if not (is_named or _compiled(LIKE_SECRET).search(text.decode())):
        return Raw(text)
    if len(text) < _SMALL or text[:1] not in b"[{":
        return json.decode(text)
    if text.startswith(b"["):
        items = json.decode(text, type=list[Raw])
        return [_opened(bytes(inner), names) for inner in items]
    fields = json.decode(text, type=dict[str, Raw])
    return {
        name: json.decode(inner)
        if name in _PARTS or name in _SAID or name in names or names_secret(name)
        else _opened(bytes(inner), names)
        for name, inner in fields.items()
    }


def starred(value: Any, names: Names = (), *, typed: Names = (), values: Iterable[str] = ()) -> Any:
    """JSON values with stars in place of secrets: in fields of these names and of names that say
    so, in texts, and wherever a secret of such a field is again. The names `typed` count in
    arguments alone; `values` are secrets, too.
    """
    hidden = frozenset((*values, *secret_values(value, names, typed)))
    text_of = cache(partial(without_secrets, values=hidden))

    def told(shown: Any, *, is_data: bool) -> Any:
        if isinstance(shown, Raw):
            text = bytes(shown)
            is_told = any(json.encode(one)[1:-1] in text for one in hidden)
            return walk.over(json.decode(text), is_data=is_data) if is_told else shown
        word = str(shown)
        if is_data and word in hidden and len(word) >= _SHORTEST:
            return STARS
        return text_of(shown) if isinstance(shown, str) else shown

    walk = _Walk(typed, stars_for, told)
    return walk.over(value, names)


def secret_values(value: Any, names: Names = (), typed: Names = ()) -> list[str]:
    """The texts and numbers in fields that are secret, line by line."""
    found: list[str] = []

    def find(name: str, hidden: Any) -> None:
        if stars_for(name, hidden) != hidden:
            found.extend(lines_in(hidden))

    _Walk(typed, find, _as_it_is).over(value, names)
    return found


def _as_it_is(shown: Any, **_: bool) -> Any:
    return shown


def lines_in(value: Any) -> Iterator[str]:
    """The lines of all texts and numbers of JSON values."""
    if isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from lines_in(inner)
    elif value is not None and not isinstance(value, bool):
        yield from filter(None, map(str.strip, str(value).splitlines()))


def unstarred(given: Any, shown: Any, original: Any) -> Any:
    """What a person sends back: where it is as it was shown, or stars, it is the original."""
    if given in (shown, STARS):
        return original
    if isinstance(given, dict) and isinstance(original, dict):
        known = given.keys() & original.keys()
        kept = {name: unstarred(given[name], shown[name], original[name]) for name in known}
        return {**given, **kept}
    return given


@frozen
class _Walk:
    """A walk over JSON values: `secret` says what becomes of a secret, `told` of all else."""

    typed: Names
    secret: Callable[[str, Any], Any]
    told: Callable[..., Any]

    def over(self, value: Any, names: Names = (), *, is_data: bool = False) -> Any:
        """What becomes of the values; fields of these names are secrets."""
        if isinstance(value, list | tuple):
            return [self._item(inner, names, is_data=is_data) for inner in value]
        if not isinstance(value, dict):
            return self.told(value, is_data=is_data)
        said = [value[key] for key in _SAYING & value.keys()]
        if any(names_secret(name) for name in said if isinstance(name, str)):
            names = (*names, *_SAID)
        return {
            _key(name): self._field(name, inner, names, is_data=is_data or name in _DATA)
            for name, inner in value.items()
        }

    def _item(self, value: Any, names: Names, *, is_data: bool) -> Any:
        """A pair of a list names its value, as headers do."""
        match value:
            case [str(name), inner] if _hides(name, inner):
                return [name, self.secret(name, inner)]
            case _:
                return self.over(value, names, is_data=is_data)

    def _field(self, name: str, inner: Any, names: Names, *, is_data: bool) -> Any:
        if _is_schema(name, inner):
            return inner
        if name in names or _hides(name, inner):
            return self.secret(name, inner)
        if name in _ARGUMENTS:
            names = self.typed or names
        return self.over(inner, names, is_data=is_data)


def _is_schema(name: str, inner: Any) -> bool:
    """Whether these are the parts of a JSON Schema, where names have no values."""
    if name not in _PARTS or not isinstance(inner, dict):
        return False
    return all(isinstance(schema, dict) for schema in inner.values())


def stars_for(name: str, hidden: Any) -> Any:
    """Stars; nothing where nothing is given, and of a card or an IBAN the end."""
    match hidden:
        case None | bool() | "":
            return hidden
        case str() | int() if KNOWN_BY_ITS_END.search(name):
            return STARS + "".join(_END.findall(str(hidden)))
        case _:
            return STARS


def _without(text: str, hidden: str) -> str:
    """The text without a value. One that is a word, a number or short is a status, a part of a time
    or in an id by chance, so it is searched for as a word of a text alone. No status is a number.
    """
    is_number = hidden.isdecimal()
    is_plain = hidden.replace("_", "").isalpha() or is_number
    if len(hidden) >= _INSIDE and not is_plain:
        return text.replace(hidden, STARS)
    is_whole = text == hidden and is_number
    if len(hidden) < _SHORTEST or (_TOKEN.fullmatch(text) and not is_whole):
        return text
    return re.sub(rf"(?<!\w){re.escape(hidden)}(?!\w)", STARS, text)


def _stars_between(form: Any) -> str:
    before, after, *_ = *filter(None, form.groups()), "", ""
    return f"{before}{STARS}{after}"


def _without_pairs(text: str) -> str:
    """The text with stars in place of what follows the names of secrets."""
    shown = ""
    end = 0
    for head in HEAD.finditer(text):
        name, *close = filter(None, head.groups())
        value = LINE if head[1] or head[2] else VALUE
        hidden = value.match(text, head.end())
        if hidden and head.start() >= end and names_secret(name):
            mark = hidden[1] or "".join(close)
            shown += f"{text[end : head.end()]}{mark}{STARS}{mark}"
            end = hidden.end()
    return shown + text[end:]
