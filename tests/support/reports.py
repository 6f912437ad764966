"""What a test reports, so that the process which prints it can be sent it.

Test processes send their reports as plain values with text in UTF-8. One report that holds anything
else ends the whole run by INTERNALERROR: half a surrogate pair in a text that is compared is
enough, or a property that is an object.
"""

from collections.abc import Generator
from typing import Any

import pytest
from _pytest._io.saferepr import saferepr


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """A report as plain values."""
    return plain((yield))


def plain(value: Any) -> Any:
    """The same in plain values: half surrogate pairs as escapes, an object as Python shows it."""
    if value is None or type(value) in (bool, int, float, bytes):
        return value
    if isinstance(value, str):
        return str.__str__(value).encode(errors="backslashreplace").decode()
    if isinstance(value, dict):
        return {plain(name): plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    return plain(saferepr(value))
