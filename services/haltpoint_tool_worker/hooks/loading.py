"""Where hooks come from (CONTRACT H4): tools modules, dotted paths in HALTPOINT_HOOKS, and
installed packages.
"""

from collections.abc import Iterable, Sequence
from importlib.metadata import entry_points
from itertools import chain
from pkgutil import resolve_name
from types import ModuleType
from typing import Final

from haltpoint.contracts.base import value
from haltpoint.runtime.config import dotted_path
from haltpoint.runtime.config.errors import HaltpointError, in_words
from haltpoint.tools.hooks import Hook, hook_of, hooks_in

GROUP: Final = "haltpoint.hooks"
"""The group of entry points; each names one hook, `module:function`."""


@value
class HookChain:
    """The hooks of one tool, each list in the order in which it runs."""

    pre: Sequence[Hook] = ()
    post: Sequence[Hook] = ()


NO_HOOKS: Final = HookChain()


def load_hooks(modules: Iterable[ModuleType], paths: Sequence[str]) -> tuple[Hook, ...]:
    """Every hook once, by order and name, so that all workers run them alike. Raises HaltpointError
    HP-032.
    """
    hooks = list(chain.from_iterable(map(hooks_in, modules)))
    hooks += [_at(path, path) for path in paths]
    for point in entry_points(group=GROUP):
        shown = f"{point.value}, the entry point {point.name!r} of group {GROUP}"
        hooks.append(_at(point.value, shown))
    each_once = {id(hook): hook for hook in hooks}
    return tuple(sorted(each_once.values(), key=lambda hook: (hook.order, hook.name)))


def _at(path: str, shown: str) -> Hook:
    try:
        function = resolve_name(path)
    except Exception as error:
        raise _unusable(shown, in_words(error), dotted_path.NAMED) from error
    hook = hook_of(function)
    if hook is None:
        remedy = "Decorate the function: @hook.pre(...) or @hook.post(...)"
        raise _unusable(shown, "it does not name a hook", remedy)
    return hook


def _unusable(what: str, why: str, remedy: str) -> HaltpointError:
    return HaltpointError("HP-032", f"the hook {what} cannot be loaded", why, remedy)
