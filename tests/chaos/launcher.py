"""One real service as a process that may be told to die: `python -m tests.chaos.launcher executor`."""

import sys
from importlib import import_module

from haltpoint.contracts.catalogue import Party
from haltpoint.runtime import service, settings
from tests.chaos import fail_points

if __name__ == "__main__":
    party = Party(sys.argv[1])
    fail_points.install(party.value)
    app = import_module(f"haltpoint_{party.value.replace('-', '_')}.app")
    sys.exit(service.main(party, app.run, settings.load()))
