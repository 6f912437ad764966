"""How long hostile words take to read grows with their length, not with its square. Time decides:
not for the gate.
"""

import time
from collections.abc import Callable

import pytest

from haltpoint.chain.checks.bounds import bounds_of
from haltpoint.runtime.config import policy_file

pytestmark = pytest.mark.xdist_group("growth")
SHORT, LONG = 4096, 32_760
PATTERNS = tuple(
    pattern.model_copy(update={"on": True}) for pattern in policy_file.read(None).patterns
)
SERVED = ("write_file", "query_database", "run_skill")


def times_as_long(read: Callable[[str], object], unit: str) -> float:
    """How many times as long eight times the words take: 8 in proportion, 64 by the square. The
    best of five each.
    """

    def took(length: int) -> float:
        words, began = (unit * length)[:length], time.process_time()
        read(words)
        return time.process_time() - began

    return min(took(LONG) for _ in range(5)) / max(min(took(SHORT) for _ in range(5)), 0.001)


@pytest.mark.parametrize(
    "unit",
    [
        "bis ich ",
        "let me ",
        "before ask me ",
        "frag mich\n",
        "wait until ",
        "\n",
        " \n",
        "write a ",
        "find in the ",
        "'",
    ],
)
def test_c2_searching_the_shipped_patterns(unit: str) -> None:
    assert times_as_long(lambda words: list(bounds_of(PATTERNS, words, "", SERVED, ())), unit) < 20
