"""Files that an operator writes in TOML: each is read by one schema, and all its faults are told at
once.
"""

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from itertools import starmap
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from haltpoint.contracts.base import JsonObject, value
from haltpoint.contracts.doors import door
from haltpoint.contracts.strict_json import fault_in
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.faults import Place, in_words, keys_of, nearest

T = TypeVar("T")

_ENTRIES: Final = {
    "patterns": "pattern",
    "approvals": "rule",
    "notify": "notify rule",
    "rules": "rule",
    "agents": "agent",
    "models": "model",
}
"""What an entry of a section is called. Its name is its key, or its `id` or `name`."""
_WITH_NAMES: Final = ("patterns", "approvals", "notify")
"""Lists of entries of which no two have one name."""


@value
class TomlFile:
    """A kind of file, and how people are told that one cannot be used."""

    code: str
    name: str
    fix: str
    removed: Mapping[str, str] = field(default_factory=dict)
    """Keys that were removed, and what to write in their place."""

    def read(self, path: Path) -> JsonObject:
        """The file as values. Raises HaltpointError."""
        try:
            return tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            fix = "Name a file that exists and can be read"
            raise self._unusable(path, error.strerror or str(error), fix) from error
        except ValueError as error:  # no TOML, or no UTF-8
            raise self._unusable(path, f"it is not TOML: {error}", self.fix) from error

    def checked(
        self,
        path: Path,
        raw: Mapping[str, Any],
        kind: type[T],
        contradictions: Callable[[T], Iterable[str]] = lambda _: (),
    ) -> T:
        """These values by the schema of the file. Raises HaltpointError with all faults; with the
        contradictions of values that fit the schema.
        """
        faults = [*_same_names(raw)]
        try:
            read = door(kind).validate_python(raw)
        except ValidationError as error:
            meant = _meant(error, raw)
            faults += [self._sentence(place, fault, raw, kind) for place, fault in meant.items()]
        else:
            faults += filter(None, (fault_in(raw), *contradictions(read)))
            if not faults:
                return read
        why = faults[0] if len(faults) == 1 else "".join(f"\n  - {fault}" for fault in faults)
        raise self._unusable(path, why, self.fix)

    def _unusable(self, path: Path, why: str, fix: str) -> HaltpointError:
        return HaltpointError(self.code, f"{self.name} {path} cannot be used", why, fix)

    def _sentence(self, place: Place, fault: Mapping[str, Any], raw: object, kind: type) -> str:
        where = _where(place, raw)
        if where in self.removed:
            return f"{where}: it was removed; {self.removed[where]}"
        if fault["type"] == "extra_forbidden":
            return f"{where} is not a key{nearest(place[-1], keys_of(kind))}"
        return f"{where}: {in_words(fault)}"


def repeated(names: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Names that are given several times, and how often."""
    return ((name, times) for name, times in Counter(names).items() if times > 1)


def _same_names(raw: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the names of entries, whatever else is wrong with them."""
    for section in _WITH_NAMES:
        entries = raw.get(section)
        names = starmap(_name, enumerate(entries)) if isinstance(entries, list) else ()
        for name, times in repeated(names):
            yield f"{times} {_ENTRIES[section]}s are called {name}"


def _meant(error: ValidationError, raw: Any) -> dict[tuple[int | str, ...], Mapping[str, Any]]:
    """The faults by their places, without types of a union. Of such a value it is the fault of the
    kind that was meant: the deepest, else the first.
    """
    faults: dict[tuple[int | str, ...], Mapping[str, Any]] = {}
    for fault in error.errors():
        place = _place(fault["loc"], raw)
        if place:
            faults.pop(place[:-1], None)
        faults.setdefault(place, fault)
    return faults


def _place(path: Place, raw: Any) -> tuple[int | str, ...]:
    """The keys and numbers of a path; all else in it are types of a union."""
    place: list[int | str] = []
    for part in path:
        is_place = isinstance(raw, dict) if isinstance(part, str) else isinstance(raw, list)
        if is_place and "[" not in str(part):
            place.append(part)
            raw = _inside(raw, part)
    return tuple(place)


def _where(place: Place, raw: Any) -> str:
    """A place in words: `agent 'billing'.budget.turns`."""
    words: list[str] = []
    for part in place:
        raw = _inside(raw, part)
        kind = _ENTRIES.get(words[-1]) if words else None
        if kind is None:
            words.append(str(part))
        else:
            words[-1] = f"{kind} {_name(part, raw)}"
    return ".".join(words) or "the file"


def _inside(raw: Any, part: int | str) -> Any:
    try:
        return raw[part]
    except (LookupError, TypeError):
        return None


def _name(part: int | str, entry: Any) -> str:
    if isinstance(part, str):
        return repr(part)
    name = _inside(entry, "id") or _inside(entry, "name")
    return repr(name) if name else f"number {part + 1}"
