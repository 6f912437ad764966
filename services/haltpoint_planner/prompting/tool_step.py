"""A turn in which something is due (C9, C10): the strict form is asked for, and both ways are shown
alike.
"""

from collections.abc import Iterator
from typing import Final

from haltpoint.chain.checks.knowledge import GOAL, origin_tools
from haltpoint.contracts.tools import ToolSpec
from haltpoint_planner.prompting.about import named, step_in, with_goal
from haltpoint_planner.prompting.context import Context
from haltpoint_planner.prompting.examples import RULES
from haltpoint_planner.prompting.question import Question

_ACTOR: Final = f"""\
You carry out one step of a plan by calling tools. Only a call does something; describing or announcing it does nothing.
Call one tool, wait for its result, then decide about the next call.

{RULES}
Where end_step is among the tools and the step cannot be done, or the results show that it need not be, call end_step
with the outcome "impossible" or "not_needed" and the reason, for the user."""

OPEN: Final = f"""\
You reach the user's goal by calling tools. Only a call does something; describing or announcing it does nothing.
Call one tool, wait for its result, then decide about the next call. When nothing is due any more and the goal is
reached, answer the user in plain words, in their language, and call nothing.

{RULES}
Where end_step is among the tools and what is still due cannot be done, or the results show that it need not be, call
end_step with the outcome "impossible" or "not_needed" and the reason, for the user."""


def question(context: Context) -> Question:
    """The step, and what is due in it."""
    due = with_goal(context, " ".join(_due(context)))
    task = context.task
    system = OPEN if task.open_ended else _ACTOR
    return Question(system, step_in(context), due, context.tools, is_due=True)


def _due(context: Context) -> Iterator[str]:
    """What the step still needs, with the other way out where there is one."""
    denied = {receipt.tool for receipt in context.receipts if receipt.is_denied}
    due = tuple(promise for promise in context.request.due if denied.isdisjoint(promise))
    if due:
        yield f"Still to be called: {named(due)}."
    if denied:
        yield f"A person has said no to {', '.join(sorted(denied))}: it is not called again."
    if context.has_just_failed:
        yield "The last call failed; the same call would fail again."
    for name in context.missing:
        if name in context.tools and name not in denied:
            yield from _origins(context, context.tools[name])
    if context.request.may_end:
        yield "If it cannot or need not be done, call end_step."


def _origins(context: Context, spec: ToolSpec) -> Iterator[str]:
    """Where the ids of a call come from."""
    answered = {receipt.tool for receipt in context.receipts if receipt.outcome.satisfies}
    for place, origins in spec.provenance.items():
        tools = origin_tools(origins)
        if GOAL in origins or not answered.isdisjoint(tools):
            yield f"Copy {place} of {spec.name} exactly as it stands."
        elif not context.task.context:
            yield f"{place} of {spec.name} is found by {' or '.join(tools)}."
