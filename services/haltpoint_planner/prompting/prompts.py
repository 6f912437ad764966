"""From a context to what the model is asked (C5): one function for each kind of step. Pure."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from haltpoint.chain.model.schemas import text_of
from haltpoint.contracts.work.routing import SUPERVISOR
from haltpoint.contracts.work.thoughts import DOES_NOT_FIT, ThoughtKind
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint_planner.exchange import Prompt
from haltpoint_planner.own_messages import Own
from haltpoint_planner.prompting.context import Context, Question
from haltpoint_planner.prompting.conversation import joined, messages
from haltpoint_planner.prompting.plan import bounds, plan
from haltpoint_planner.prompting.results import DATA, fill
from haltpoint_planner.prompting.steps import answer, due_turn, free_turn, routing_turn
from haltpoint_planner.prompting.tool_forms import form_of
from haltpoint_planner.prompting.turns import place_of

_SIGNS: Final = 3
"""Characters of a token, carefully: JSON and ids have fewer than words."""

_PART: Final = 3
"""The provider's own messages may have this part of a prompt."""

_KINDS: Final[dict[ThoughtKind, Callable[[Context], Question]]] = {
    ThoughtKind.BOUNDS: bounds,
    ThoughtKind.PLAN: plan,
    ThoughtKind.ACT: due_turn,
    ThoughtKind.REASON: free_turn,
    ThoughtKind.ROUTE: routing_turn,
    ThoughtKind.ANSWER: answer,
}


def build(context: Context) -> Prompt:
    """The prompt for a thought. Results have the room that all else leaves: they are cut, and the
    oldest left out, until they fit.

    Raises HaltpointError HP-312 when they have none.
    """
    most = context.room * _SIGNS
    context = replace(context, owned=_newest(context, most // _PART))
    question = _question(context)
    forms = list(map(form_of, question.tools.values()))
    spoken = list(messages(question, context))
    sizes = [len(text_of({**message, DATA: ""})) for message in spoken]
    room = most - sum([*sizes, len(repr(question.schema)), *(form.weight for form in forms)])
    if room < 0:
        raise HaltpointError(
            DOES_NOT_FIT,
            "the prompt does not fit into the model's context",
            f"goal, tools and rules alone have some {(most - room) // _SIGNS} tokens, and "
            f"{context.room} may be used",
            "Use a model with a larger context (HALTPOINT_MODEL__CONTEXT), or give the task fewer "
            "tools",
        )
    fill(spoken, room)
    tools = tuple(form.native for form in forms)
    force = question.is_due and context.is_strict and bool(tools)
    return Prompt(joined(spoken), tools, force, question.schema)


def _question(context: Context) -> Question:
    """The question of its kind, behind the own prompt of an agent. What the runtime wants to know
    of the goal is no agent's business.
    """
    kind = context.request.kind
    agent = context.agent
    is_turn = kind in (ThoughtKind.ACT, ThoughtKind.REASON)
    routes = is_turn and context.task.agent == SUPERVISOR
    question = routing_turn(context) if routes else _KINDS[kind](context)
    if agent is None or not agent.prompt or kind is ThoughtKind.BOUNDS:
        return question
    return replace(question, system=f"{agent.prompt}\n\n{question.system}")


def _newest(context: Context, room: int) -> dict[str, Own]:
    """The newest of the own messages that have room, those of this step before others: they may
    have long thoughts. Of the older ones the calls remain.
    """
    step = f"{context.request.step_id}."
    newest: dict[str, Own] = {}
    names = sorted(context.owned, key=lambda name: (name.startswith(step), place_of(name)))
    for name in reversed(names):
        own = context.owned[name]
        room -= len(json.dumps(own.message))
        if room < 0:
            break
        newest[name] = own
    return newest
