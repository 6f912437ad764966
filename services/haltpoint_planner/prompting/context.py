"""What a thought is about, as one value: read by ids in two round trips, then no prompt needs Redis
any more.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import msgspec

from haltpoint.chain.checks.agents import with_agents
from haltpoint.chain.checks.bounds import nameable
from haltpoint.chain.checks.plans import callable_tools, open_to_models
from haltpoint.chain.model.statuses import ChainStatus, StepStatus
from haltpoint.contracts.base import chain_of, thought_id
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.results import Outcome
from haltpoint.contracts.tools import ASK_HUMAN, END_STEP, ToolSpec
from haltpoint.contracts.work.agents import Agent, Agents, ModelEndpoint
from haltpoint.contracts.work.plans import Plan, Step, StepType
from haltpoint.contracts.work.tasks import Mode, Task
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.store.chain_codec import action_ids, as_worked_on, decode_steps, stored_plan
from haltpoint.runtime.store.chain_reader import ChainReader
from haltpoint.runtime.store.rows import (
    Data,
    Head,
    Kind,
    Part,
    StoredAction,
    action_of,
    action_parts,
    local,
    thought_of,
)
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
from haltpoint.runtime.streams.topology import Topology
from haltpoint_planner.own_messages import Own, read_own

_LEFT_OUT, _REST_LEFT_OUT = (
    "Nothing was done in this step. ",
    "The rest of this step was left out. ",
)
_MOST_DEEDS: Final = 10
"""Deeds of an earlier task of the conversation that a prompt has, the last ones."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """One earlier call and its result, as it counts: completed by a person's answer where there was
    one.

    `deeds` of a skill are what the calls in its chain did (F1). `number` is that of the action in
    its step.
    """

    step_id: str
    tool: str
    arguments: str
    outcome: Outcome
    data: str
    deeds: tuple[str, ...] = ()
    number: int = 0
    text: str = ""
    """The result as the prompt shows it."""


@dataclass(frozen=True)
class Context:
    """All that a prompt is made of. `tools` are those that the model may see for this thought,
    `known` all there are; `agent` is the one that works on the task, if it names one, and
    `endpoint` its own model, if it has one; `choices` are the agents among which a supervisor's
    `function` may choose.

    `previous`: the model's own words of the last time in this turn, when they were refused.
    """

    request: ThoughtRequest
    task: Task
    plan: Plan | None = None
    receipts: tuple[Receipt, ...] = ()
    findings: tuple[tuple[str, str], ...] = ()  # (step id, words) of reasoning steps that are done
    done_before: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # deeds of the conversation's chains
    previous: str = ""
    tools: Mapping[str, ToolSpec] = field(default_factory=dict)
    known: Mapping[str, ToolSpec] = field(default_factory=dict)
    bounds_known: bool = False  # what the goal asks of tools was read (C12)
    agent: Agent | None = None
    endpoint: ModelEndpoint | None = None
    choices: Sequence[Agent] = ()
    function: str | None = None
    owned: Mapping[str, Own] = field(default_factory=dict)
    """The provider's own messages, by the local ids of their thoughts."""
    by: str = ""
    """The model that is asked, as it is named with what it has said."""
    room: int = 32_000
    """Tokens that the prompt may have."""
    for_results: int = 48_000
    """Characters that all results together may have."""

    @cached_property
    def step(self) -> Step | None:
        """The step that the thought is for; None for plans and answers."""
        steps = self.plan.steps if self.plan else ()
        return next((step for step in steps if step.id == self.request.step_id), None)

    @property
    def open_ended(self) -> bool:
        """Whether the step is the single one of a ReAct task: done when the model says so in
        words.
        """
        return self.task.open_ended

    @property
    def missing(self) -> tuple[str, ...]:
        """The tools of the promises that are due in the step (C3)."""
        return tuple(dict.fromkeys(tool for promise in self.request.due for tool in promise))


