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


SHIPPED: Final = Path(__file__).with_name("policy.toml")
"""The defaults, as such a file."""


def read(path: Path | None) -> PolicyFile:
    """The file, checked, with what is shipped. Raises HaltpointError HP-004 with all that is wrong."""
    said = {} if path is None else _said(path)
    shipped = tomllib.loads(SHIPPED.read_text(encoding="utf-8"))
    patterns = _patterns(shipped["patterns"], said.get("patterns", []))
    whole = {**said, "patterns": patterns, "targets": _targets(shipped["targets"], said.get("targets", {}))}
    try:
        return PolicyFile.model_validate(whole)
    except ValidationError as error:
        faults = [_sentence(fault["loc"], fault, whole) for fault in error.errors()]
        raise _unusable(path or SHIPPED, "; ".join(faults)) from None


def _said(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _unusable(path, f"{error.strerror or error}", "Correct HALTPOINT_POLICY_FILE") from error
    except ValueError as error:  # no TOML, or no UTF-8
        raise _unusable(path, f"it is not TOML: {error}") from error


def _patterns(shipped: list[dict[str, Any]], own: Any) -> Any:
    """The shipped patterns and a file's own; one with the id of a shipped one changes what it names."""
    if not isinstance(own, list) or not all(isinstance(entry, dict) for entry in own):
        return own
    known = {entry["id"]: entry for entry in shipped}
    changed = {entry.get("id"): entry for entry in own if entry.get("id") in known}
    merged = [{**entry, **changed.get(name, {})} for name, entry in known.items()]
    return [*merged, *(entry for entry in own if entry.get("id") not in known)]


def _targets(shipped: dict[str, Any], own: Any) -> Any:
    """The shipped names of targets, unless a file has names of its own, with what it adds and removes."""
    return {**shipped, **own} if isinstance(own, dict) else own


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
    if place == ("patterns_off",):
        return "patterns_off: it was removed; give the pattern `on = false` under its id"
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
