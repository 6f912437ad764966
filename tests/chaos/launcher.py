"""One real service as a process that may be told to die."""

from importlib import import_module

from haltpoint.contracts.catalogue import Party
from haltpoint.runtime.config import settings_sources
from haltpoint.runtime.service import process
from tests.chaos import fail_points

SERVICES: dict[Party, str] = {
    party: f"haltpoint_{party.value.replace('-', '_')}.app"
    for party in Party
    if party is not Party.CLIENT
}


def main(name: str) -> int:
    """Be the service."""
    party = Party(name)
    fail_points.install(party.value)
    return process.main(party, import_module(SERVICES[party]).run, settings_sources.load())
