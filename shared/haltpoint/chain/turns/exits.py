"""The honest ways out of a step or a plan in plain words (CONTRACT C11): a tool's error, and a question to a person."""

import re
from collections.abc import Sequence
from typing import Final

from haltpoint.chain.checks import human_tool
from haltpoint.chain.checks.checked import CheckedCall
from haltpoint.chain.model.next import Next
from haltpoint.chain.model.references import read_json
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import question
from haltpoint.chain.turns.dispatching import send
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.results import ErrorInfo
from haltpoint.contracts.work.thoughts import Proposal

MOST_QUESTIONS: Final = 3
"""Questions in words that one step, or the planning of a chain, may ask."""

LONGEST_QUESTION: Final = 4000
"""Characters of a question; of longer words the end is asked."""

_ENDS: Final = re.compile(r"[.!?…](?=\s)|[。！？](?=.)|\n")
"""Where one sentence ends and another begins."""

_QUESTION: Final = re.compile(r"[?？؟][\s\"'”’»)*_]*\Z")


def is_question(words: str) -> bool:
    """Whether the last sentence of a text is a question."""
    return _QUESTION.search(words) is not None


def is_only_question(words: str) -> bool:
    """Whether a text is one question and says nothing else."""
    return is_question(words) and _ENDS.search(words.strip()) is None


def ask_in_step(work: Work, index: int, proposal: Proposal) -> Next | None:
    """A question of the model in words, for a person, as askHuman would put it; None: asked already or too often."""
    words = proposal.content.strip()[-LONGEST_QUESTION:]
    own = (one for one in work.actions.values() if one.tool == human_tool.NAME and one.step == index)
    asked = [str(read_json(one.arguments).get("question")) for one in own]
    if len(asked) >= MOST_QUESTIONS or _is_known(words, asked):
        return None
    work.begin_turn(index)
    return send(work, CheckedCall(work, index, human_tool.SPEC, {"question": words}))


def ask_while_planning(work: Work, words: str) -> Next | None:
    """A question that the model asks in place of a plan, for a person; None: asked already or too often."""
    words = words.strip()[-LONGEST_QUESTION:]
    if not words or len(work.questions) >= MOST_QUESTIONS or _is_known(words, work.questions):
        return None
    work.questions, work.thought = (*work.questions, words), None
    return question(work, RequestKind.INPUT, None, words)


def _is_known(words: str, asked: Sequence[str]) -> bool:
    wanted = human_tool.asked_in({"question": words})
    return any(human_tool.asked_in({"question": one}) == wanted for one in asked)


def last_error(work: Work, index: int) -> tuple[str, ErrorInfo] | None:
    """Of the last result of each tool of a step the newest that is an error, and whose it is."""
    seen = set[str]()
    for number in range(work.run[index].actions, 0, -1):
        action = work.actions[work.action_id(index, number)]
        if action.tool not in seen and action.outcome is not None and action.outcome.error is not None:
            return action.tool, action.outcome.error
        seen.add(action.tool)
    return None
