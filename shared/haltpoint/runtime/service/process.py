"""A service as the whole of a process: signals, the event loop, the exit code."""

import asyncio
import faulthandler
import gc
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Final, NoReturn

import stamina
import uvloop

from haltpoint.contracts.catalogue import Party
from haltpoint.runtime.config.errors import BLOCKED, HOPELESS, HaltpointError, unforeseen
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.observability import logs

_TOLD_WRONG: Final = frozenset(
    {
        "HP-001",
        "HP-003",
        "HP-004",
        "HP-022",
        "HP-030",
        "HP-031",
        "HP-032",
        "HP-034",
        "HP-035",
        "HP-039",
    }
)

HELD: Final = 60.0
"""Seconds of processor time that native code may hold the interpreter."""

_log = logs.get(__name__)


def main(name: Party, run: Callable[[Settings], Awaitable[None]], settings: Settings) -> int:
    """Run a service as this process.

    Exit code: 0 stopped, 1 could not continue, 2 cannot start with its settings, 3 ended by
    `leave`, 130 interrupted while it drained; SIGVTALRM ends it when native code holds it.
    """
    logs.configure(settings.log, service=name.value)
    end_when_held(HELD)
    stamina.instrumentation.set_on_retry_hooks(())  # `reach` tells in its own words
    # By default every 700 new objects start a collection that walks through all that a service
    # keeps in memory (10,000 chains): a fifth of the executor's time. What was imported stays for
    # ever, and garbage in circles is rare.
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_guarded(run, settings))


def end_when_held(seconds: float) -> None:
    """End this process by SIGVTALRM, with the stacks of its threads on stderr, when none of them
    has had a turn for so many seconds of processor time: native code, a regular expression for one,
    holds the interpreter.

    A process that is paused uses no processor time, so it is not ended.
    """
    faulthandler.register(signal.SIGVTALRM, file=2, chain=True)

    def put_off() -> None:
        while True:
            signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
            time.sleep(min(1.0, seconds / 4))  # often enough that no pause ends a live process

    threading.Thread(target=put_off, name="held", daemon=True).start()


def leave(error: HaltpointError) -> NoReturn:
    """End this process at once, from any thread: its event loop is blocked for good."""
    _log.critical(str(error), code=error.code)
    os._exit(BLOCKED)


def on_signals(stop: Callable[[], object]) -> None:
    """Call `stop` at the first SIGTERM or SIGINT. What then takes its time to end is hurried by
    Ctrl-C alone: a SIGTERM more, of a keeper or a second drain, would cut off running calls.
    """
    loop = asyncio.get_running_loop()

    def begin() -> None:
        loop.add_signal_handler(signal.SIGTERM, lambda: None)
        loop.add_signal_handler(signal.SIGINT, stop)
        stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, begin)


async def _guarded(run: Callable[[Settings], Awaitable[None]], settings: Settings) -> int:
    task = asyncio.ensure_future(run(settings))
    asked = 0

    def stop() -> None:
        nonlocal asked
        asked += 1
        task.cancel()

    on_signals(stop)
    try:
        await task
    except asyncio.CancelledError:
        return 130 if asked > 1 else 0
    except HaltpointError as error:
        _log.critical(str(error), code=error.code)
        return HOPELESS if error.code in _TOLD_WRONG else 1
    except Exception as error:  # noqa: BLE001 - the last line of defence
        _log.critical(str(unforeseen(error)), code="HP-002", exc_info=error)
        return 1
    return 0
