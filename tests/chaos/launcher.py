"""One real service as a process that may be told to die: `python -m tests.chaos.launcher executor`.

It also ends when its standard input does, so that no test leaves one behind, however it ends itself.
"""

import os
import sys
import threading
from importlib import import_module

from haltpoint.contracts.catalogue import Party
from haltpoint.runtime.config import settings_sources
from haltpoint.runtime.service import process
from tests.chaos import fail_points


def _die_with_owner() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_die_with_owner, daemon=True).start()
    party = Party(sys.argv[1])
    fail_points.install(party.value)
    app = import_module(f"haltpoint_{party.value.replace('-', '_')}.app")
    sys.exit(process.main(party, app.run, settings_sources.load()))
