"""The program of a child of the keeper: it calls the function that its command line names, with the
arguments that come as JSON on its stdin, until that ends or its keeper does.
"""

import gc
import json
import os
import signal
import sys
import threading
from pkgutil import resolve_name
from typing import BinaryIO, Final

from haltpoint.runtime.config.errors import HaltpointError

_POLITE: Final = 5  # seconds


def main() -> int | str | None:
    """Do it; the exit code, or what went wrong."""
    keeper = os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # what a tool reads is not the keeper's
    signal.signal(signal.SIGTERM, _leave)  # until the body takes it over
    gc.set_threshold(
        50_000
    )  # imports leave no garbage, and a tenth of their time is the search for it
    try:
        _, path = sys.argv
        body = resolve_name(path)
        line = keeper.readline()
        arguments = json.loads(line)
        threading.Thread(target=_die_with, args=(keeper,), daemon=True).start()
        code: int | None = body(*arguments)
    except HaltpointError as error:
        return str(error)
    return code


def _leave(*_: object) -> None:
    os._exit(0)


def _die_with(keeper: BinaryIO) -> None:
    """Leave when the keeper is gone; politely at first, then at once."""
    keeper.read()
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(_POLITE)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
