"""Limits as they apply to one chain or step: policy, budget and plan put together. A plan only
tightens them.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from operator import add

from msgspec.structs import astuple, replace

from haltpoint.contracts.base import Strings, value
from haltpoint.contracts.people.phrases import Phrases
from haltpoint.contracts.policy import Messages, Pattern, Treatment, Treatments
from haltpoint.contracts.results import Spent
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.agents import Agents
from haltpoint.contracts.work.plans import Step
from haltpoint.contracts.work.tasks import Mode, Task

Tools = Mapping[str, ToolSpec]
"""What is declared of tools, by their names."""


@value
class Policy:
    """The numbers and words that rule every chain. Times in seconds. Calls of the tools that the
    globs `sourced` name have the sources of their values in every mode (G4).
    """

    max_turns: int = 10
    actions_per_turn: int = 1
    parallel: int = 1
    strikes: int = 3
    max_steps: int = 50
    max_actions: int = 100
    max_chain_turns: int = 100
    lease: float = 10.0
    request_timeout: float = 24 * 3600.0
    chain_timeout: float = 7 * 24 * 3600.0
    patterns: tuple[Pattern, ...] = ()
    messages: Messages = field(default_factory=Messages)
    phrases: Phrases = field(default_factory=Phrases)
    repeated_effects: Treatments = Treatment.ASK
    unasked_effects: Treatments = Treatment.ASK
    sourced: Strings = ()


@value
class World:
    """What lies outside the chain and yet is needed to decide about it, as values.

    `agents` are those of the agents file. Of a task that is to be routed, `counts` are the open
    chains of each agent, and `turn` is its number among those that take turns (I3).
    """

    tools: dict[str, ToolSpec] = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy)
    agents: Agents = field(default_factory=Agents)
    counts: dict[str, int] = field(default_factory=dict)
    turn: int = 1

    def spec(self, tool: str) -> ToolSpec:
        """What is declared of a tool; of one that no worker declares any more nothing, so it may
        have effects.
        """
        return self.tools.get(tool) or ToolSpec(tool)

    def only_reads(self, tool: str) -> bool:
        """Whether a tool has no effects and asks nobody: its calls may run side by side (C8)."""
        spec = self.spec(tool)
        return spec.read_only and not spec.may_clarify


def moment_of(milliseconds: int) -> datetime:
    """A time of a chain, which counts in ms."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def minute_of(milliseconds: int) -> str:
    """The same, as people read it."""
    return f"{moment_of(milliseconds):%Y-%m-%d %H:%M} UTC"


def deadline_of(task: Task, policy: Policy, now: int) -> int:
    """When a chain that is accepted now (ms) fails at the latest (ms): the earliest of policy, task
    and its seconds. A task's deadline without a time zone is read as UTC.
    """
    seconds = min(task.budget.seconds or policy.chain_timeout, policy.chain_timeout)
    deadline = now + int(seconds * 1000)
    if task.deadline is None:
        return deadline
    moment = task.deadline if task.deadline.tzinfo else task.deadline.replace(tzinfo=UTC)
    return min(deadline, int(moment.timestamp() * 1000))


def mode(task: Task, step: Step | None) -> Mode:
    """How far the model is held to its word; a step may only tighten what the task says."""
    own = None if step is None else step.tool_validation_mode
    if own is None or task.mode is Mode.STRICT:
        return task.mode
    return Mode(own.value)


def added(one: Spent, other: Spent) -> Spent:
    """Both together."""
    return Spent(*map(add, astuple(one), astuple(other)))


def treatment(rules: Treatments, tool: str) -> Treatment:
    """What a policy says of a tool: under its name, else under the first glob that fits; else a
    person is asked.
    """
    if isinstance(rules, Treatment):
        return rules
    fitting = [treatment for glob, treatment in rules.items() if fnmatchcase(tool, glob)]
    return rules.get(tool) or next(iter(fitting), Treatment.ASK)


def without_blocked(tools: Tools, blocked: Collection[str]) -> dict[str, ToolSpec]:
    """The tools, with those internal that are blocked. Neither case nor signs make another name."""
    names = set(map(_letters, blocked))
    inside = [spec for name, spec in tools.items() if _letters(name) in names]
    return {**tools, **hidden(inside)}


def hidden(specs: Iterable[ToolSpec]) -> dict[str, ToolSpec]:
    """The same tools by their names, but internal."""
    return {spec.name: replace(spec, internal=True) for spec in specs}


def _letters(name: str) -> str:
    """A name in one case, without signs."""
    return re.sub(r"[\W_]", "", name).casefold()
