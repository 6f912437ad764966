"""JSON values: reading, writing, walking them, and paths into them.

A path is names and `[n]` joined by dots; `[]` stands for any element, `{}` for any key or value of an object. A name
that holds such signs is in quotes, so that one place is one path: `to."user.name"`, with `""` for a quote in it.
A reference, `{"$from": "find.data.items[0].id"}`, begins with the id of a step and continues into the receipt of that
step's last successful action; it has neither `[]` nor `{}`. A `Graph` is the shape of a plan: who waits for whom, and
who refers to whose result.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import EllipsisType
from typing import Any, Final, Self, TypeVar

from msgspec import Struct, field

from haltpoint.contracts.work.plans import Plan

FROM: Final = "$from"
LEFT_OUT: Final = object()
ANY: Final = None
KEYS: Final = ...

Node = TypeVar("Node")
Part = str | int | None | EllipsisType
Path = tuple[Part, ...]
Place = tuple[str | int, ...]
"""A path without `[]` and `{}`."""
_SIGNS: Final[dict[Part, str]] = {ANY: "[]", KEYS: "{}"}
_PART: Final = re.compile(r'\.?\[(\d{0,6})\]|(\{\})|(?:^|\.)("(?:[^"]|"")*"|(?!")(?:[^.\[\]{]|\{(?!\}))+)')
_BARE: Final = re.compile(r'[^.\[\]{}"]+')
_PATH: Final = re.compile(rf"(?!\.)(?:{_PART.pattern})+")


@dataclass(frozen=True, slots=True)
class Reference:
    """One `$from`: the step, the path into its receipt, and the words as they were written."""

    step: str
    path: Path
    text: str


class UnresolvedError(Exception):
    """A reference finds nothing; the text says which one and what is missing, for people."""


@lru_cache(maxsize=4096)
def parse_path(text: str) -> Path | None:
    """`a.b[0].c` as ("a", "b", 0, "c"), `[]` as None, `{}` as ...; None for anything that is not a path."""
    if _PATH.fullmatch(text) is None:
        return None
    return tuple(_part(*found) for found in _PART.findall(text))


def _part(number: str, keys: str, name: str) -> Part:
    if name:
        return name[1:-1].replace('""', '"') if name[0] == '"' else name
    return KEYS if keys else int(number) if number else ANY


def path_text(path: Path) -> str:
    """A path as it is written."""
    parts = [f".{_quoted(part)}" if isinstance(part, str) else _SIGNS.get(part, f"[{part}]") for part in path]
    return "".join(parts).removeprefix(".")


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return name if _BARE.fullmatch(name) else f'"{doubled}"'


def covers(path: Path, place: Path) -> bool:
    """Whether a place, as far as both say, is one that the path points at."""
    kinds: dict[Part, type] = {ANY: int, KEYS: str}
    pairs = zip(path, place, strict=False)
    return all(part == other or (part in kinds and isinstance(other, kinds[part])) for part, other in pairs)


def walk(value: Any, read: Callable[[Any], Any] = lambda one: one) -> Iterator[tuple[Place, Any]]:
    """A value and all values in it, however deep, as `read` gives them, with their places; an outer one comes first."""
    waiting: list[tuple[Place, Any]] = [((), value)]
    for place, one in waiting:  # grows while it is walked
        found = read(one)
        yield place, found
        if isinstance(found, dict):
            waiting += [((*place, name), inner) for name, inner in found.items()]
        elif isinstance(found, list):
            waiting += [((*place, number), inner) for number, inner in enumerate(found)]


def reached(start: Iterable[Node], onward: Callable[[Node], Iterable[Node]]) -> dict[Node, None]:
    """All that can be reached from these, themselves included, each once and in order."""
    waiting = list(start)
    known = dict.fromkeys(waiting)
    for node in waiting:  # grows while it is walked
        new = [other for other in onward(node) if other not in known]
        known.update(dict.fromkeys(new))
        waiting += new
    return known


def deeper_than(value: Any, levels: int) -> bool:
    """Whether objects and lists are nested more than so many levels deep."""
    return any(len(place) >= levels and isinstance(one, (dict, list)) for place, one in walk(value))


def values_at(value: Any, path: Path) -> list[Any]:
    """Everything that a path points at: at most one value, unless it has `[]` or `{}` in it."""
    found = [value]
    for part in path:
        found = [inner for outer in found for inner in _inside(outer, part)]
    return found


def scalars_at(value: Any, path: Path = (), at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every text and number at a path or below it, with its place; of a list those of each element. Keys of objects
    below it count, too, their place ends in `{}` and the key; null, true and false do not count.
    """
    if isinstance(value, list):
        yield from _scalars_in_list(value, path, at)
    elif isinstance(value, dict):
        yield from _scalars_in_object(value, path, at)
    elif not path and value is not None and not isinstance(value, bool):
        yield at, value


def _scalars_in_list(value: list[Any], path: Path, at: Path) -> Iterator[tuple[Path, Any]]:
    rest = path[1:] if path and path[0] is ANY else path
    for number, inner in enumerate(value):
        if path and isinstance(path[0], int):
            rest = path[1:]
            if number != path[0]:
                continue
        yield from scalars_at(inner, rest, (*at, number))


