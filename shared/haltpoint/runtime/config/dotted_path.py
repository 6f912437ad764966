"""A thing of the operator's own code by its dotted path, `module:name`: hooks, and functions that
decide something.
"""

import asyncio
import inspect
import sys
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from pathlib import Path
from pkgutil import resolve_name
from threading import Thread
from typing import Any, Final

from haltpoint.runtime.config.errors import HaltpointError, in_words

NAMED: Final = "Write module:function; Python must be able to import the module from this folder"
"""What to do where nothing can be loaded."""


class TooSlowError(Exception):
    """The function took longer than it may."""


def function(path: str, code: str, role: str) -> Callable[..., Any]:
    """The function that a path names, in the working directory too. Raises HaltpointError with this
    code.
    """
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    what = f"the {role} {path} cannot be loaded"
    try:
        named: Callable[..., Any] = resolve_name(path)
    except (Exception, SystemExit) as error:  # a script ends itself
        raise HaltpointError(code, what, in_words(error), NAMED) from error
    if not callable(named):
        raise HaltpointError(code, what, "it does not name a function", "Write module:function")
    return named


async def call(function: Callable[..., Any], seconds: float, *given: object) -> Any:
    """What the function returns; one that is not async runs in a thread of its own. Raises
    TooSlowError after so many seconds, and what the function raises; RuntimeError for what looks
    like the end of the process or of the caller, and is not: signals reach this process in another
    way.
    """
    patience = asyncio.timeout(seconds)
    try:
        async with patience:
            if inspect.iscoroutinefunction(function):
                return await function(*given)
            result = await _in_thread(function, *given)
            return await result if inspect.isawaitable(result) else result
    except Exception as error:
        if patience.expired():
            raise TooSlowError(f"it took more than {seconds:g} s") from error
        raise
    except BaseException as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise
        raise RuntimeError(f"it raised {in_words(error)}") from error


def _in_thread(function: Callable[..., Any], *given: object) -> asyncio.Future[Any]:
    """What the function returns. One that never ends takes no other's thread, and the end of the
    process does not wait for it. No future takes a StopIteration: who waits for it would wait for
    ever.
    """
    result = Future[Any]()
    context = copy_context()
    result.set_running_or_notify_cancel()

    def run() -> None:
        try:
            result.set_result(context.run(function, *given))
        except StopIteration as error:
            result.set_exception(RuntimeError(f"it raised {in_words(error)}"))
        except BaseException as error:  # noqa: BLE001 - whoever waits raises it
            result.set_exception(error)

    Thread(target=run, daemon=True).start()
    return asyncio.wrap_future(result)
