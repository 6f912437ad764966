"""Reads what a thought is about, in one round trip."""

import asyncio
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

import msgspec

from haltpoint.chain.checks.agents import with_agents
from haltpoint.chain.checks.answer import deeds_of
from haltpoint.chain.checks.bounds import served
from haltpoint.chain.checks.plans import callable_tools, open_to_models
from haltpoint.chain.model.statuses import ActionStatus, ChainStatus, StepStatus
from haltpoint.contracts.base import chain_of
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.tools import ASK_HUMAN, END_STEP
from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.plans import Plan, StepType
from haltpoint.contracts.work.tasks import Mode, Task
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.store.chain_codec import as_worked_on, decode_steps, end_of, stored_plan
from haltpoint.runtime.store.chain_reader import ChainReader
from haltpoint.runtime.store.loading import decode_action
from haltpoint.runtime.store.rows import (
    Data,
    Fields,
    Head,
    Kind,
    Part,
    StoredAction,
    action_of,
    local,
    thought_of,
)
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
from haltpoint.runtime.streams.topology import Topology
from haltpoint_planner.own_messages import Own
from haltpoint_planner.prompting.context import Context, Receipt

_MOST_DEEDS: Final = 10
"""Deeds of an earlier task of the conversation that a prompt has, the last ones."""


class ContextReader:
    """Reads chains whole: most of what is stored of one is in its prompts."""

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
        head, data, tools = await asyncio.gather(
            self._chains.head(chain),
            self._chains.data(chain),
            self._catalogue.read(self._partition(chain)),
        )
        # It is read by several commands, and may expire between two of them.
        status = head.get(Head.STATUS)
        if status is None or ChainStatus(status).final or Data.TASK not in data:
            return None
        if local(request.thought_id) in data:
            return None
        stored = data.get(Data.PLAN)
        submitted = msgspec.json.decode(data[Data.TASK], type=Task)
        task, plan = as_worked_on(stored, submitted)
        before = data.get(local(request.previous or ""))
        actions = [action_of(action, head, data) for action in request.receipts]
        context = Context(
            request,
            task,
            plan,
            receipts=tuple(filter(None, map(_receipt, actions))),
            findings=tuple(_findings(plan, head, data)),
            done_before=await self._done_before(task),
            previous=thought_of(before).raw if before else "",
            known=with_agents(tools, self._agents, task),
            bounds_known=stored_plan(stored).bounds is not None,
            agent=self._agent_of(task),
            owned=_owned(data),
        )
        if request.step_id is not None and context.step is None:
            return None
        return replace(context, tools={name: context.known[name] for name in _offered(context)})

    def _agent_of(self, task: Task) -> Agent | None:
        agent = self._agents.named(task.agent)
        if task.agent is not None and agent is None:
            # No other model thinks in place of that of an agent that is gone.
            raise HaltpointError(
                "HP-216",
                f"there is no agent {task.agent!r} any more",
                f"there are: {self._agents.names}",
                "Correct the agents file, or submit the task again",
            )
        return agent

    async def _done_before(self, task: Task) -> dict[str, list[str]]:
        """The last deeds of the earlier chains of the conversation."""
        chains = [earlier.chain_id for earlier in task.handed.earlier]
        ends = await asyncio.gather(*(self._chains.data(chain, Data.END) for chain in chains))
        done: dict[str, list[str]] = {}
        for chain, texts in zip(chains, ends, strict=True):
            deeds = end_of(texts.get(Data.END, "{}")).deeds
            done[chain] = [deed.says for deed in deeds[-_MOST_DEEDS:]]
        return done


def _findings(plan: Plan | None, head: Fields, data: Fields) -> Iterator[tuple[str, str]]:
    """The words with which steps ended: completed reasoning steps, and those that the model has
    given up (C11).
    """
    for step, run in zip(plan.steps if plan else (), decode_steps(head), strict=False):
        said = data.get(f"{step.id}.t{run.turn + 1}.{run.attempt}")
        if said and run.status is StepStatus.SKIPPED:
            yield f"{step.id}, the rest of which was left out", _content(said)
        elif said and step.step_type is StepType.REASONING and run.status is StepStatus.COMPLETED:
            yield step.id, _content(said)


def _owned(data: Fields) -> dict[str, Own]:
    """The own messages of the thoughts, by the local ids of these."""
    end = f".{Part.OWN}"
    owned = {name: text for name, text in data.items() if name.endswith(end)}
    return {
        name.removesuffix(end): msgspec.json.decode(text, type=Own) for name, text in owned.items()
    }


def _offered(context: Context) -> Iterable[str]:
    """The tools that the model may see: that it may call in a step (C3), name in a plan, or that a
    goal is read for.
    """
    step = context.step
    tools = context.known
    request = context.request
    if request.kind is ThoughtKind.BOUNDS:
        names = served(tools, context.task)
        return sorted(name for name in names if tools[name].queue)  # workers' tools
    if request.kind is ThoughtKind.PLAN:
        named = [name for name in tools if open_to_models(tools[name], context.task)]
        # Whom to ask is last: small models take what they read first.
        return sorted(named, key=lambda name: (name == ASK_HUMAN, name))
    if step is None or request.in_words:
        return ()
    ends = (END_STEP,) if request.may_end else ()
    return (*callable_tools(step, tools, Mode.STRICT, context.task), *ends)


def _receipt(stored: StoredAction | None) -> Receipt | None:
    """An action as it counts; None while nothing is sure."""
    if stored is None or stored.counts is None:
        return None
    action = decode_action(stored, 0, ActionStatus.DONE)
    if action.outcome is None or stored.counts.kind is Kind.IN_DOUBT:
        return None
    _, step_id, _ = action.id.rsplit(".", 2)
    return Receipt(
        step_id,
        action.tool,
        action.arguments,
        action.outcome,
        action.data,
        tuple(deed.says for deed in deeds_of(action)),
        action.number,
    )


def _content(text: str) -> str:
    """The words of a stored proposal."""
    proposal = json.loads(thought_of(text).data).get("proposal", {})
    return str(proposal.get("content", ""))
