"""One real service as a process that may be told to die, forked from one that has imported what
they all need.

Its words are a party, a file for its output, a descriptor, and its environment as JSON. It also
ends when the other end of the descriptor does, so that no test leaves one behind, however it ends
itself.
"""

import json
import os
import sys
import threading
from importlib import import_module

from haltpoint.contracts.catalogue import Party
from haltpoint.runtime.config import settings_sources
from haltpoint.runtime.service import process
from tests.chaos import fail_points

PROGRAM = f"{__name__}:main"
SERVICES: dict[Party, str] = {
    party: f"haltpoint_{party.value.replace('-', '_')}.app"
    for party in Party
    if party is not Party.CLIENT
}


def main() -> None:
    """Be the service."""
    _, name, output, owner, environment = sys.argv
    os.environ.update(json.loads(environment))
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(file, stream)
    threading.Thread(target=_die_with_owner, args=(int(owner),), daemon=True).start()
    party = Party(name)
    fail_points.install(party.value)
    sys.exit(process.main(party, import_module(SERVICES[party]).run, settings_sources.load()))


def _die_with_owner(descriptor: int) -> None:
    os.read(descriptor, 1)
    os._exit(1)
