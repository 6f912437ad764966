"""Long stories over real processes: `make stories`. Short ones are in tests/e2e."""

from tests.e2e.conftest import client, receiver

__all__ = ["client", "receiver"]
