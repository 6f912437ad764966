"""Agents as a chain sees them (CONTRACT I): how one works on a task, and how it hands it on to others.

To hand a task on changes nothing by itself: the calls of the chain that carries it out do, and each is judged there.
So nothing about such a call needs a yes.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from haltpoint.chain.checks.contract import Tools, open_to_models, with_effects
from haltpoint.chain.model.state import Chain
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import action_of, levels_of
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.routing import ROUTE, SUPERVISOR, Strategy
from haltpoint.contracts.work.tasks import MOST_CHAINS, Assignment, Budget, Limits, Mode, Task

MOST_DEEP: Final = 4
"""Chains of agents in one line, the root included."""

LONGEST_TASK: Final = 8000
"""Characters of what an agent is to do, and of what it needs to know for that."""

_STRICTNESS: Final = tuple(Mode)
_TEXT: Final = {"type": "string", "maxLength": LONGEST_TASK}
_CALL: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "task": {**_TEXT, "minLength": 1, "description": "what it is to do"},
        "context": {**_TEXT, "description": "what it needs to know for that"},
    },
    "required": ["task"],
    "additionalProperties": False,
}
"""The parameters of an agent as a tool of a literal plan."""


def assigned_to(task: Task, agents: Agents) -> Task:
    """The task as the agent that it names works on it, with what this one says of mode, style, limits and tools. A name
    that is not in the file changes nothing here: the chain fails when it begins.
    """
    limits = Limits(task.mode, task.style, task.strikes, task.max_turns)
    assigned = replace(task.handed.assigned or Assignment(), limits=limits)
    if (agent := agents.named(task.agent)) is None:
        return replace(task, handed=replace(task.handed, assigned=assigned))
    assigned = replace(assigned, tools=agent.tools)
    return replace(
        task,
        handed=replace(task.handed, assigned=assigned),
        mode=stricter(task.mode, agent.mode or task.mode),
        style=agent.style or task.style,
        strikes=least(task.strikes, agent.strikes),
        max_turns=least(task.max_turns, agent.max_turns),
        budget=narrower(task.budget, agent.budget),
    )


def is_left_open(chain: Chain) -> bool:
    """Whether the task of a root leaves open who works on it."""
    return chain.task.agent is None and action_of(chain.id) is None


def who_routes(chain: Chain, agents: Agents) -> str | None:
    """The supervisor, when there is one and the task leaves open who works on it. A model has nothing to decide where a
    literal plan says all.
    """
    supervisor = agents.supervisor
    if supervisor is None or not is_left_open(chain):
        return None
    by_model = supervisor.strategy is Strategy.LLM
    return None if by_model and chain.task.plan is not None else SUPERVISOR


def stricter(one: Mode, other: Mode) -> Mode:
    """The one of two modes that lets pass less."""
    return min(one, other, key=_STRICTNESS.index)


def least(*limits: Any) -> Any:
    """The smallest limit; None is no limit."""
    return min((one for one in limits if one is not None), default=None)


def narrower(one: Budget, other: Budget) -> Budget:
    """A budget that keeps to both."""
    return Budget(**{name: least(getattr(one, name), getattr(other, name)) for name in Budget.__struct_fields__})


def with_agents(tools: dict[str, ToolSpec], agents: Agents, task: Task) -> dict[str, ToolSpec]:
    """The tools, and how this task's agent hands it on; the same object where it may not. Models do that by `route`
    alone, and a literal plan names agents as tools: there a tool wins over an agent of its name.
    """
    own = agents.named(task.agent)
    if own is None or not own.agents:
        return tools
    named = {agent.name: agent for agent in agents.agents}
    targets = [named[name] for name in own.agents]
    if task.plan is None:
        return {**tools, ROUTE: _route(targets, _inside(targets, named, tools, task), tools)}
    specs = [_as_tool(agent, _inside([agent], named, tools, task), tools) for agent in targets]
    return {**{spec.name: spec for spec in specs}, **tools}


def _inside(targets: Sequence[Agent], named: Mapping[str, Agent], tools: Tools, task: Task) -> tuple[str, ...]:
    """The tools that these agents may call, and those below them."""
    reached = [agent.name for agent in targets]
    for name in reached:  # grows while it is walked
        reached += [other for other in named[name].agents if other not in reached]
    found = set[str]()
    for name in reached:
        handed = replace(task.handed, assigned=Assignment(tools=named[name].tools))
        scope = replace(task, handed=handed)
        found.update(tool for tool, spec in tools.items() if open_to_models(spec, scope))
    return tuple(sorted(found))


def _route(targets: Sequence[Agent], inside: tuple[str, ...], tools: Tools) -> ToolSpec:
    """The tool `route`: its model decides who works on the task."""
    told = "; ".join(_told(agent) for agent in targets)
    properties = {
        "target_agent": {"type": "string", "enum": [agent.name for agent in targets]},
        "task": {**_TEXT, "description": "what it is to do, with all that you found out; without it your goal"},
        "reasoning": {"type": "string", "maxLength": 2000, "description": "why, in one sentence"},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1, "description": "how sure you are"},
    }
    return _handing_on(
        name=ROUTE,
        description=f"Hand the task on to one agent, and wait for what it says. The agents: {told}",
        parameters={
            "type": "object",
            "properties": properties,
            "required": ["target_agent"],
            "additionalProperties": False,
        },
        inside=inside,
        tools=tools,
    )


def _told(agent: Agent) -> str:
    skills = f" (good at: {', '.join(agent.skills)})" if agent.skills else ""
    return f"{agent.name}: {' '.join(agent.description.split())}{skills}"


def _as_tool(agent: Agent, inside: tuple[str, ...], tools: Tools) -> ToolSpec:
    return _handing_on(name=agent.name, description=agent.description, parameters=_CALL, inside=inside, tools=tools)


def _handing_on(
    *, name: str, description: str, parameters: dict[str, Any], inside: tuple[str, ...], tools: Tools
) -> ToolSpec:
    """A tool whose calls are chains of agents. It is read-only when all is that these may call."""
    return ToolSpec(
        name=name,
        kind=ToolKind.AGENT,
        description=description,
        parameters=parameters,
        read_only=not any(with_effects(tools[tool]) for tool in inside),
        idempotent=True,
        queue="",
        inside=inside,
    )


def targets_of(spec: ToolSpec) -> tuple[str, ...]:
    """The agents that a call of `route` may name."""
    return tuple(spec.parameters["properties"]["target_agent"]["enum"])


def goal_in(arguments: Mapping[str, Any]) -> str:
    """The goal that a call gives to an agent, in its caller's words; empty where it gives none."""
    return "\n\n".join(str(arguments[name]).strip() for name in ("task", "context") if arguments.get(name))


def hand_on_fault(work: Work, name: str) -> str | None:
    """Why a task may not be handed on to an agent, in any mode; None when it may."""
    assigned = work.task.handed.assigned
    if levels_of(work.id) + 1 >= MOST_DEEP:
        return f"{name} cannot take it: a task is handed on {MOST_DEEP - 1} times at most. Continue without it."
    if assigned is None or assigned.chains - work.below.chains < 1:
        why = f"of the {MOST_CHAINS} chains of a task none is left for this agent"
        return f"{name} cannot take it: {why}. Continue without it."
    return None
