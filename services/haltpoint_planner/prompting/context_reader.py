"""Reads what a thought is about, by ids, in few round trips."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
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
from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.plans import StepType
from haltpoint.contracts.work.tasks import Mode, Task
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.store.chain_codec import as_worked_on, decode_steps, end_of, stored_plan
from haltpoint.runtime.store.chain_reader import ChainReader
from haltpoint.runtime.store.rows import (
    Data,
    Fields,
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
from haltpoint_planner.prompting.context import Context, Receipt

_LEFT_OUT: Final = "Nothing was done in this step. "
_REST_LEFT_OUT: Final = "The rest of this step was left out. "
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
        chain, own = chain_of(request.thought_id), local(request.thought_id)
        head, data, tools, receipts = await asyncio.gather(
            self._chains.head(chain),
            self._chains.data(chain, own, Data.TASK, Data.PLAN, local(request.previous or own)),
            self._catalogue.read(self._partition(chain)),
            self._receipts(chain, request.receipts),
        )
        if own.encode() in data or not _is_alive(head, data):
            return None
        context = self._context(request, data, tools)
        if request.step_id is not None and context.step is None:
            return None
        findings = await self._findings(chain, context, head)
        done_before = await self._done_before(context.task)
        owned = {} if request.step_id is None else await self._owned(chain)
        tools = _offered(context)
        return replace(
            context,
            receipts=receipts,
            findings=findings,
            done_before=done_before,
            owned=owned,
            tools=tools,
        )

    def _context(
        self, request: ThoughtRequest, data: Fields, tools: dict[str, ToolSpec]
    ) -> Context:
        agents, stored = self._agents, data.get(Data.PLAN.encode())
        given = msgspec.json.decode(data[Data.TASK.encode()], type=Task)
        task, plan = as_worked_on(stored, given)
        known = with_agents(tools, agents, task)
        agent = self._agent(task)
        before = data.get(local(request.previous or "").encode())
        previous = thought_of(before).raw if before else ""
        bounds = stored_plan(stored).bounds
        section = None if agent is None else agent.model
        endpoint = None if section is None else agents.models[section]
        choices = agents.choices if request.kind is ThoughtKind.ROUTE else ()
        function = None if agents.supervisor is None else agents.supervisor.function
        return Context(
            request,
            task,
            plan,
            previous=previous,
            tools=known,
            known=known,
            bounds_known=bounds is not None,
            agent=agent,
            endpoint=endpoint,
            choices=choices,
            function=function,
        )

    def _agent(self, task: Task) -> Agent | None:
        """The agent that works on the task. No other model thinks in place of that of one that is
        gone.
        """
        agent = self._agents.named(task.agent)
        if task.agent is not None and agent is None:
            what = f"there is no agent {task.agent!r} any more"
            why = f"there are: {self._agents.names}"
            fix = "Correct the agents file, or submit the task again"
            raise HaltpointError("HP-216", what, why, fix)
        return agent

    async def _receipts(self, chain: str, names: Sequence[str]) -> tuple[Receipt, ...]:
        """The receipts of these actions, as they count; of none while nothing is sure."""
        if not names:
            return ()
        parts = [part for name in names for part in action_parts(local(name))]
        head, data = await asyncio.gather(
            self._chains.head(chain), self._chains.data(chain, *parts)
        )
        stored = [action_of(name, head, data) for name in names]
        known = [action for action in stored if action is not None]
        inside = await asyncio.gather(*(self._deeds_of(action.child) for action in known))
        receipts = map(_receipt, known, inside)
        return tuple(receipt for receipt in receipts if receipt is not None)

    async def _deeds_of(self, chain: str) -> tuple[str, ...]:
        """What a chain that has ended did, in the runtime's words."""
        if not chain:
            return ()
        data = await self._chains.data(chain, Data.END)
        end = end_of(data.get(Data.END.encode(), b"{}"))
        return tuple(deed.says for deed in end.deeds)

    async def _done_before(self, task: Task) -> dict[str, tuple[str, ...]]:
        chains = [earlier.chain_id for earlier in task.handed.earlier]
        deeds = await asyncio.gather(*map(self._deeds_of, chains))
        return {chain: done[-_MOST_DEEDS:] for chain, done in zip(chains, deeds, strict=True)}

    async def _findings(
        self, chain: str, context: Context, head: Fields
    ) -> tuple[tuple[str, str], ...]:
        """What steps ended with, that ended with words of the model."""
        ended = list(_ended_in_words(chain, context, head))
        names = [local(thought) for _, _, thought in ended]
        said = await self._chains.data(chain, *names) if names else {}
        findings: list[tuple[str, str]] = []
        for step, how, thought in ended:
            text = said.get(local(thought).encode())
            if text is not None:
                findings.append((step, how + _content(text)))
        return tuple(findings)

    async def _owned(self, chain: str) -> dict[str, Own]:
        """The own messages of the thoughts of a chain, by the local ids of these."""
        end = f".{Part.OWN}"
        names = [name for name in await self._chains.names(chain) if name.endswith(end)]
        texts = await self._chains.data(chain, *names) if names else {}
        return {name.decode().removesuffix(end): read_own(text) for name, text in texts.items()}


