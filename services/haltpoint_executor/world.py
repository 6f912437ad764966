"""The world that decisions are made in: what workers serve, agents, and the policy. Values, read ahead of need."""

from collections.abc import Iterable
from dataclasses import replace
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
    ToolCompleted,
)
from haltpoint.contracts.people.phrases import Phrases
from haltpoint.contracts.policy import PolicyFile
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.agents import Agents
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Style, Task
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint.runtime.config.settings import LimitSettings

_REMEMBERED: Final = 200
"""Worlds of agents that are kept until the tools change."""


class ReadsTools(Protocol):
    """The catalogue of tools."""

    async def read(self, partition: int = 0) -> dict[str, ToolSpec]:
        """All tools that are served, by name."""
        ...


class CurrentWorld:
    """The `World` as of the last reading of the catalogue. Read each second, and when an event names an unknown tool.

    A tool whose worker has not come up by then is unknown, and a plan that needs it is refused: who starts a system
    waits for its tools before the first task (the gateway's /readyz does).
    """

    def __init__(self, catalogue: ReadsTools, agents: Agents, policy: Policy) -> None:
        self._catalogue = catalogue
        self._seen: dict[tuple[object, ...], World] = {}
        self.value = World(policy=policy, agents=agents)

    def of(self, task: Task) -> World:
        """The world as the agent of a task sees it: with the agents that it may hand this on to."""
        if task.handed.assigned is None:
            return self.value
        key = (task.agent, task.tools)
        if key not in self._seen:
            if len(self._seen) >= _REMEMBERED:
                self._seen = {}
            tools = with_agents(self.value.tools, self.value.agents, task)
            self._seen[key] = replace(self.value, tools=tools)
        return self._seen[key]

    async def refresh(self) -> None:
        """Read the catalogue. Raises redis-py's errors."""
        tools = await self._catalogue.read()
        if tools != self.value.tools:
            self.value, self._seen = replace(self.value, tools=tools), {}

    async def know(self, batch: Iterable[tuple[ToExecutor, Chain]]) -> None:
        """Look again when a message of the batch names an unknown tool, or when all tools that there are count."""
        tools = self.value.tools
        for message, chain in batch:
            if isinstance(message, ToolCompleted):
                continue  # as most are; it names none
            unknown = not tools.keys() >= tools_named(message, chain)
            if unknown or self._takes_all_tools(message, chain):
                await self.refresh()
                return

    def _takes_all_tools(self, message: ToExecutor, chain: Chain) -> bool:
        """Whether every tool that is served just then counts; so it does where an agent may work open-ended."""
        begins = isinstance(message, TaskSubmitted) and chain.task.plan is None
        return takes_all_tools(message, chain) or (begins and bool(self.value.agents.agents))


def tools_named(message: ToExecutor, chain: Chain) -> set[str]:
    """The tools that a plan names which the message brings; for other messages the chain keeps what it needs."""
    match message:
        case TaskSubmitted():
            return _tools_of(chain.task.plan)
        case PlanDrafted():
            return _tools_of(message.data.plan)
        case _:
            return set()


def takes_all_tools(message: ToExecutor, chain: Chain) -> bool:
    """Whether every tool that is served just then counts: an open-ended step begins, which may call each of them, or a
    plan or a reading of the goal is here, which is held against all tools, named in it or not (C2, C12).
    """
    if isinstance(message, PlanDrafted | BoundsDrafted):
        return True
    if isinstance(message, ThoughtFailed):  # an open-ended task continues without a reading (C12)
        return message.data.kind is ThoughtKind.BOUNDS
    return isinstance(message, TaskSubmitted) and chain.task.plan is None and chain.task.style is Style.REACT


def policy_of(settings: LimitSettings, file: PolicyFile, phrases: Phrases | None = None, lease: float = 10.0) -> Policy:
    """The numbers of the settings that `decide` needs, and what the policy file says in words."""
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
        phrases=phrases or Phrases(),
        lease=lease,
        repeated_effects=file.repeated_effects,
        unasked_effects=file.unasked_effects,
        sourced=tuple(glob for rule in file.approvals if rule.sourced for glob in rule.tools),
    )


def _tools_of(plan: Plan | None) -> set[str]:
    if plan is None:
        return set()
    named = {name for step in plan.steps for name in (*step.required_tools, *step.one_of, *(step.allowed_tools or ()))}
    return named.union(call.tool for step in plan.steps for call in step.actions)
