"""JSON values: reading, writing, walking them, and paths into them.

A path is names and `[n]` joined by dots; `[]` stands for any element, `{}` for any key or value of
an object. A name that holds such signs is in quotes, so that one place is one path:
`to."user.name"`, with `""` for a quote in it. A reference, `{"$from": "find.data.items[0].id"}`,
begins with the id of a step and continues into the receipt of that step's last successful action;
it has neither `[]` nor `{}`. A `Graph` is the shape of a plan: who waits for whom, and who refers
to whose result.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from types import EllipsisType
from typing import Any, Final, Self, TypeVar

from msgspec import Struct

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.work.plans import Plan

FROM: Final = "$from"
ANY: Final = None
KEYS: Final = ...

Node = TypeVar("Node")
Part = str | int | None | EllipsisType
Path = tuple[Part, ...]
Place = tuple[str | int, ...]
"""A path without `[]` and `{}`."""
_PART: Final = re.compile(
    r'\.?\[(\d{0,6})\]|(\{\})|(?:^|\.)("(?:[^"]|"")*"|(?!")(?:[^.\[\]{]|\{(?!\}))+)'
)
_OF_ANY: Final[dict[Part, type]] = {ANY: int, KEYS: str}
_SCALARS: Final = (str, int, float)
_NESTED: Final = (dict, list)
_BARE: Final = re.compile(r'[^.\[\]{}"]+')
_PATH: Final = re.compile(rf"(?!\.)(?:{_PART.pattern})+")


# ---- reading and writing
# ---------------------------------------------------------------------------


def read_json(text: str) -> Any:
    """JSON text as a value; an empty object for what cannot be read.

    Halves of characters (lone surrogates), which no encoding can write, become question marks.
    """
    try:
        value = json.loads(text)
        if "\\ud" in text or "\\uD" in text:
            whole = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
            value = json.loads(whole)
    except (ValueError, RecursionError):
        return {}
    return value


write_json: Final = json.JSONEncoder(separators=(",", ":")).encode
"""A value as compact JSON text in ASCII, so that no encoding can get in its way."""

write_text: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
"""A value as compact JSON text in its own letters."""


# ---- paths
# -----------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def parse_path(text: str) -> Path:
    """`a.b[0].c` as ("a", "b", 0, "c"), `[]` as None, `{}` as ...; empty for anything that is no
    path.
    """
    path = list[Part]()
    for number, keys, name in _PART.findall(text if _PATH.fullmatch(text) else ""):
        if keys:
            path.append(KEYS)
        elif name.startswith('"'):
            path.append(name[1:-1].replace('""', '"'))
        elif name:
            path.append(name)
        else:
            path.append(int(number) if number else ANY)
    return tuple(path)


def path_of(mark: str) -> Path:
    """The path that a declared place is; a name that is none is that name."""
    return parse_path(mark) or (mark,)


def path_text(path: Path) -> str:
    """A path as it is written."""
    text = ""
    for part in path:
        if isinstance(part, str):
            quoted = part.replace('"', '""')
            text += f".{part}" if _BARE.fullmatch(part) else f'."{quoted}"'
        elif isinstance(part, int):
            text += f"[{part}]"
        else:
            text += "[]" if part is ANY else "{}"
    return text.removeprefix(".")


def covers(path: Path, place: Path) -> bool:
    """Whether a place, as far as both say, is one that the path points at."""
    pairs = zip(path, place, strict=False)
    return all(part == other or isinstance(other, _OF_ANY.get(part, ())) for part, other in pairs)


def is_below(path: Path, place: Path) -> bool:
    """Whether a place is one that the path points at, or in a value that it points at."""
    if len(path) > len(place):
        return False
    return covers(path, place)


# ---- walking
# ---------------------------------------------------------------------------------------


def walk(value: Any) -> Iterator[tuple[Place, Any]]:
    """A value and all values in it, however deep, in their order; an outer one comes first."""
    waiting: list[tuple[Place, Any]] = [((), value)]
    while waiting:
        place, inner = waiting.pop()
        yield place, inner
        if type(inner) in _NESTED:
            members = inner.items() if isinstance(inner, dict) else enumerate(inner)
            waiting += reversed([((*place, key), member) for key, member in members])


def reached(start: Iterable[Node], onward: Callable[[Node], Iterable[Node]]) -> set[Node]:
    """All that can be reached from these, themselves included."""
    known = set[Node]()
    waiting = list(start)
    while waiting:
        node = waiting.pop()
        if node not in known:
            known.add(node)
            waiting += onward(node)
    return known


def scalars_at(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every text and number at a path or below it, with its place; null, true and false do not
    count.

    Keys of objects below it count, too: their place ends in `{}` and the key.
    """
    plain = tuple(takewhile(lambda part: part not in _OF_ANY, path))
    rest = path[len(plain) :]
    for whole in values_at(value, plain):
        for place, inner in walk(whole):
            if type(inner) in _SCALARS and is_below(rest, place):
                yield (*plain, *place), inner
            for key in inner if isinstance(inner, dict) else ():
                if is_below(rest, (*place, KEYS, key)):
                    yield (*plain, *place, KEYS, key), key


