"""Under `haltpoint up` each process has a port of its own for its health and metrics."""

import pytest

from haltpoint.cli.local.system import SERVICES, _children
from haltpoint.runtime.config.settings import Settings


@pytest.mark.parametrize(
    ("given", "taken"), [(9000, [9000, 9001, 9002, 9003]), (0, [0] * 4), (None, [None] * 4)]
)
def test_each_takes_the_next_one(given: int | None, taken: list[int | None]) -> None:
    children = _children(Settings(health_port=given), SERVICES, 2, ())
    ports = {child.name: child.arguments[1]["health_port"] for child in children}
    del ports["gateway"]  # serves them at its own address
    assert sorted(ports.values(), key=str) == taken
