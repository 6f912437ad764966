"""Read the policy file (HALTPOINT_POLICY_FILE, TOML): what an operator says of words and limits."""

import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from haltpoint.contracts.doors import Form
from haltpoint.contracts.people.approval_rules import ApprovalRule, condition_keys
from haltpoint.contracts.policy import Messages, Pattern, PolicyFile, Targets
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.faults import in_words

_NAMED: Final[dict[tuple[int | str, ...], str]] = {("patterns",): "pattern", ("approvals",): "rule"}
_NUMBERS: Final = ("strikes", "max_turns", "actions_per_turn", "parallel", "steps", "actions")


def read(path: Path | None) -> PolicyFile:
    """The file, checked; without one, what counts then. Raises HaltpointError HP-004 with all that is wrong."""
    if path is None:
        return PolicyFile()
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _unusable(path, f"{error.strerror or error}", "Correct HALTPOINT_POLICY_FILE") from error
    except ValueError as error:  # no TOML, or no UTF-8
        raise _unusable(path, f"it is not TOML: {error}") from error
    try:
        file = PolicyFile.model_validate(said)
    except ValidationError as error:
        raise _unusable(path, "; ".join(_sentence(one["loc"], one, said) for one in error.errors())) from None
    off = {*file.patterns_off} - {"*"}
    known = {one.id for one in (*_defaults(), *file.patterns)} if off else set()
    if unknown := sorted(off - known):
        raise _unusable(
            path, "; ".join(f"patterns_off: there is no pattern {one!r}{_near(one, known)}" for one in unknown)
        )
    return file


def patterns_of(file: PolicyFile) -> tuple[Pattern, ...]:
    """The patterns that are on: the defaults, those of the same id replaced, and the file's own."""
    if "*" in file.patterns_off:
        return ()
    by_id = {one.id: one for one in (*_defaults(), *file.patterns)}
    return tuple(one for name, one in by_id.items() if name not in file.patterns_off)


def _defaults() -> tuple[Pattern, ...]:
    # They take 0.1 s to compile, and every command reads the policy file for its limits.
    from haltpoint.chain.words.patterns_english import PATTERNS

    return PATTERNS


def numbers(file: PolicyFile) -> dict[str, int]:
    """The limits that the file gives, under the names that they have as settings."""
    return {name: value for name in _NUMBERS if (value := getattr(file, name)) is not None}


def _unusable(path: Path, why: str, fix: str = "Correct the file; docs/policy.md shows a whole one") -> HaltpointError:
    return HaltpointError("HP-004", f"the policy file {path} cannot be used", why, fix)


def _sentence(place: tuple[int | str, ...], error: Mapping[str, Any], said: Mapping[str, Any]) -> str:
    """One fault: where, with the id of the pattern, and what is allowed."""
    where = ".".join(part for part in map(str, place) if "[" not in part) or "the file"  # without types of a union
    if place[:1] in _NAMED and len(place) > 1 and isinstance(place[1], int):
        kind, named = _NAMED[place[:1]], said[str(place[0])][place[1]]
        name = named.get("id") if isinstance(named, dict) else None
        where = ".".join((f"{kind} {name!r}" if name else f"{kind} number {place[1] + 1}", *map(str, place[2:])))
    if error["type"] == "extra_forbidden":
        return f"{where} is not a key{_near(where.rpartition('.')[2], _keys_at(place))}"
    return f"{where}: {in_words(error)}"


def _keys_at(place: tuple[int | str, ...]) -> Iterable[str]:
    if place[0] == "approvals" and "when" in place:
        return condition_keys()
    forms: dict[int | str, type[Form]] = {
        "patterns": Pattern,
        "approvals": ApprovalRule,
        "messages": Messages,
        "targets": Targets,
    }
    return (forms[place[0]] if len(place) > 1 else PolicyFile).model_fields


def _near(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else f"; there are {', '.join(sorted(known))}"
