"""Agents as a chain sees them (CONTRACT I): how one works on a task, and how it hands it on to
others.

To hand a task on changes nothing by itself: the calls of the chain that carries it out do, and each
is judged there. So nothing about such a call needs a yes.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from json import dumps
from typing import Any, Final

from msgspec.structs import astuple, replace

from haltpoint.chain.checks.bounds import found_in
from haltpoint.chain.checks.plans import open_to_models, with_effects
from haltpoint.chain.model.limits import Tools
from haltpoint.chain.model.references import reached
from haltpoint.chain.model.state import Chain
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import JsonObject, action_of, levels_of, value
from haltpoint.contracts.events import ActionProposed, ThoughtFailed
from haltpoint.contracts.people.phrases import count
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.routing import ROUTE, SUPERVISOR, Rule, Strategy, Supervisor
from haltpoint.contracts.work.tasks import (
    MOST_CHAINS,
    Assignment,
    Budget,
    Handed,
    Mode,
    Task,
)
from haltpoint.contracts.work.thoughts import Proposal

MOST_DEEP: Final = 4
"""Chains of agents in one line, the root included."""

LONGEST_TASK: Final = 8000
"""Characters of what an agent is to do."""

_STRICTNESS: Final = tuple(Mode)
_TASK: Final = {"type": "string", "maxLength": LONGEST_TASK, "description": "what it is to do"}
_DECISION: Final = {
    "task": {
        **_TASK,
        "description": "what it is to do, with all that you found out; without it your goal",
    },
    "reasoning": {"type": "string", "maxLength": 2000, "description": "why, in one sentence"},
    "confidence": {"type": "number", "minimum": 0, "maximum": 1, "description": "how sure you are"},
}
"""What a call of `route` says beside the agent."""


def assigned_to(task: Task, agents: Agents) -> Task:
    """The task as the agent that it names works on it, with what this one says of mode, style,
    limits and tools. With a name that is not in the file the chain fails when it begins.
    """
    agent = agents.named(task.agent)
    if agent is None:
        return task
    assigned = replace(task.handed.assigned or Assignment(), tools=agent.tools)
    limits = map(_least, astuple(task.budget), astuple(agent.budget))
    return replace(
        task,
        handed=replace(task.handed, assigned=assigned),
        mode=min(task.mode, agent.mode or task.mode, key=_STRICTNESS.index),
        style=agent.style or task.style,
        strikes=_least(task.strikes, agent.strikes),
        max_turns=_least(task.max_turns, agent.max_turns),
        budget=Budget(*limits),
    )


def is_left_open(chain: Chain) -> bool:
    """Whether the task of a root leaves open who works on it."""
    return chain.task.agent is None and action_of(chain.id) is None


def strategy_for(chain: Chain, agents: Agents) -> Strategy | None:
    """How it is decided who works on the task; None: it says so, or there is no supervisor. A model
    has nothing to decide where a literal plan says all.
    """
    supervisor = agents.supervisor
    if supervisor is None or not is_left_open(chain):
        return None
    by_model = supervisor.strategy is Strategy.LLM
    return None if by_model and chain.task.plan is not None else supervisor.strategy


def _least(*limits: Any) -> Any:
    """The smallest limit; None is no limit."""
    return min((limit for limit in limits if limit is not None), default=None)


def with_agents(tools: dict[str, ToolSpec], agents: Agents, task: Task) -> dict[str, ToolSpec]:
    """The tools, and how this task's agent hands it on; the same object where it may not. Models do
    that by `route` alone, and a literal plan names agents as tools: there a tool wins over an agent
    of its name.
    """
    own = agents.named(task.agent)
    if own is None or not own.agents:
        return tools
    named = {agent.name: agent for agent in agents.agents}
    targets = [named[name] for name in own.agents]
    if task.plan is None:
        about = "; ".join(f"{agent.name}: {_about(agent)}" for agent in targets)
        words = f"Hand the task on to one agent, and wait for what it says. The agents: {about}"
        properties = {"target_agent": {"type": "string", "enum": [*own.agents]}, **_DECISION}
        inside = _inside(own.agents, named, tools, task)
        return {**tools, ROUTE: _handing_on(ROUTE, words, properties, inside, tools)}
    calls = dict[str, ToolSpec]()
    for agent in targets:
        name = agent.name
        inside = _inside((name,), named, tools, task)
        calls[name] = _handing_on(name, agent.description, {"task": _TASK}, inside, tools)
    return {**calls, **tools}


def _inside(
    names: Iterable[str], named: Mapping[str, Agent], tools: Tools, task: Task
) -> list[str]:
    """The tools that agents may call, and those below them."""
    inside = set[str]()
    for name in reached(names, lambda name: named[name].agents):
        assigned = Assignment(tools=named[name].tools)
        scope = replace(task, handed=Handed(assigned=assigned))
        inside.update(tool for tool, spec in tools.items() if open_to_models(spec, scope))
    return sorted(inside)


def _about(agent: Agent) -> str:
    """What the model that decides reads of an agent."""
    words = " ".join(agent.description.split())
    if not agent.skills:
        return words
    return f"{words} (good at: {', '.join(agent.skills)})"


def _handing_on(
    name: str, description: str, properties: JsonObject, inside: list[str], tools: Tools
) -> ToolSpec:
    """A tool whose calls are chains of agents. It is read-only when all is that these may call. The
    first of its parameters is required.
    """
    parameters = {
        "type": "object",
        "properties": properties,
        "required": [next(iter(properties))],
        "additionalProperties": False,
    }
    return ToolSpec(
        name=name,
        kind=ToolKind.AGENT,
        description=description,
        parameters=parameters,
        read_only=not any(with_effects(tools[tool]) for tool in inside),
        idempotent=True,
        queue="",
        inside=tuple(inside),
    )


def hand_on_fault(work: Work, name: str) -> str | None:
    """Why a task may not be handed on to an agent, in any mode; None when it may."""
    assigned = work.task.handed.assigned or Assignment(chains=0)
    why = None
    if levels_of(work.id) + 1 >= MOST_DEEP:
        why = f"a task can be handed on at most {MOST_DEEP - 1} times"
    elif assigned.chains <= work.below.spent.chains:
        why = f"of the {MOST_CHAINS} chains of a task none is left for this agent"
    return why and f"{name} cannot take it: {why}. Continue without it."


# ---- how far a supervisor's model has come (I2, I3)


def router(work: Work) -> Supervisor | None:
    """What the file says of the supervisor, where its model routes the task; None: no model does
    that here.
    """
    if work.task.agent != SUPERVISOR or not work.is_open:
        return None
    return work.world.agents.supervisor


def must_route(work: Work) -> bool:
    """Whether the supervisor's model has used up its rounds of tools."""
    supervisor = router(work)
    return supervisor is not None and work.below.rounds >= supervisor.max_tool_retries


