"""From a context to what the model is asked (C5): one file for each kind of step. Pure."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from haltpoint.contracts.work.routing import SUPERVISOR
from haltpoint.contracts.work.thoughts import DOES_NOT_FIT, ThoughtKind
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint_planner.exchange import Prompt
from haltpoint_planner.own_messages import Own
from haltpoint_planner.prompting import answer, bounds, plan, reasoning, routing, tool_step
from haltpoint_planner.prompting.context import Context
from haltpoint_planner.prompting.results import taken
from haltpoint_planner.prompting.tool_forms import weight_of
from haltpoint_planner.prompting.turns import place_of

_SIGNS: Final = 3
"""Characters of a token, carefully: JSON and ids have fewer than words."""

_PART: Final = 3
"""The provider's own messages may have this part of a prompt."""

_KINDS: Final[dict[ThoughtKind, Callable[[Context], Prompt]]] = {
    ThoughtKind.BOUNDS: bounds.prompt,
    ThoughtKind.PLAN: plan.prompt,
    ThoughtKind.ACT: tool_step.prompt,
    ThoughtKind.REASON: reasoning.prompt,
    ThoughtKind.ROUTE: routing.prompt,
    ThoughtKind.ANSWER: answer.prompt,
}


def build(context: Context) -> Prompt:
    """The prompt for a thought. Results are cut, and the oldest left out, until it has room.

    Raises HaltpointError HP-312 when it has none without any result either.
    """
    most = context.room * _SIGNS
    context = replace(context, owned=_newest(context, most // _PART))
    whole = _built(context, most)
    left = most - _forms_of(whole, context) - _said(whole)
    if left >= 0:
        return whole
    room = left + taken(context.receipts, most)
    if room < 0:
        raise HaltpointError(
            DOES_NOT_FIT,
            "the prompt does not fit into the model's context",
            f"goal, tools and rules alone have some {(most - room) // _SIGNS} tokens, and "
            f"{context.room} may be used",
            "Use a model with a larger context (HALTPOINT_MODEL__CONTEXT), or give the task fewer "
            "tools",
        )
    return _built(context, room)


def _newest(context: Context, room: int) -> dict[str, Own]:
    """The newest of the own messages that have room, those of this step before others: they may
    have long thoughts. Of the older ones the calls remain.
    """
    step, newest = f"{context.request.step_id}.", dict[str, Own]()
    ordered = sorted(context.owned, key=lambda name: (name.startswith(step), place_of(name)))
    for name in reversed(ordered):
        room -= len(json.dumps(context.owned[name].message))
        if room < 0:
            break
        newest[name] = context.owned[name]
    return newest


def _built(context: Context, room: int) -> Prompt:
    """The prompt, with results in so many characters, behind the own prompt of an agent. What the
    runtime wants to know of the goal is no agent's business.
    """
    kind, agent = context.request.kind, context.agent
    is_turn = kind in (ThoughtKind.ACT, ThoughtKind.REASON)
    routes = is_turn and context.task.agent == SUPERVISOR
    make = routing.prompt if routes else _KINDS[kind]
    prompt = make(replace(context, for_results=room))
    if agent is None or not agent.prompt or kind is ThoughtKind.BOUNDS:
        return prompt
    system, *rest = prompt.messages
    content = f"{agent.prompt}\n\n{system['content']}"
    own = {**system, "content": content}
    return replace(prompt, messages=(own, *rest))


def _forms_of(prompt: Prompt, context: Context) -> int:
    if prompt.tools:
        return weight_of(context.tools.values())
    return len(json.dumps(prompt.schema, ensure_ascii=False))


def _said(prompt: Prompt) -> int:
    """Characters of the messages, with all that a provider keeps in its own."""
    rest = [{**message, "content": ""} for message in prompt.messages]
    contents = [str(message.get("content") or "") for message in prompt.messages]
    return sum(map(len, contents)) + len(repr(rest))
