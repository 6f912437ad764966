"""The suite's models behind one address: what is said depends on the case that the request names, and nothing else."""

import re
from typing import Any, Final

from haltpoint.contracts.thoughts import ThoughtKind
from haltpoint.evals import kinds
from haltpoint.evals.talk import Talk
from haltpoint.testing.script import Conversation, Rule, reads

_CASE: Final = re.compile(r'"case": "([a-z_]+)/(\d+)"')

CONTEXT: Final = "case"
"""The key of the task's context under which its case is named."""


class Player:
    """Takes the place of a script in the scripted model."""

    model = "suite"

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def next(self, talk: Conversation) -> tuple[int, Rule, dict[str, Any]] | None:
        """What the model of the case says; None when the request names none."""
        if talk.thought == ThoughtKind.INTENT:
            return 0, Rule(say=reads(talk, talk.shown)), {}
        named = _CASE.search(talk.known)
        if named is None or named[1] not in kinds.KINDS:
            return None
        number = int(named[2])
        return number, Rule(say=kinds.say(Talk(kinds.build(self._seed, named[1], number), talk))), {}