class ContextReader:
    """Reads what a thought is about. Reads that are ready at the same time travel in one
    pipeline.
    """

    def __init__(
        self, calls: AutoPipeline, topology: Topology, catalogue: ToolCatalogue, agents: Agents
    ) -> None:
        self._chains = ChainReader(calls, topology)
        self._partition = topology.partition
        self._catalogue = catalogue
        self._agents = agents

    async def read(self, request: ThoughtRequest) -> Context | None:
        """The context; None when the thought is recorded already, its chain is over, or its step is
        unknown. Raises HaltpointError HP-216 when its agent is not in the agents file any more.
        """
        chain = chain_of(request.thought_id)
        own, previous = (
            local(request.thought_id),
            local(request.previous or request.thought_id),
        )  # its own is not there
        head, data, tools, actions = await asyncio.gather(
            self._chains.head(chain),
            self._chains.data(chain, own, Data.TASK, Data.PLAN, previous),
            self._catalogue.read(self._partition(chain)),
            self._actions(chain, request.receipts),
        )
        task = data.get(Data.TASK.encode())
        if own.encode() in data or task is None or not head:
            return None  # a chain may also expire between these reads
        if ChainStatus(head[Head.STATUS.encode()].decode()).final:
            return None
        plan = data.get(Data.PLAN.encode())
        before = data.get(previous.encode())
        asked, drafted = as_worked_on(plan, msgspec.json.decode(task, type=Task))
        agents, agent = self._agents, self._agent(asked)
        tools = with_agents(tools, agents, asked)
        context = Context(
            request,
            asked,
            drafted,
            tuple(receipt for receipt, _ in actions if receipt is not None),
            previous=thought_of(before).raw if before else "",
            tools=tools,
            bounds_known=stored_plan(plan).bounds is not None,
            agent=agent,
            endpoint=None if agent is None or agent.model is None else agents.models[agent.model],
            choices=agents.choices if request.kind is ThoughtKind.ROUTE else (),
            function=None if agents.supervisor is None else agents.supervisor.function,
        )
        if request.step_id is not None and context.step is None:
            return None
        reasoned = _reasoned(chain, context, head)
        names = [local(thought) for *_, thought in reasoned]
        said = await self._chains.data(chain, *names) if names else {}
        findings: list[tuple[str, str]] = []
        for step_id, how, thought in reasoned:
            text = said.get(local(thought).encode())
            if text is not None:
                proposal = json.loads(thought_of(text).data).get("proposal", {})
                findings.append((step_id, how + str(proposal.get("content", ""))))
        earlier = [one.chain_id for one in asked.handed.earlier]
        done = await asyncio.gather(*map(self._deeds_of, earlier))
        done_before = {
            name: deeds[-_MOST_DEEDS:] for name, deeds in zip(earlier, done, strict=True)
        }
        return replace(
            context,
            findings=tuple(findings),
            tools=_offered(context),
            known=tools,
            done_before=done_before,
            owned=await self._owned(chain) if request.step_id is not None else {},
        )

    async def _owned(self, chain: str) -> dict[str, Own]:
        """The own messages of the thoughts of a chain, by the local ids of these."""
        end = f".{Part.OWN}"
        names = [name for name in await self._chains.names(chain) if name.endswith(end)]
        texts = await self._chains.data(chain, *names) if names else {}
        return {name.decode().removesuffix(end): read_own(text) for name, text in texts.items()}

    def _agent(self, task: Task) -> Agent | None:
        """The agent that works on the task. No other model thinks in place of that of one that is
        gone.
        """
        agent = self._agents.named(task.agent)
        if task.agent is not None and agent is None:
            what, why = (
                f"there is no agent {task.agent!r} any more",
                f"there are: {self._agents.names}",
            )
            raise HaltpointError(
                "HP-216", what, why, "Correct the agents file, or submit the task again"
            )
        return agent

    async def _actions(
        self, chain: str, names: Sequence[str]
    ) -> list[tuple[Receipt | None, tuple[str, ...]]]:
        """For each action its receipt, if there is one, and what the calls in the chain of its
        skill did.
        """
        if not names:
            return []
        parts: list[str] = []
        for name in names:
            parts += action_parts(local(name))
        head, data = await asyncio.gather(
            self._chains.head(chain), self._chains.data(chain, *parts)
        )
        stored = [action_of(name, head, data) for name in names]
        inside = await asyncio.gather(
            *(self._deeds_of(action.child if action else "") for action in stored)
        )
        return [(_receipt(one, deeds), deeds) for one, deeds in zip(stored, inside, strict=True)]

    async def _deeds_of(self, chain: str) -> tuple[str, ...]:
        """What the calls of a chain did, and those in the chains below it."""
        actions = await self._actions_of(chain) if chain else ()
        return tuple(
            deed for receipt, below in actions for deed in (receipt.deeds if receipt else below)
        )

    async def _actions_of(self, chain: str) -> Sequence[tuple[Receipt | None, tuple[str, ...]]]:
        """All actions of a chain; none of one that is not there."""
        head, data = await asyncio.gather(
            self._chains.head(chain), self._chains.data(chain, Data.TASK, Data.PLAN)
        )
        given = msgspec.json.decode(data.get(Data.TASK.encode(), b"{}"), type=Task)
        _, plan = as_worked_on(data.get(Data.PLAN.encode()), given)
        if plan is None or not head:
            return ()
        return await self._actions(chain, action_ids(chain, plan, decode_steps(head)))


