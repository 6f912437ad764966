"""What `from haltpoint import ...` gives to tool authors and callers."""

import pytest

import haltpoint
from haltpoint.client import Client
from haltpoint.contracts.people.humans import Choice
from haltpoint.contracts.results import Target
from haltpoint.sync_client import SyncClient
from haltpoint.tools import register


def test_every_name_can_be_imported_from_the_top() -> None:
    assert haltpoint.Choice is Choice
    assert haltpoint.Client is Client
    assert haltpoint.SyncClient is SyncClient
    assert haltpoint.Target is Target
    assert haltpoint.register is register
    assert all(getattr(haltpoint, name) is not None for name in haltpoint.__all__)


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Clients'"):
        _ = haltpoint.Clients
