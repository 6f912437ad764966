"""Reads what a thought is about, by ids, in few round trips."""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import msgspec

from haltpoint.chain.checks.agents import with_agents
from haltpoint.chain.checks.answer import deeds_of
from haltpoint.chain.checks.bounds import nameable
from haltpoint.chain.checks.plans import callable_tools, open_to_models
from haltpoint.chain.model.statuses import ActionStatus, ChainStatus, StepStatus
from haltpoint.contracts.base import chain_of
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.tools import ASK_HUMAN, END_STEP, ToolSpec
from haltpoint.contracts.work.agents import Agents
from haltpoint.contracts.work.plans import StepType
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
    """Reads that are ready at the same time travel in one pipeline."""

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
        own = local(request.thought_id)
        names = (own, local(request.previous or own), Data.TASK, Data.PLAN)
        head, texts, tools, receipts = await asyncio.gather(
            self._chains.head(chain),
            self._texts(chain, *names),
            self._catalogue.read(self._partition(chain)),
            asyncio.gather(*map(self._chains.action, request.receipts)),
        )
        # It is read by several commands, and may expire between two of them.
        status = head.get(Head.STATUS)
        if status is None or ChainStatus(status).final:
            return None
        if own in texts or Data.TASK not in texts:
            return None
        context = self._context(request, texts, tools)
        if request.step_id is not None and context.step is None:
            return None
        findings, owned, done_before = await asyncio.gather(
            self._findings(context, head),
            self._owned(chain, request),
            self._done_before(context.task),
        )
        known = filter(None, map(_receipt, receipts))
        offered = {name: context.known[name] for name in _offered(context)}
        return replace(
            context,
            receipts=tuple(known),
            findings=findings,
            owned=owned,
            done_before=done_before,
            tools=offered,
        )

    async def _texts(self, chain: str, *names: str) -> Fields:
        """The fields of these names that there are."""
        if not names:
            return {}
        return await self._chains.data(chain, *names)

    def _context(
        self, request: ThoughtRequest, texts: Fields, tools: dict[str, ToolSpec]
    ) -> Context:
        stored = texts.get(Data.PLAN)
        before = texts.get(local(request.previous or ""))
        submitted = msgspec.json.decode(texts[Data.TASK], type=Task)
        task, plan = as_worked_on(stored, submitted)
        agent = self._agents.named(task.agent)
        if task.agent is not None and agent is None:
            # No other model thinks in place of that of an agent that is gone.
            what = f"there is no agent {task.agent!r} any more"
            why = f"there are: {self._agents.names}"
            fix = "Correct the agents file, or submit the task again"
            raise HaltpointError("HP-216", what, why, fix)
        return Context(
            request,
            task,
            plan,
            previous=thought_of(before).raw if before else "",
            known=with_agents(tools, self._agents, task),
            bounds_known=stored_plan(stored).bounds is not None,
            agent=agent,
        )

    async def _done_before(self, task: Task) -> dict[str, list[str]]:
        """The last deeds of the earlier chains of the conversation."""
        chains = [earlier.chain_id for earlier in task.handed.earlier]
        ends = await asyncio.gather(*(self._texts(chain, Data.END) for chain in chains))
        done: dict[str, list[str]] = {}
        for chain, texts in zip(chains, ends, strict=True):
            deeds = end_of(texts.get(Data.END, "{}")).deeds
            done[chain] = [deed.says for deed in deeds[-_MOST_DEEDS:]]
        return done

    async def _findings(self, context: Context, head: Fields) -> tuple[tuple[str, str], ...]:
        """The words with which steps ended: completed reasoning steps, and those that the model has
        given up (C11).
        """
        steps = context.plan.steps if context.plan else ()
        ended: dict[str, str] = {}
        for step, run in zip(steps, decode_steps(head), strict=False):
            status, shown = run.status, step.id
            is_over = status is StepStatus.SKIPPED
            if is_over:
                shown += ", the rest of which was left out"
            elif step.step_type is StepType.REASONING:
                is_over = status is StepStatus.COMPLETED
            if run.attempt and is_over:
                ended[f"{step.id}.t{run.turn + 1}.{run.attempt}"] = shown
        said = await self._texts(chain_of(context.request.thought_id), *ended)
        return tuple(
            (ended[thought], _content(said[thought])) for thought in ended if thought in said
        )

    async def _owned(self, chain: str, request: ThoughtRequest) -> dict[str, Own]:
        """The own messages of the thoughts of a chain, by the local ids of these."""
        if request.step_id is None:
            return {}
        end = f".{Part.OWN}"
        names = [name for name in await self._chains.names(chain) if name.endswith(end)]
        texts = await self._texts(chain, *names)
        return {
            name.removesuffix(end): msgspec.json.decode(text, type=Own)
            for name, text in texts.items()
        }


def _offered(context: Context) -> Iterable[str]:
    """The tools that the model may see: that it may call in a step (C3), name in a plan, or that a
    goal is read for.
    """
    step = context.step
    tools = context.known
    request = context.request
    if request.kind is ThoughtKind.BOUNDS:
        return nameable(tools, context.task)
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