def route_in(proposal: Proposal) -> ProposedCall | None:
    """The call of a proposal that hands the task on; all others beside it never run."""
    return next((call for call in proposal.calls if call.tool == ROUTE), None)


# ---- strategies that ask no model (I3)

_WORD: Final = re.compile(r"\w[\w+#]*")

Counts = Mapping[str, int]
"""The open chains of each agent, by its name."""


@value
class Choice:
    """Whom a strategy finds (None: the agent without a name), why, and how sure that is, from 0 to
    1. `rule` is the id of the one that fits.
    """

    target_agent: str | None
    reasoning: str
    confidence: float = 1.0
    rule: str | None = None


def by_rule(task: Task, agents: Agents, _counts: Counts, _n: int) -> Choice:
    """The agent of the first rule that fits, in the order of the file."""
    rules = () if agents.supervisor is None else agents.supervisor.rules
    for rule in rules:
        reason = _fits(task, rule)
        if reason is not None:
            return Choice(rule.agent, f"the rule {rule.id} fits: {reason}", rule=rule.id)
    return fallback(agents, "no rule fits")


def by_skill(task: Task, agents: Agents, _counts: Counts, _n: int) -> Choice:
    """The agent with the most of its skill words in the goal; of several the first of the file."""
    words = _words(task.goal)
    best = fallback(agents, "the goal names no skill of an agent")
    most = 0
    for agent in agents.choices:
        skills = [skill for skill in agent.skills if _words(skill) <= words]
        if len(skills) > most:
            most = len(skills)
            spoken_of = f"the goal mentions {', '.join(skills)}"
            best = Choice(agent.name, spoken_of, most / len(agent.skills))
    return best


def in_turn(_task: Task, agents: Agents, _counts: Counts, n: int) -> Choice:
    """The agent whose turn it is; the first task has number 1."""
    agent = agents.choices[(n - 1) % len(agents.choices)]
    return Choice(agent.name, f"{agent.name} is next in turn: task {n}")


def by_load(_task: Task, agents: Agents, counts: Counts, n: int) -> Choice:
    """The agent with the fewest open chains; those with equally many take turns, so that tasks
    which come together do not all go to one.
    """
    names = [agent.name for agent in agents.choices]
    first = (n - 1) % len(names)
    in_order = names[first:] + names[:first]
    name = min(in_order, key=lambda name: counts.get(name, 0))
    chains = count(counts.get(name, 0), "open chain")
    return Choice(name, f"{name} has the fewest: {chains}")


BY_STRATEGY: Final[Mapping[Strategy, Callable[[Task, Agents, Counts, int], Choice]]] = {
    Strategy.RULE: by_rule,
    Strategy.SKILL: by_skill,
    Strategy.ROUND_ROBIN: in_turn,
    Strategy.LOAD: by_load,
}
"""The strategies that decide at once; `llm` and `function` ask the planner."""


def by_function(reply: ActionProposed | ThoughtFailed, agents: Agents) -> Choice:
    """The agent that the function names; the fallback where it fails, or names none that there
    is.
    """
    if isinstance(reply, ThoughtFailed):
        return fallback(agents, f"the function failed ({reply.data.code}: {reply.data.message})")
    calls = reply.data.proposal.calls
    chosen = calls[0].arguments if calls else {}
    name = chosen.get("target_agent")
    if name not in [agent.name for agent in agents.choices]:
        return fallback(agents, f"the function names {name or 'no agent'}")
    return Choice(name, chosen.get("reasoning", ""), chosen.get("confidence", 0.0))


def fallback(agents: Agents, why: str) -> Choice:
    """The agent that takes what nothing else decides."""
    name = None if agents.supervisor is None else agents.supervisor.fallback
    who = name or "the agent without a name"
    return Choice(name, f"{why}: {who} takes it", 0.0)


def _fits(task: Task, rule: Rule) -> str | None:
    """What of a task a rule fits: the words of the goal, or the context; None: it does not."""
    given = {name: task.context.get(name) for name in rule.context}
    if dumps(given, sort_keys=True) != dumps(rule.context, sort_keys=True):
        return None
    return found_in(task.goal, rule.match) if rule.match else "the context"


def _words(text: str) -> set[str]:
    """Its words, whatever their case and number; also C++ and C#."""
    words = _WORD.findall(text.casefold())
    return {word.removesuffix("s") for word in words}