def _is_alive(head: Fields, data: Fields) -> bool:
    """Whether the chain is there and not over; it may also expire between two reads."""
    status = head.get(Head.STATUS.encode())
    if status is None or Data.TASK.encode() not in data:
        return False
    return not ChainStatus(status.decode()).final


def _offered(context: Context) -> dict[str, ToolSpec]:
    """The tools that the model may see: that it may call in a step (C3), name in a plan, or that a
    goal is read for.
    """
    step, tools, request = context.step, context.tools, context.request
    names: Sequence[str] = ()
    if step is not None and not request.in_words:
        ends = (END_STEP,) if request.may_end else ()
        names = (*callable_tools(step, tools, Mode.STRICT, context.task), *ends)
    elif request.kind is ThoughtKind.BOUNDS:
        names = nameable(tools, context.task)
    elif request.kind is ThoughtKind.PLAN:
        open_ones = [name for name in tools if open_to_models(tools[name], context.task)]
        # Whom to ask is last: small models take what they read first.
        names = sorted(open_ones, key=lambda name: (name == ASK_HUMAN, name))
    return {name: tools[name] for name in names}


def _receipt(stored: StoredAction, inside: tuple[str, ...]) -> Receipt | None:
    """An action as it counts."""
    counts = stored.counts
    if counts is None or counts.kind is Kind.IN_DOUBT:
        return None
    _, step_id, number = stored.id.rsplit(".", 2)
    outcome = msgspec.json.decode(counts.outcome, type=Outcome)
    deed = outcome.metadata.deed
    is_own = deed is not None and outcome.satisfies and not outcome.metadata.repeats
    own = (deed.says,) if deed is not None and is_own else ()
    return Receipt(
        step_id,
        stored.tool,
        stored.arguments,
        outcome,
        counts.data,
        (*inside, *own),
        int(number),
    )


def _ended_in_words(chain: str, context: Context, head: Fields) -> Iterator[tuple[str, str, str]]:
    """The steps that ended with words of the model, what precedes these in a prompt, and the
    thought that had them: completed reasoning steps, and those that it has given up (C11).
    """
    steps = context.plan.steps if context.plan else ()
    for step, run in zip(steps, decode_steps(head), strict=False):
        how = _REST_LEFT_OUT if run.last_ok else _LEFT_OUT
        if run.status is StepStatus.COMPLETED:
            how = ""
        is_reasoned = step.step_type is StepType.REASONING and not how
        if run.attempt and (is_reasoned or run.status is StepStatus.SKIPPED):
            yield step.id, how, thought_id(chain, step.id, run.turn + 1, run.attempt)


def _content(text: bytes) -> str:
    """The words of a stored proposal."""
    proposal = json.loads(thought_of(text).data).get("proposal", {})
    return str(proposal.get("content", ""))
