"""Who works on a task that names no agent, where no model is asked (CONTRACT I3): one function for each strategy.

Each takes the task, the agents, the open chains of each agent, and the number of the task among those that take turns.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Final

from haltpoint.chain.checks.patterns import found_in
from haltpoint.chain.model.canonical import plain
from haltpoint.contracts.base import value
from haltpoint.contracts.events import ActionProposed, ThoughtFailed
from haltpoint.contracts.people.phrases import count
from haltpoint.contracts.work.agents import Agents
from haltpoint.contracts.work.routing import SUPERVISOR, Rule, Strategy
from haltpoint.contracts.work.tasks import Task

_WORD: Final = re.compile(r"[^\W_]+(?:\+\+|[+#](?!\w))?")
_PLURALS: Final = (
    (re.compile(r"(?<=\w\w)(?<!s)s$"), ""),
    (re.compile(r"(?<=\w\w[osxz])es$|(?<=\w[cs]h)es$"), ""),
    (re.compile(r"(?<=\w)ies$"), "y"),
)
"""How English makes plurals, and what the singular ends in. `note` is no plural of `not`, nor `toes` of `to`."""

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
        found = _fits(task, rule)
        if found is not None:
            return Choice(rule.agent, f"the rule {rule.id} fits: {found}", rule=rule.id)
    return fallback(agents, "no rule fits")


def by_skill(task: Task, agents: Agents, _counts: Counts, _n: int) -> Choice:
    """The agent with the most of its skill words in the goal; of several the first of the file."""
    places = _places(task.goal)
    found = {agent.name: [skill for skill in agent.skills if _is_in(skill, places)] for agent in agents.choices}
    best = max(agents.choices, key=lambda agent: len(found[agent.name]))
    words = found[best.name]
    if not words:
        return fallback(agents, "the goal has no skill word of an agent")
    return Choice(best.name, f"the goal speaks of {', '.join(words)}", len(words) / len(best.skills))


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
    calls = reply.data.proposal.calls
    chosen = calls[0].arguments if calls else {}
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
    found = found_in(plain(task.goal), rule.match) if rule.match else "the context"
    same = (_same(task.context.get(name), wanted) for name, wanted in rule.context.items())
    return found if all(same) else None


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


def _places(goal: str) -> dict[str, set[int]]:
    """The forms of the goal's words, and their places in it."""
    found = defaultdict[str, set[int]](set)
    for place, word in enumerate(_words(goal)):
        for form in _forms(word):
            found[form].add(place)
    return found


def _is_in(skill: str, places: Mapping[str, set[int]]) -> bool:
    """Whether a goal has these words, one behind the other, each with a form in common."""
    starts = [_starts(word, index, places) for index, word in enumerate(_words(skill))]
    return bool(starts) and bool(set.intersection(*starts))


def _starts(word: str, index: int, places: Mapping[str, set[int]]) -> set[int]:
    """Where in a goal a skill would begin whose word number `index` this is."""
    found = set[int]().union(*(places.get(form, ()) for form in _forms(word)))
    return {place - index for place in found}