def values_at(value: Any, place: Path) -> list[Any]:
    """The value at a place, alone in a list; an empty list where there is none."""
    for part in place:
        if type(value) not in _NESTED:
            return []
        try:
            value = value[part]
        except (LookupError, TypeError):
            return []
    return [value]


def replaced_at(value: Any, place: Path, by: Sequence[Any]) -> Any:
    """A copy of a value with another one at a place in it; without what is there when `by` is
    empty.
    """
    if not place:
        return by[0]
    copy = value.copy()
    part = place[0]
    rest = place[1:]
    if rest or by:
        copy[part] = replaced_at(value[part], rest, by)
    else:
        del copy[part]
    return copy


# ---- references
# ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reference:
    """One `$from`."""

    step: str
    """The id of the step."""
    path: Path
    """The path into its receipt."""
    text: str
    """The words as they were written."""


def reference(value: JsonObject) -> Reference:
    """The reference that an object with `$from` is; a malformed one has no path."""
    text = str(value[FROM])
    step, *inner = parse_path(text) or ("",)
    is_plain = isinstance(step, str) and {ANY, KEYS}.isdisjoint(inner)
    if not inner or not is_plain or len(value) > 1:
        return Reference("", (), text)
    return Reference(str(step), tuple(inner), text)


def references(value: Any) -> list[tuple[Place, Reference]]:
    """Every `$from` inside of arguments with its place in them."""
    objects = [(place, inner) for place, inner in walk(value) if isinstance(inner, dict)]
    return [(place, reference(inner)) for place, inner in objects if FROM in inner]


# ---- the shape of a plan
# ---------------------------------------------------------------------------

Indexes = tuple[int, ...]
"""Of steps in their plan."""
Edges = tuple[Indexes, ...]
"""For each step the indexes of others."""


class Graph(Struct, frozen=True, gc=False):
    """How the steps of a plan hang together, by their indexes."""

    index: dict[str, int] = {}
    """The index of each step, by its id."""
    dependencies: Edges = ()
    """The steps that a step waits for."""
    dependants: Edges = ()
    """The steps that wait for it."""
    sources: Edges = ()
    """The steps to whose results it refers (`$from`)."""
    readers: Edges = ()
    """The steps that refer to its own."""

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """The graph of a plan without faults (C1), or of a skill's: its `input` is no step."""
        index = {step.id: number for number, step in enumerate(plan.steps)}
        waits = list[Indexes]()
        sources = list[Indexes]()
        for step in plan.steps:
            wanted = references([call.arguments for call in step.actions])
            names = {source.step for _, source in wanted}
            waits.append(tuple(sorted(index[name] for name in step.dependencies)))
            sources.append(tuple(sorted(index[name] for name in names if name in index)))
        return cls(index, tuple(waits), _turned(waits), tuple(sources), _turned(sources))


def _turned(edges: Sequence[Indexes]) -> Edges:
    """The same edges seen from the other end, in ascending order."""
    turned: list[list[int]] = [[] for _ in edges]
    for number, others in enumerate(edges):
        for other in set(others):
            turned[other].append(number)
    return tuple(map(tuple, turned))
