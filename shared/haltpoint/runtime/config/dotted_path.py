"""A thing of the operator's own code by its dotted path, `module:name`: hooks, escalation handlers, claims checks."""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from haltpoint.runtime.config.errors import HaltpointError


def load(path: str) -> object:
    """What the path names. Raises ValueError for what is no such path, and whatever the import raises."""
    name, colon, place = path.partition(":")
    if not (name and colon and place):
        raise ValueError("it is not a dotted path")
    found: object = import_module(name)
    for part in place.split("."):
        found = getattr(found, part)
    return found


def function(path: str, code: str, role: str) -> Callable[..., Any]:
    """The function that a path names, in the working directory too. Raises HaltpointError with this code."""
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    what = f"the {role} {path} cannot be loaded"
    try:
        found = load(path)
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise HaltpointError(code, what, why, "Correct the path or the module") from error
    if not callable(found):
        raise HaltpointError(code, what, "it does not name a function", "Write module:function")
    return found