def _scalars_in_object(value: dict[str, Any], path: Path, at: Path) -> Iterator[tuple[Path, Any]]:
    ends = path in ((), (KEYS,))
    for key, inner in value.items():
        if ends:
            yield (*at, KEYS, key), key
        if ends or path[0] in (KEYS, key):
            yield from scalars_at(inner, path[1:], (*at, key))


def replaced_at(value: Any, place: Path, by: Any) -> Any:
    """A copy of a value, with another one at a place in it."""
    if not place:
        return by
    copy = value.copy()
    copy[place[0]] = replaced_at(value[place[0]], place[1:], by)
    return copy


def _inside(value: Any, part: Part) -> list[Any]:
    if isinstance(value, dict):
        if part is KEYS:
            return [*value, *value.values()]
        return [value[part]] if part in value else []
    if not isinstance(value, list):
        return []
    if part is ANY:
        return value
    return [value[part]] if isinstance(part, int) and part < len(value) else []


def reference(value: dict[str, Any]) -> Reference | None:
    """The reference that an object with `$from` is; None when it is malformed."""
    text = value[FROM]
    path = parse_path(text) if len(value) == 1 and isinstance(text, str) else None
    if path is None or len(path) < 2 or not isinstance(path[0], str) or ANY in path or KEYS in path:
        return None
    return Reference(path[0], path[1:], str(text))


def references(value: dict[str, Any]) -> list[tuple[Place, Reference | None]]:
    """Every `$from` inside a call's arguments with its place in them; None in place of a malformed one."""
    if FROM not in value and not [one for one in value.values() if isinstance(one, (dict, list))]:
        return []  # as most are
    return [(place, reference(one)) for place, one in walk(value) if isinstance(one, dict) and FROM in one]


def replaced(value: Any, by: Callable[[dict[str, Any]], Any]) -> Any:
    """The same value with each `$from` in it replaced; what becomes LEFT_OUT is left out."""
    if isinstance(value, dict):
        if FROM in value:
            return by(value)
        inner = ((name, replaced(one, by)) for name, one in value.items())
        return {name: one for name, one in inner if one is not LEFT_OUT}
    if isinstance(value, list):
        return [one for one in (replaced(each, by) for each in value) if one is not LEFT_OUT]
    return value


def resolve(value: Any, receipt_of: Callable[[Reference], dict[str, Any] | None]) -> Any:
    """The same value with each `$from` replaced by what it points at. Raises `UnresolvedError`. `receipt_of` gives the
    receipt of the last successful action of the reference's step, None when there is none.
    """

    def follow(value: dict[str, Any]) -> Any:
        found = reference(value)
        receipt = receipt_of(found) if found is not None else None
        if found is None or receipt is None:
            raise UnresolvedError(f"{value[FROM]!r} refers to a step without a result")
        values = values_at(receipt, found.path)
        if not values:
            raise UnresolvedError(f"{found.text!r} points at nothing in the result of step {found.step!r}")
        return values[0]

    return replaced(value, follow)


def read_json(text: str) -> Any:
    """JSON text as a value; an empty object for what cannot be read. Halves of characters (lone surrogates), which no
    encoding can write, become question marks.
    """
    try:
        value = json.loads(text)
        if "\\ud" in text or "\\uD" in text:
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
        return value
    except (ValueError, RecursionError):
        return {}


write_json: Final = json.JSONEncoder(separators=(",", ":")).encode
"""A value as compact JSON text in ASCII, so that no encoding can get in its way."""

write_text: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
"""A value as compact JSON text in its own letters."""


class Graph(Struct, frozen=True, gc=False):
    """Indexes of a plan's steps by id, and for each step the indexes of those that it waits for and that wait for it.

    `sources` are the steps to whose results a step refers (`$from`), `readers` those that refer to its own. `promises`
    are the tools of each promise of a step (C3).
    """

    index: dict[str, int] = field(default_factory=dict)
    dependencies: tuple[tuple[int, ...], ...] = ()
    dependants: tuple[tuple[int, ...], ...] = ()
    sources: tuple[tuple[int, ...], ...] = ()
    readers: tuple[tuple[int, ...], ...] = ()
    promises: tuple[tuple[tuple[str, ...], ...], ...] = ()

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """The graph of a plan without faults (C1), or of a skill's: its `input` is no step."""
        index = {step.id: number for number, step in enumerate(plan.steps)}
        dependencies: list[tuple[int, ...]] = []
        sources: list[tuple[int, ...]] = []
        for step in plan.steps:
            dependencies.append(tuple([index[name] for name in step.dependencies]))
            found = [ref for call in step.actions for _, ref in references(call.arguments) if ref is not None]
            sources.append(tuple(sorted({index[ref.step] for ref in found if ref.step in index})) if found else ())
        promises = tuple([step.promised for step in plan.steps])
        return cls(index, tuple(dependencies), _turned(dependencies), tuple(sources), _turned(sources), promises)


def _turned(edges: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """The same edges seen from the other end, in ascending order."""
    turned: list[list[int]] = [[] for _ in edges]
    for number, others in enumerate(edges):
        for other in dict.fromkeys(others):
            turned[other].append(number)
    return tuple(map(tuple, turned))
