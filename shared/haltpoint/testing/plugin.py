"""The plugin of pytest: the fixture `harness`. A run that does not use it imports nothing else."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from haltpoint.testing.harness import Harness


@pytest.fixture
def harness(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Harness]":
    """A system for this test alone, once it calls `harness.start(tools=...)`."""
    from haltpoint.testing.harness import Harness  # here: it imports all services

    # There, so that pytest removes one day what a killed run has left.
    base = tmp_path_factory.getbasetemp()
    with TemporaryDirectory(prefix="haltpoint-", dir=base) as folder, Harness(Path(folder)) as own:
        yield own
