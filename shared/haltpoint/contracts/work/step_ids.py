"""Tidy ids for the steps of a plan from outside (C1): others become s1, s2, ... wherever the plan names them."""

import re
from collections.abc import Mapping
from typing import Any, Final

from haltpoint.contracts.base import STEP_ID

_FROM: Final = "$from"
_END_OF_ID: Final = re.compile(r"[.\[]|$")


def tidied(steps: list[Any]) -> list[Any]:
    """The same steps with ids that keys can be made of; one that was replaced is kept as label.

    The same id twice stays the same id twice, and what is no id at all stays as it is: both are faults of the plan.
    """
    given = [step.get("id") if isinstance(step, dict) else None for step in steps]
    ids = list(dict.fromkeys(one for one in given if isinstance(one, str)))
    if all(STEP_ID.fullmatch(one) for one in ids):
        return steps
    free = (name for number in range(1, len(steps) + len(ids) + 1) if (name := f"s{number}") not in ids)
    new = {old: next(free) for old in ids if not STEP_ID.fullmatch(old)}
    return [_step(step, new) if isinstance(step, dict) else step for step in steps]


def _step(step: dict[str, Any], new: Mapping[str, str]) -> dict[str, Any]:
    """One step in which every name of a step is the new one."""
    renamed = dict(step)
    old = step.get("id")
    if isinstance(old, str) and old in new:
        renamed |= {"id": new[old], "label": old}
    if isinstance(waits := step.get("dependencies"), list):
        renamed["dependencies"] = [new.get(one, one) if isinstance(one, str) else one for one in waits]
    if "actions" in step:
        renamed["actions"] = _referring(step["actions"], new)
    return renamed


def _referring(value: Any, new: Mapping[str, str]) -> Any:
    """The same value with each `$from` to a renamed step under its new name."""
    if isinstance(value, list):
        return [_referring(one, new) for one in value]
    if not isinstance(value, dict):
        return value
    if isinstance(text := value.get(_FROM), str):
        # The longest that fits: an id may hold the dot that ends one.
        for old in sorted(new, key=len, reverse=True):
            if text.startswith(old) and _END_OF_ID.match(text, len(old)):
                return {**value, _FROM: new[old] + text[len(old) :]}
    return {name: _referring(one, new) for name, one in value.items()}
