"""Who works on a task that names no agent, where no model is asked (CONTRACT I3): one function for each strategy.

Each takes the task, the agents, the open chains of each agent, and the number of the task among those that take turns.
"""

import re
from collections.abc import Callable, Mapping
from json import dumps
from typing import Final

from haltpoint.chain.checks.patterns import found_in
from haltpoint.chain.model.canonical import plain
from haltpoint.contracts.base import value
from haltpoint.contracts.events import ActionProposed, ThoughtFailed
from haltpoint.contracts.people.phrases import count
from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.routing import SUPERVISOR, Rule, Strategy
from haltpoint.contracts.work.tasks import Task

_WORD: Final = re.compile(r"\w[\w+#]*")

Counts = Mapping[str, int]
"""The open chains of each agent, by its name."""


@value
class Choice:
    """Whom a strategy finds (None: the agent without a name), why, and how sure that is, from 0 to 1. `rule` is the id
    of the one that fits.
    """

    agent: str | None
    reasoning: str
    confidence: float = 1.0
    rule: str | None = None


def routes_by(task: Task, agents: Agents) -> Strategy | None:
    """By which strategy a task is to be routed; None: it has an agent, or a model decides in a step."""
    supervisor = agents.supervisor
    if task.agent != SUPERVISOR or supervisor is None or supervisor.strategy is Strategy.LLM:
        return None
    return supervisor.strategy


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
    skills = {agent.name: _skills_in(words, agent) for agent in agents.choices}
    best = max(agents.choices, key=lambda agent: len(skills[agent.name]))
    spoken_of = skills[best.name]
    if not spoken_of:
        return fallback(agents, "the goal has no skill word of an agent")
    return Choice(best.name, f"the goal speaks of {', '.join(spoken_of)}", len(spoken_of) / len(best.skills))


def in_turn(_task: Task, agents: Agents, _counts: Counts, n: int) -> Choice:
    """The agent whose turn it is; the first task has number 1."""
    agent = agents.choices[(n - 1) % len(agents.choices)]
    return Choice(agent.name, f"it is the turn of {agent.name}: task {n}")


def by_load(_task: Task, agents: Agents, counts: Counts, n: int) -> Choice:
    """The agent with the fewest open chains; those with equally many take turns, so that tasks which come together
    do not all go to one.
    """
    names = [agent.name for agent in agents.choices]
    first = (n - 1) % len(names)
    name = min(names[first:] + names[:first], key=lambda name: counts.get(name, 0))
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
    """The agent that the function names; the fallback where it fails, or names none that there is."""
    if isinstance(reply, ThoughtFailed):
        return fallback(agents, f"the function failed ({reply.data.code}: {reply.data.message})")
    arguments = [call.arguments for call in reply.data.proposal.calls]
    chosen = arguments[0] if arguments else {}
    name, names = chosen.get("target_agent"), [agent.name for agent in agents.choices]
    if name in names:
        return Choice(name, chosen.get("reasoning", ""), chosen.get("confidence", 0.0))
    return fallback(agents, f"the function names {name or 'no agent'}; there are: {', '.join(names)}")


def fallback(agents: Agents, why: str) -> Choice:
    """The agent that takes what nothing else decides."""
    name = None if agents.supervisor is None else agents.supervisor.fallback
    return Choice(name, f"{why}: {name or 'the agent without a name'} takes it", 0.0)


def _fits(task: Task, rule: Rule) -> str | None:
    """What of a task a rule fits: the words of the goal, or the context; None: it does not."""
    same = (_json(task.context.get(name)) == _json(wanted) for name, wanted in rule.context.items())
    if not all(same):
        return None
    return found_in(plain(task.goal), rule.match) if rule.match else "the context"


def _json(value: object) -> str:
    return dumps(value, sort_keys=True)


def _skills_in(words: set[str], agent: Agent) -> list[str]:
    return [skill for skill in agent.skills if (_words(skill) or {skill}) <= words]


def _words(text: str) -> set[str]:
    """Its words, whatever their case and number; also C++ and C#."""
    return {word.removesuffix("s") for word in _WORD.findall(plain(text).casefold())}
