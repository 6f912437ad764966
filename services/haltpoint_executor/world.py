"""The world that decisions are made in: what workers serve, agents, and the policy. Values, read
ahead of need.
"""

import asyncio
from collections.abc import Iterable, Set
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Final, Protocol

from haltpoint.chain.checks.agents import with_agents
from haltpoint.chain.model.limits import Policy, World
from haltpoint.chain.model.state import Chain
from haltpoint.contracts.events import (
    BoundsDrafted,
    PlanDrafted,
    TaskSubmitted,
    ThoughtFailed,
    ToExecutor,
)
from haltpoint.contracts.people.phrases import Phrases
from haltpoint.contracts.policy import PolicyFile
from haltpoint.contracts.tools import BUILT_IN, ToolSpec
from haltpoint.contracts.work.agents import Agents
from haltpoint.contracts.work.plans import Step
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.config.settings import LimitSettings
from haltpoint.runtime.streams.tool_catalogue import ANNOUNCE_EVERY

_ENGLISH: Final = Phrases()
_LOOK: Final = 0.1
"""Seconds between two looks at what workers announce."""

_REMEMBERED: Final = 200
"""Worlds of agents that are kept until the tools change."""


class ReadsTools(Protocol):
    """The catalogue of tools."""

    async def read(self, partition: int = 0) -> dict[str, ToolSpec]:
        """All tools that are served, by name."""
        ...


class CurrentWorld:
    """The `World` as of the last reading of the catalogue. Read each second, and when an event
    names an unknown tool.

    A tool whose worker has not come up by then is unknown, and a plan that needs it is refused: who
    starts a system waits for its tools before the first task (the gateway's /readyz does).
    """

    def __init__(self, catalogue: ReadsTools, agents: Agents, policy: Policy) -> None:
        self._catalogue = catalogue
        self._seen: dict[tuple[object, ...], World] = {}
        self.value = World(policy=policy, agents=agents)

    def of(self, task: Task) -> World:
        """The world as the agent of a task sees it: with the agents that it may hand this on to."""
        if task.handed.assigned is None:
            return self.value
        key = (task.agent, task.tools, task.plan is None)
        seen = self._seen.get(key)
        if seen is not None:
            return seen
        if len(self._seen) >= _REMEMBERED:
            self._seen.clear()
        tools = with_agents(self.value.tools, self.value.agents, task)
        self._seen[key] = world = replace(self.value, tools=tools)
        return world

    async def refresh(self) -> None:
        """Read the catalogue. Raises redis-py's errors."""
        tools = await self._catalogue.read()
        if tools.keys() <= BUILT_IN < self.value.tools.keys():
            return  # tools are listed for a day: a server has lost them, and workers list them soon
        if tools != self.value.tools:
            self.value = replace(self.value, tools=tools)
            self._seen.clear()

    async def until_listed(self, names: Set[str]) -> None:
        """Return when the catalogue lists all of these tools, or all workers had the time to
        announce theirs to a server that has lost them. Raises redis-py's errors.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(ANNOUNCE_EVERY):
                while names - (await self._catalogue.read()).keys():  # noqa: ASYNC110 - of workers
                    await asyncio.sleep(_LOOK)

    async def know(self, batch: Iterable[tuple[ToExecutor, Chain]]) -> None:
        """Look again when a message of the batch is held against more tools than are known."""
        served = self.value.tools.keys()
        if any(looks_at_others(message, chain, served) for message, chain in batch):
            await self.refresh()


def looks_at_others(message: ToExecutor, chain: Chain, served: Set[str]) -> bool:
    """Whether tools may count that were not served at the last look: a literal plan names one; or
    every tool that is served just then counts, as a task without a plan begins, or a plan or a
    reading of the goal is held against all tools, named in it or not (C2, C12). For other messages
    the chain keeps what it needs.
    """
    if isinstance(message, TaskSubmitted):
        plan = chain.task.plan
        return plan is None or not served >= tools_of(plan.steps)
    return isinstance(message, PlanDrafted | BoundsDrafted | ThoughtFailed)


def policy_of(
    settings: LimitSettings, file: PolicyFile, phrases: Phrases = _ENGLISH, lease: float = 10.0
) -> Policy:
    """The numbers of the settings that `decide` needs, and what the policy file says in words."""
    sources = (rule.tools for rule in file.approvals if rule.sourced)
    return Policy(
        max_turns=settings.max_turns,
        actions_per_turn=settings.actions_per_turn,
        parallel=settings.parallel,
        strikes=settings.strikes,
        max_steps=settings.steps,
        max_actions=settings.actions,
        request_timeout=settings.request_timeout,
        chain_timeout=settings.chain_deadline,
        patterns=file.patterns,
        messages=file.messages,
        phrases=phrases,
        lease=lease,
        repeated_effects=file.repeated_effects,
        unasked_effects=file.unasked_effects,
        sourced=tuple(chain.from_iterable(sources)),
    )


def tools_of(steps: Iterable[Step]) -> set[str]:
    """The tools that these steps name."""
    names: set[str] = set()
    for step in steps:
        names.update(step.promised_tools, step.allowed_tools or ())
        names.update(call.tool for call in step.actions)
    return names
