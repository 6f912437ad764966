"""What a thought costs: by the price table, per million tokens in and out."""

import pytest

from haltpoint.contracts.policy import Price
from haltpoint.contracts.work.thoughts import Usage
from haltpoint_planner.handlers import priced

PRICES = {"large": Price(input=2.5, output=10.0)}


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (Usage(1_000_000, 0, "large"), 2.5),
        (Usage(2000, 300, "large"), 0.008),
        (Usage(2000, 300, "unknown"), 0.0),
    ],
)
def test_a_thought_costs_its_tokens_by_the_table(usage: Usage, cost: float) -> None:
    assert priced(usage, PRICES).cost == pytest.approx(cost)
