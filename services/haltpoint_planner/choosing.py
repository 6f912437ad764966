"""Many tools: before a thought shows them all, the model picks a few by name and description. Part of that thought.

The pick only narrows what a prompt shows. What may be called the executor decides, as ever: a call of a tool that was
not picked is no violation. What is sure to be needed is not up to the pick (`kept`).
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Final

import msgspec

from haltpoint.chain.checks import human_tool
from haltpoint.chain.checks.sources import tools_of
from haltpoint.contracts.base import MAX_BODY
from haltpoint.contracts.tools import ToolKind
from haltpoint.contracts.work.thoughts import Correction, ThoughtKind, Usage, Violation
from haltpoint_planner.drafting import take_apart
from haltpoint_planner.parsing.dialects import bare_name, fields
from haltpoint_planner.parsing.json_text import without_surrogates
from haltpoint_planner.parsing.replies import Reply
from haltpoint_planner.prompting.context import Context
from haltpoint_planner.prompting.prompts import offered
from haltpoint_planner.prompting.tool_forms import MOST_CHOSEN
from haltpoint_planner.thoughts import words_of

MANY: Final = 20
"""Tools that a prompt shows without a choice."""

_NARROWED: Final = frozenset({ThoughtKind.PLAN, ThoughtKind.ACT, ThoughtKind.REASON, ThoughtKind.ROUTE})
_FORM: Final = 'Answer with one JSON object and nothing else: {"tools": ["<name>", ...]}. Only names from the list.'


async def narrowed(context: Context, ask: Callable[[Context], Awaitable[Reply]]) -> tuple[Context, Usage]:
    """The context with the tools that its model picks, and the usage of the pick; as it is where there are few tools,
    where the agent does not choose, and where the pick cannot be read twice. Raises as `ask` does.
    """
    agent, sure = context.agent, kept(context)
    open_to_choice = {name: spec for name, spec in context.tools.items() if name not in sure}
    chooses = agent is not None and agent.choose and context.request.kind in _NARROWED and not context.request.forced
    if not chooses or len(offered(context)) <= MANY or len(open_to_choice) <= MOST_CHOSEN:
        return context, Usage()
    request = msgspec.structs.replace(context.request, kind=ThoughtKind.CHOOSE, attempt=1, corrections=())
    about, used = replace(context, request=request, tools=open_to_choice), Usage()
    for _ in range(2):
        reply = await ask(about)
        used = together(used, reply.usage)
        if (names := chosen(reply, about)) is not None:
            shown = {name: spec for name, spec in context.tools.items() if name in sure or name in names}
            return replace(context, tools=shown), used
        correction = Correction(violation=Violation.UNREADABLE, message=_FORM)
        again = msgspec.structs.replace(request, attempt=2, corrections=(correction,), answered=None)
        about = replace(about, request=again, previous=words_of(reply))
    return context, used


def kept(context: Context) -> frozenset[str]:
    """The tools that are not up to a pick: those that the step requires, that the goal asks for or that a correction
    names, with those that their ids come from; agents, and whom to ask.
    """
    asked = tuple(glob for entry in context.asked for glob in entry.tools)
    corrected = {one.tool for one in context.request.corrections}
    promised = context.step.promised_tools if context.step else ()
    named = {
        name
        for name, spec in context.tools.items()
        if name in promised
        or name in corrected
        or spec.kind is ToolKind.AGENT
        or any(fnmatchcase(name, glob) for glob in asked)
    }
    origins = (origins for name in named for origins in context.tools[name].provenance.values())
    return frozenset({*named, human_tool.NAME, *(tool for each in origins for tool in tools_of(each))})


def chosen(reply: Reply, context: Context) -> frozenset[str] | None:
    """The tools that a reply picks of those in the context; None when it holds no list of them. An empty list says that
    none is needed.
    """
    if len(reply.content) > MAX_BODY:
        return None
    values = (found.value for found in take_apart(without_surrogates(reply.content)).values)
    lists = (fields(value).get("tools") if isinstance(value, dict) else value for value in values)
    names = next((one for one in lists if isinstance(one, list)), None)
    if names is None:
        return None
    given = (bare_name(name) for name in names if isinstance(name, str))
    known = [name for name in given if name in context.tools]
    return frozenset(known[:MOST_CHOSEN]) if known or not names else None


def together(one: Usage, other: Usage) -> Usage:
    """The usage of two questions to one model."""
    return Usage(
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        model=other.model or one.model,
        cost=one.cost + other.cost,
    )
