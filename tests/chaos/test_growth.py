"""How long hostile words take to read grows with their length, not with its square. Time decides: not for the gate."""

import time
from collections.abc import Callable

import pytest

from haltpoint.chain.words.patterns import conditions_of, required_by_words
from haltpoint.chain.words.patterns_english import PATTERNS
from tests.unit.chain.test_conditions import TOOLS
from tests.unit.chain.test_patterns import SERVED

pytestmark = pytest.mark.xdist_group("growth")
SHORT, LONG = 4096, 32_760


def times_as_long(read: Callable[[str], object], unit: str) -> float:
    """How many times as long eight times the words take: 8 in proportion, 64 by the square. The best of five each."""

    def took(length: int) -> float:
        words, began = (unit * length)[:length], time.process_time()
        read(words)
        return time.process_time() - began

    return min(took(LONG) for _ in range(5)) / max(min(took(SHORT) for _ in range(5)), 0.001)


@pytest.mark.parametrize(
    "unit",
    [
        "bis ich ",
        "warte lass mich ",
        "before ask me ",
        "do not ",
        "schreib ",
        "frag mich\n",
        "send no ",
        "\n",
        " \n",
        "> a\n",
    ],
)
def test_c2_reading_conditions(unit: str) -> None:
    assert times_as_long(lambda words: conditions_of(words, PATTERNS, TOOLS), unit) < 20


@pytest.mark.parametrize(
    "unit", ["write a ", "write the results to a ", "please ", "find x in the ", "a and ", "'", "you to "]
)
def test_c2_reading_what_a_goal_asks_for(unit: str) -> None:
    assert times_as_long(lambda words: required_by_words(words, "", PATTERNS, SERVED), unit) < 20
