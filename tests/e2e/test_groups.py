"""The system starts once for all of its tests."""

import os

import pytest

from tests.e2e.running import Running


def test_all_tests_of_the_system_share_a_process(
    system: Running, request: pytest.FixtureRequest
) -> None:
    is_shared = "PYTEST_XDIST_WORKER" in os.environ
    assert request.node.nodeid.endswith("@system") == is_shared
