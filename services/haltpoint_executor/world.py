"""What decisions are made in: the world, which is what workers serve, agents, and the policy, as
values that are read ahead of need; and the server's time.
"""

import asyncio
import time
from collections.abc import Iterable, Set
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Final

from haltpoint.chain.checks.agents import is_left_open, with_agents
from haltpoint.chain.model.limits import Policy, World
from haltpoint.chain.model.state import Chain
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.events import (
    BoundsDrafted,
    PlanDrafted,
    TaskSubmitted,
    ThoughtFailed,
    ToExecutor,
)
from haltpoint.contracts.people.phrases import Phrases
from haltpoint.contracts.policy import PolicyFile
from haltpoint.contracts.tools import BUILT_IN
from haltpoint.contracts.work.agents import Agents
from haltpoint.contracts.work.plans import Step
from haltpoint.contracts.work.routing import Strategy
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.config.settings import LimitSettings
from haltpoint.runtime.store.counting import AgentCounts
from haltpoint.runtime.streams.tool_catalogue import ANNOUNCE_EVERY, ToolCatalogue

_ENGLISH: Final = Phrases()
_TAKE_TURNS: Final = (Strategy.ROUND_ROBIN, Strategy.LOAD)
_LOOK: Final = 0.1
"""Seconds between two looks at what workers announce."""

_REMEMBERED: Final = 200
"""Worlds of agents that are kept until the tools change."""


class CurrentWorld:
    """The `World` as of the last reading of the catalogue. Read each second, and when an event
    names an unknown tool.

    A tool whose worker has not come up by then is unknown, and a plan that needs it is refused: who
    starts a system waits for its tools before the first task (the gateway's /readyz does).
    """

    def __init__(self, catalogue: ToolCatalogue, agents: Agents, policy: Policy) -> None:
        self._catalogue = catalogue
        self._seen: dict[tuple[object, ...], World] = {}
        self.value = World(policy=policy, agents=agents)

    def of(self, task: Task) -> World:
        """The world as the agent of a task sees it: with the agents that it may hand this on to."""
        if task.handed.assigned is None:
            return self.value
        key = (task.agent, task.tools, task.plan is None)
        if key not in self._seen:
            if len(self._seen) >= _REMEMBERED:
                self._seen.clear()
            tools = with_agents(self.value.tools, self.value.agents, task)
            self._seen[key] = replace(self.value, tools=tools)
        return self._seen[key]

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
        """Look again when a message of the batch is held against more tools than are known.

        A literal plan may name one. All that are served just then count as a task without a plan
        begins, and where a plan or a reading of the goal is held against all tools, named in it or
        not (C2, C12). For other messages the chain keeps what it needs.
        """
        served = self.value.tools.keys()
        for message, about in batch:
            plan = about.task.plan
            if isinstance(message, TaskSubmitted):
                is_known = plan is not None and served >= tools_of(plan.steps)
            else:
                is_known = not isinstance(message, PlanDrafted | BoundsDrafted | ThoughtFailed)
            if not is_known:
                await self.refresh()
                return

    async def counted(self, chains: Iterable[Chain], counts: AgentCounts) -> dict[str, World]:
        """By its id the world of each chain that is to be routed by a strategy that counts (I3):
        with its turn, and, where `load` decides, the open chains of each agent.
        """
        world = self.value
        supervisor = world.agents.supervisor
        if supervisor is None or supervisor.strategy not in _TAKE_TURNS:
            return {}
        accepted = (chain for chain in chains if chain.status is ChainStatus.ACCEPTED)
        routed = [chain.id for chain in accepted if is_left_open(chain)]
        turns = await asyncio.gather(*map(counts.take_turn, routed))
        if routed and supervisor.strategy is Strategy.LOAD:
            world = replace(world, counts=await counts.open_chains())
        worlds = (replace(world, turn=turn) for turn in turns)
        return dict(zip(routed, worlds, strict=True))


class ServerClock:
    """Milliseconds since the epoch by the server's clock of one partition, the test kit's offset
    included.

    Every reply that carries the server's time corrects it. It is behind by the way of that reply,
    never ahead.
    """

    def __init__(self) -> None:
        self._offset = time.time() * 1000 - time.monotonic() * 1000

    def told(self, now: int) -> None:
        """The server has just said that it is `now`."""
        self._offset = now - time.monotonic() * 1000

    def now(self) -> int:
        """The server's time as far as we know."""
        return int(time.monotonic() * 1000 + self._offset)


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
