"""A thing of the operator's own code by its dotted path, `module:name`: hooks, and functions that decide something."""

import asyncio
import inspect
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
    except (Exception, SystemExit) as error:  # a script ends itself
        why = f"{type(error).__name__}: {error}"
        raise HaltpointError(code, what, why, "Correct the path or the module") from error
    if not callable(found):
        raise HaltpointError(code, what, "it does not name a function", "Write module:function")
    return found


async def call(function: Callable[..., Any], seconds: float, *given: object) -> Any:
    """What the function returns; one that is not async runs in a thread. Raises TimeoutError after so many seconds, and
    what the function raises; RuntimeError for what looks like the end of the process or of the caller, and is not:
    signals reach this process in another way.
    """
    try:
        async with asyncio.timeout(seconds):
            if inspect.iscoroutinefunction(function):
                return await function(*given)
            return await asyncio.to_thread(function, *given)
    except Exception:
        raise
    except BaseException as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise
        raise RuntimeError(f"it raised {type(error).__name__}: {error}") from error
