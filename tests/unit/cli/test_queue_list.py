"""What `haltpoint queue list` says of a queue."""

from types import SimpleNamespace
from typing import Any

from haltpoint.cli.commands.deployment import _print_queue
from haltpoint.runtime.config.errors import CATALOGUE
from haltpoint.runtime.views.queues import QueueState


def test_slots_that_are_held_are_told_with_the_code_of_that() -> None:
    printed = list[str]()
    shell: Any = SimpleNamespace(out=SimpleNamespace(print=lambda text, **_: printed.append(text)))
    _print_queue(shell, QueueState("mails", 0, 1, (), left_over=1, waited=0.0))
    (code,) = (
        one
        for one, words in CATALOGUE.items()
        if words.startswith("Calls that do not end hold the slots")
    )
    assert printed == [
        (
            "mails: 0 waiting, 1 running, 0 resting; 1 of its workers' slots are held by "
            f"calls that do not end ({code})"
        )
    ]
