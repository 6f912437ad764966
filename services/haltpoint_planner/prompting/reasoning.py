"""A turn in which nothing is due (C4): words end it, tools may be called, but for the last turn
(D2).
"""

from typing import Final

from haltpoint_planner.prompting.about import step_in, with_goal
from haltpoint_planner.prompting.context import Context
from haltpoint_planner.prompting.examples import RULES
from haltpoint_planner.prompting.question import Question
from haltpoint_planner.prompting.tool_step import OPEN

_THINKER: Final = f"""\
You carry out one step of a plan by thinking: compare, weigh, conclude or put into words what the earlier results hold.
Answer in plain words. Do not claim that anything was done which no result shows. A tool is rarely needed here.

{RULES}
Example of an answer. Step: say whether ten people fit. You: Yes, the blue room has 12 seats."""

_THINK: Final = "Answer in plain words. If something is missing that a tool can find out, call it."
_GO_ON: Final = (
    "If the goal is reached, tell the user so in plain words, without JSON. Otherwise call the next "
    "tool; ids that it needs are looked up first."
)
_IN_WORDS: Final = "Answer in plain words: no tool can be called any more."


def question(context: Context) -> Question:
    """The step, for words or for a call."""
    system, last = _THINKER, _THINK
    if context.task.open_ended:
        system, last = OPEN, _GO_ON
    if context.request.in_words:
        last = _IN_WORDS
    end = with_goal(context, last)
    return Question(system, step_in(context), end, context.tools)
