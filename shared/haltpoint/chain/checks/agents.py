"""Agents as a chain sees them (CONTRACT I): how one works on a task, and those that it may hand a task on to as tools.

A call of an agent changes nothing by itself: the calls of the chain that carries it out do, and each is judged there.
So nothing about such a call needs a yes. An equal one gets the receipt that there is.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from haltpoint.chain.checks.contract import Tools, open_to_models, with_effects
from haltpoint.chain.model.state import Chain, Routing
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import action_of, levels_of
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.routing import SUPERVISOR, Strategy, Supervisor
from haltpoint.contracts.work.tasks import MOST_CHAINS, Assignment, Budget, Limits, Mode, Task
from haltpoint.contracts.work.thoughts import Proposal

MOST_DEEP: Final = 4
"""Chains of agents in one line, the root included."""

LONGEST_TASK: Final = 8000
"""Characters of what an agent is to do, and of what it needs to know for that."""

_STRICTNESS: Final = tuple(Mode)
_PARAMETERS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "task": {"type": "string", "minLength": 1, "maxLength": LONGEST_TASK, "description": "what it is to do"},
        "context": {"type": "string", "maxLength": LONGEST_TASK, "description": "what it needs to know for that"},
    },
    "required": ["task"],
    "additionalProperties": False,
}


def assigned_to(task: Task, agents: Agents) -> Task:
    """The task as the agent that it names works on it, with what this one says of mode, style, limits and tools. A name
    that is not in the file changes nothing here: the chain fails when it begins.
    """
    limits = Limits(task.mode, task.style, task.strikes, task.max_turns)
    assigned = replace(task.assigned or Assignment(), limits=limits)
    if (agent := agents.named(task.agent)) is None:
        return replace(task, assigned=assigned)
    return replace(
        task,
        assigned=replace(assigned, tools=agent.tools),
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
    """The tools, and as tools the agents that this task's agent may hand it on to; the same object without any. A tool
    wins over an agent of its name: what is said of the tool must not be lost.
    """
    own = agents.named(task.agent)
    if own is None or not own.agents:
        return tools
    named, calls = {one.name: one for one in agents.agents}, dict[str, set[str]]()
    for name in (reached := [*own.agents]):  # grows while it is walked
        scope = replace(task, assigned=Assignment(tools=named[name].tools))
        calls[name] = {tool for tool, spec in tools.items() if open_to_models(spec, scope)}
        reached += [other for other in named[name].agents if other not in reached]
    return {**{name: _spec(named[name], tools, named, calls) for name in own.agents}, **tools}


def _spec(agent: Agent, tools: Tools, named: Mapping[str, Agent], calls: Mapping[str, set[str]]) -> ToolSpec:
    """An agent as a tool. It is read-only when all is that it may call, the agents below it included; `calls` has that
    for each agent alone.
    """
    for name in (below := [agent.name]):  # grows while it is walked
        below += [other for other in named[name].agents if other not in below]
    found = set[str]().union(*(calls[name] for name in below))
    return ToolSpec(
        name=agent.name,
        kind=ToolKind.AGENT,
        description=agent.description,
        parameters=_PARAMETERS,
        read_only=not any(with_effects(tools[name]) for name in found),
        idempotent=True,
        queue="",
        inside=tuple(sorted(found)),
    )


def goal_in(arguments: Mapping[str, Any]) -> str:
    """The goal that a call of an agent gives, in its caller's words."""
    return "\n\n".join(str(arguments[name]).strip() for name in ("task", "context") if arguments.get(name))


def hand_on_fault(work: Work, name: str) -> str | None:
    """Why a task may not be handed on to an agent, in any mode; None when it may."""
    assigned = work.task.assigned
    if levels_of(work.id) + 1 >= MOST_DEEP:
        return f"{name} cannot take it: a task is handed on {MOST_DEEP - 1} times at most. Continue without it."
    if assigned is None or assigned.chains - work.below.chains < 1:
        why = f"of the {MOST_CHAINS} chains of a task none is left for this agent"
        return f"{name} cannot take it: {why}. Continue without it."
    return None


# ---- a supervisor's model (I2) ---------------------------------------------------------------------------------------

DECISION: Final = (
    '{"target_agents": ["<name>"], "task": "<what it is to do, with all that you found out>", '
    '"reasoning": "<why, in one sentence>", "confidence": <from 0 to 1: how sure you are>}'
)
"""The form of a decision, as the model reads it."""


def router(work: Work) -> Supervisor | None:
    """What the file says of the supervisor, where its model routes the task; None: no model does that here."""
    routes = work.task.agent == SUPERVISOR and work.origin is PlanOrigin.REACT
    return work.world.agents.supervisor if routes else None


def progress(work: Work) -> Routing:
    """How far a supervisor's model has come."""
    return work.routing or Routing()


def must_decide(work: Work) -> bool:
    """Whether the supervisor's model has used up its rounds of tools."""
    said = router(work)
    return said is not None and progress(work).rounds >= said.max_tool_retries


def undecided(work: Work) -> bool:
    """Whether a supervisor's model has handed the task on to no agent yet, and has done nothing of it by itself."""
    if router(work) is None or progress(work).decisions:
        return False
    return not any(one.satisfies and with_effects(work.world.spec(one.tool)) for one in work.actions.values())


def decided(work: Work, proposal: Proposal) -> tuple[ProposedCall, ...]:
    """The calls of a proposal that are its decision: the first of each agent that it names, or else calls."""
    if router(work) is None:
        return ()
    said, first = proposal.routing, dict[str, ProposedCall]()
    for one in proposal.calls:
        if one.tool in said.targets if said else work.world.spec(one.tool).kind is ToolKind.AGENT:
            first.setdefault(one.tool, one)
    return tuple(first.values())
