"""Read the policy file (HALTPOINT_POLICY_FILE): what an operator says of words and limits."""

from pathlib import Path
from typing import Any, Final

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.policy import PolicyFile
from haltpoint.runtime.config.toml_file import TomlFile

_FILE: Final = TomlFile(
    "HP-004",
    "the policy file",
    "Correct the file; haltpoint policy show prints a whole one",
    removed={"patterns_off": "give the pattern `on = false` under its id"},
)
_NUMBERS: Final = {"strikes", "max_turns", "actions_per_turn", "parallel", "steps", "actions"}

SHIPPED: Final = Path(__file__).with_name("policy.toml")
"""The defaults, as such a file."""


def read(path: Path | None) -> PolicyFile:
    """The file, checked, with what is shipped. Raises HaltpointError HP-004 with all that is
    wrong.
    """
    whole = _FILE.read(SHIPPED)
    if path is not None:
        own = _FILE.read(path)
        patterns = _patterns(whole["patterns"], own.get("patterns", []))
        targets = own.get("targets", {})
        if isinstance(
            targets, dict
        ):  # the shipped names, unless there are others, and what is added
            targets = {**whole["targets"], **targets}
        whole = {**own, "patterns": patterns, "targets": targets}
    return _FILE.checked(path or SHIPPED, whole, PolicyFile)


def _patterns(shipped: list[JsonObject], own: Any) -> Any:
    """A file's own patterns in their order, then the shipped ones; one with the id of a shipped one
    changes what it names.
    """
    if not isinstance(own, list) or not all(isinstance(entry, dict) for entry in own):
        return own
    patterns = {entry["id"]: entry for entry in shipped}
    own = [{**patterns.pop(entry.get("id"), {}), **entry} for entry in own]
    return [*own, *patterns.values()]


def numbers(path: Path) -> dict[str, int]:
    """The limits that the file gives, under the names that they have as settings."""
    return read(path).model_dump(include=_NUMBERS, exclude_none=True)
