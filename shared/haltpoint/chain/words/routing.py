"""Who works on a task that names no agent, by rules, skills, turns and room: no model is asked (CONTRACT I1)."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

from haltpoint.chain.model.canonical import plain
from haltpoint.chain.model.limits import Place, World
from haltpoint.chain.model.state import Chain
from haltpoint.chain.words.patterns import found_in
from haltpoint.contracts.base import value
from haltpoint.contracts.events import ActionProposed, ThoughtFailed, ToExecutor
from haltpoint.contracts.people.phrases import count
from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.routing import SUPERVISOR, Decided, Strategy
from haltpoint.contracts.work.tasks import Task

_WORD: Final = re.compile(r"[^\W_]+(?:\+\+|[+#](?!\w))?")
_PLURALS: Final = (
    (re.compile(r"(?<=\w\w)(?<!s)s$"), ""),
    (re.compile(r"(?<=\w\w[osxz])es$|(?<=\w[cs]h)es$"), ""),
    (re.compile(r"(?<=\w)ies$"), "y"),
)
"""How English makes plurals, and what the singular ends in. `note` is no plural of `not`, nor `toes` of `to`."""


@value
class Choice:
    """Whom a strategy finds (None: the agent without a name), why, and how sure that is, from 0 to 1. `rule` is the id
    of the one that fits.
    """

    agent: str | None
    reasoning: str
    confidence: float = 1.0
    rule: str | None = None


def rooms(chain: Chain, world: World, heard: Iterable[ToExecutor] = ()) -> tuple[Agent, ...]:
    """The agents of which one must have a place for a chain before it begins; none for a chain whose agent is not
    counted, or not known before its function has said it: `heard` is what it decides on. An agent above it in the tree
    that has the same name lends it its own.
    """
    agents, name = world.agents, chain.task.agent
    if chain.plan is not None or not any(map(agents.counts, agents.agents)):
        return ()
    strategy = routes_by(chain.task, agents)
    if strategy is Strategy.LOAD:
        return agents.choices
    if strategy is not None:
        replies = (one for one in heard if isinstance(one, ActionProposed | ThoughtFailed))
        reply = next((one for one in replies if one.data.thought_id == chain.thought), None)
        choice = choice_of(chain.task, agents, chain.number) if reply is None else by_function(reply, agents)
        name = None if choice is None else choice.agent
    above = {one.task.agent for one in world.tree if chain.id.startswith(f"{one.id}~")}
    return tuple(one for one in agents.agents if one.name == name and agents.counts(one) and name not in above)


def routes_by(task: Task, agents: Agents) -> Strategy | None:
    """By which strategy a task is to be routed; None: it has an agent, or a model decides in a step."""
    said = agents.supervisor
    if task.agent != SUPERVISOR or said is None or said.strategy is Strategy.LLM:
        return None
    return said.strategy


def choice_of(task: Task, agents: Agents, number: int, place: Place | None = None) -> Choice | None:
    """Who works on a task that is to be routed; `number` as in `in_turn`, `place` is the one that the chain has. None:
    it is not to be routed, no agent has room, or the function is to be asked.
    """
    match routes_by(task, agents):
        case Strategy.RULE:
            return by_rule(task, agents)
        case Strategy.SKILL:
            return by_skill(task, agents)
        case Strategy.ROUND_ROBIN:
            return in_turn(number, agents)
        case Strategy.LOAD if place is not None:
            return with_room(place, agents)
        case _:
            return None


def by_rule(task: Task, agents: Agents) -> Choice:
    """The agent of the first rule that fits, in the order of the file."""
    for rule in () if agents.supervisor is None else agents.supervisor.rules:
        found = found_in(task.goal, rule.match) if rule.match else "the context"
        if found is not None and all(_same(task.context.get(name), said) for name, said in rule.context.items()):
            return Choice(rule.agent, f"the rule {rule.id} fits: {found}", rule=rule.id)
    return fallback(agents, "no rule fits")


def by_skill(task: Task, agents: Agents) -> Choice:
    """The agent with the most of its skill words in the goal; of several the first of the file."""
    where = _where(task.goal)
    found = {one.name: [skill for skill in one.skills if _is_in(skill, where)] for one in agents.choices}
    best = max(agents.choices, key=lambda one: len(found[one.name]))
    if words := found[best.name]:
        return Choice(best.name, f"the goal speaks of {', '.join(words)}", len(words) / len(best.skills))
    return fallback(agents, "the goal has no skill word of an agent")


def in_turn(number: int, agents: Agents) -> Choice:
    """The agent whose turn it is; `number`: how many tasks the supervisor has had, this one included."""
    agent = agents.choices[(number - 1) % len(agents.choices)]
    return Choice(agent.name, f"it is the turn of {agent.name}: task {number} of its partition")


def with_room(place: Place, agents: Agents) -> Choice:
    """The agent that had the most room when the place was taken."""
    agent = agents.named(place.agent)
    most = "" if agent is None or agent.capacity is None else f" of {agent.capacity} at once"
    return Choice(place.agent, f"{place.agent} has the most room: it worked on {count(place.others, 'chain')}{most}")


def by_function(reply: ActionProposed | ThoughtFailed, agents: Agents) -> Choice:
    """The agent that the function names; the fallback where it fails, or names none that there is."""
    if isinstance(reply, ThoughtFailed):
        return fallback(agents, f"the function failed ({reply.data.code}: {reply.data.message})")
    said, names = reply.data.proposal.routing or Decided(), [one.name for one in agents.choices]
    if len(said.targets) == 1 and said.targets[0] in names:
        return Choice(said.targets[0], said.reasoning, said.confidence)
    named = ", ".join(said.targets) or "no agent"
    return fallback(agents, f"the function names {named}; there are: {', '.join(names)}")


def fallback(agents: Agents, why: str) -> Choice:
    """The agent that takes what nothing else decides."""
    name = None if agents.supervisor is None else agents.supervisor.fallback
    return Choice(name, f"{why}: {name or 'the agent without a name'} takes it", 0.0)


def _same(value: Any, said: Any) -> bool:
    """Whether two values of JSON are equal: true is not 1."""
    if isinstance(value, dict) and isinstance(said, dict):
        return value.keys() == said.keys() and all(_same(one, said[name]) for name, one in value.items())
    if isinstance(value, list) and isinstance(said, list):
        return len(value) == len(said) and all(map(_same, value, said))
    return bool(value == said) and isinstance(value, bool) == isinstance(said, bool)


def _words(text: str) -> list[str]:
    """Its words without their case and signs, but those of C++ and C#."""
    return _WORD.findall(plain(text).casefold())


def _forms(word: str) -> set[str]:
    """The word, and of what it may be the plural."""
    return {word, *(plural.sub(ending, word) for plural, ending in _PLURALS)}


def _where(goal: str) -> dict[str, set[int]]:
    """The forms of the goal's words, and where they are in it."""
    found = defaultdict[str, set[int]](set)
    for place, word in enumerate(_words(goal)):
        for form in _forms(word):
            found[form].add(place)
    return found


def _is_in(skill: str, where: Mapping[str, set[int]]) -> bool:
    """Whether a goal has these words, one behind the other, each with a form in common."""
    starts = [
        {place - index for form in _forms(word) for place in where.get(form, ())}
        for index, word in enumerate(_words(skill))
    ]
    return bool(starts) and bool(set.intersection(*starts))
