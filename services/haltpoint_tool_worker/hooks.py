"""Hooks in the worker, where they come from (CONTRACT H4): tools modules, dotted paths in
HALTPOINT_HOOKS, and installed packages.

Those that every tool has (H3), and the rules of the policy file (G4), are the worker's own steps,
written where they cost least (`admission/`); a receipt has one that said something else than allow.
"""

from collections.abc import Iterable, Sequence
from importlib.metadata import entry_points
from itertools import chain
from types import ModuleType
from typing import Final

from haltpoint.runtime.config import dotted_path
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.tools.hooks import Hook, hook_of, hooks_in

GROUP: Final = "haltpoint.hooks"
"""The group of entry points; each names one hook, `module:function`."""
APPROVALS: Final = "builtin:approvals"
"""Does what the first rule of the policy file that fits says (`admission/rules.py`)."""


def load_hooks(modules: Iterable[ModuleType], paths: Sequence[str]) -> tuple[Hook, ...]:
    """Every hook once, by order and name, so that all workers run them alike. Raises HaltpointError
    HP-032.
    """
    hooks = list(chain.from_iterable(map(hooks_in, modules)))
    hooks += map(_at, paths)
    for point in entry_points(group=GROUP):
        role = f"hook of the entry point {point.name!r} of group {GROUP},"
        hooks.append(_at(point.value, role))
    return tuple(sorted(set(hooks), key=lambda each: (each.order, each.name)))


def _at(path: str, role: str = "hook") -> Hook:
    found = hook_of(dotted_path.function(path, "HP-032", role))
    if found is None:
        what = f"the {role} {path} cannot be loaded"
        remedy = "Decorate the function: @hook.pre(...) or @hook.post(...)"
        raise HaltpointError("HP-032", what, "it does not name a hook", remedy)
    return found
