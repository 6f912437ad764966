"""Which hosts no proxy leads to."""

import pytest

from haltpoint.runtime.config.addresses import is_this_machine


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST",
        "localhost.",
        "models.localhost",
        "127.0.0.1",
        "127.8.9.1",
        "::1",
        "0:0:0:0:0:0:0:1",
        "0.0.0.0",
        "::",
    ],
)
def test_this_machine_is_known_by_all_its_names(host: str) -> None:
    assert is_this_machine(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "notlocalhost",
        "localhost.example",
        "127.0.0.1.example",
        "10.0.0.1",
        "192.168.1.1",
        "128.1",
        "::2",
        "::ffff:10.0.0.1",
        "models",
        "xn--localhost",
        "\x00",
        "gateway.internal",
    ],
)
def test_another_machine_is_not_taken_for_this_one(host: str) -> None:
    assert not is_this_machine(host)
