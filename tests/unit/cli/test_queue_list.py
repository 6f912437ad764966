"""What `haltpoint queue list` says of a queue."""

from haltpoint.cli.commands.operating import held_up
from haltpoint.contracts.views.deployment import QueueState
from haltpoint.runtime.config.errors import CATALOGUE


def test_slots_that_are_held_are_told_with_the_code_of_that() -> None:
    (code,) = (
        one
        for one, words in CATALOGUE.items()
        if words.startswith("Calls that do not end hold the slots")
    )
    assert held_up(QueueState("mails", 0, 1, (), left_over=1, waited=0.0)) == (
        f"1 of its workers' slots are held by calls that do not end ({code})"
    )
