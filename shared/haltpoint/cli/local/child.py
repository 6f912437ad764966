"""The program of a child of the keeper: it calls the function that its command line names, with the
arguments that come as JSON on its stdin, until that ends or its keeper does.
"""

import gc
import json
import os
import signal
import sys
from pkgutil import resolve_name

from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.service.parent import end_with


def main() -> int | str | None:
    """Do it; the exit code, or what went wrong."""
    keeper = os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # what a tool reads is not the keeper's
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # until the body takes it over
    gc.set_threshold(
        50_000
    )  # imports leave no garbage, and a tenth of their time is the search for it
    try:
        _, path = sys.argv
        body = resolve_name(path)
        line = keeper.readline()
        arguments = json.loads(line)
        end_with(keeper.read)
        code: int | None = body(*arguments)
    except HaltpointError as error:
        return str(error)
    return code


if __name__ == "__main__":
    sys.exit(main())