def _offered(context: Context) -> dict[str, ToolSpec]:
    """The tools that the model may see: that it may call in a step (C3), name in a plan, or that a
    goal is read for.
    """
    step, tools = context.step, context.tools
    if step is not None and context.request.in_words:
        return {}
    if step is not None:
        ends = (END_STEP,) if context.request.may_end else ()
        names = (*callable_tools(step, tools, Mode.STRICT, context.task), *ends)
        return {name: tools[name] for name in names}
    if context.request.kind is ThoughtKind.BOUNDS:  # C12
        return {name: tools[name] for name in nameable(tools, context.task)}
    if context.request.kind is not ThoughtKind.PLAN:
        return {}
    # Whom to ask stands last: small models take what they read first.
    named = sorted(tools, key=lambda name: (name == ASK_HUMAN, name))
    return {name: tools[name] for name in named if open_to_models(tools[name], context.task)}


def _receipt(stored: StoredAction | None, inside: tuple[str, ...]) -> Receipt | None:
    """An action as it counts; None while nothing is sure."""
    counts = stored.counts if stored else None
    if stored is None or counts is None or counts.kind is Kind.IN_DOUBT:
        return None
    outcome = msgspec.json.decode(counts.outcome, type=Outcome)
    _, step_id, number = stored.id.rsplit(".", 2)
    told = outcome.metadata
    own = () if told.repeats or told.deed is None or not outcome.satisfies else (told.deed.says,)
    return Receipt(
        step_id, stored.tool, stored.arguments, outcome, counts.data, (*inside, *own), int(number)
    )


def _reasoned(
    chain: str, context: Context, head: Mapping[bytes, bytes]
) -> list[tuple[str, str, str]]:
    """The steps that ended with words of the model, what goes before these in a prompt, and the
    thought that had them: completed reasoning steps, and those that it has given up as not needed
    (C11).
    """
    steps = context.plan.steps if context.plan else ()
    runs = decode_steps(head)
    ended = (
        (
            step.id,
            ""
            if run.status is StepStatus.COMPLETED
            else _REST_LEFT_OUT
            if run.last_ok
            else _LEFT_OUT,
            run,
        )
        for step, run in zip(steps, runs, strict=False)
        if run.status is StepStatus.SKIPPED
        or (run.status is StepStatus.COMPLETED and step.step_type is StepType.REASONING)
    )
    return [
        (name, how, thought_id(chain, name, run.turn + 1, run.attempt))
        for name, how, run in ended
        if run.attempt
    ]
