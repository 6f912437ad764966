"""The suite's models behind one address: what is said depends on the case that the request names, and nothing else."""

import re
from collections.abc import Iterable
from typing import Any, Final

from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint.evals.case import Case
from haltpoint.evals.suite import kinds
from haltpoint.evals.talk import Talk, reading
from haltpoint.testing.conversation import Conversation
from haltpoint.testing.script import Rule, Say

_CASE: Final = re.compile(r'"case": "([a-z_]+/\d+)"')

CONTEXT: Final = "case"
"""The key of the task's context under which its case is named."""


class Player:
    """Takes the place of a script in the scripted model."""

    model = "suite"

    def __init__(self, cases: Iterable[Case]) -> None:
        self._cases = {case.id: case for case in cases}
        self._goals = {case.goal: case for case in self._cases.values()}

    def next(self, talk: Conversation) -> tuple[int, Rule, dict[str, Any]] | None:
        """What the model of the case says; None when the request names none. A goal is read without its case."""
        if talk.thought == ThoughtKind.INTENT:
            goals = [goal for goal in self._goals if talk.goal.startswith(goal)]
            case = self._goals[max(goals, key=len)] if goals else None
            return (0, Rule(say=Say(content=reading(case, talk.shown))), {}) if case else None
        named = _CASE.search(talk.known)
        case = self._cases.get(named[1]) if named else None
        return (0, Rule(say=kinds.say(Talk(case, talk))), {}) if case else None
