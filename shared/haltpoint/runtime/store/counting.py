"""Counters: the failure history (CONTRACT D5), and what strategies count (I3).

A decision adds to the history: counters by tool, model and agent, a field each. A field is
`<by>:<what>:<name>`. Names are those of tools that are served, of models that are configured and of
agents of the file. All names that a model made up share one row, so that they cannot fill the
history.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from haltpoint.chain.model.outputs import Decision
from haltpoint.chain.model.state import Chain
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.events import (
    ActionProposed,
    AnswerDrafted,
    BoundsDrafted,
    Message,
    PlanDrafted,
    ToolCompleted,
)
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.work.routing import SUPERVISOR
from haltpoint.contracts.work.thoughts import Violation
from haltpoint.runtime.streams.connection import AutoPipeline, Functions
from haltpoint.runtime.streams.topology import Topology

UNKNOWN: Final = "?"
"""The name of a tool that does not exist, and of a model that did not say its own."""

OPEN: Final = "open"
"""The counters of open chains in a partition, a field for each agent."""

Details = Mapping[str, Any]


def count(counts: dict[str, int], before: Chain, message: Message, decision: Decision) -> None:
    """Add the facts of one decision of a chain, made on a message."""
    tally = _Tally(counts, before, message, decision)
    for fact in decision.facts:
        add = _ADDED_FOR.get(fact.type)
        if add is not None:
            add(tally, fact.details)
    if tally.is_of_a_model():
        counts[f"model:calls:{tally.model()}"] += 1


class _Tally:
    """One decision whose facts are counted."""

    def __init__(self, counts: dict[str, int], before: Chain, message: Message, decision: Decision) -> None:
        self.counts = counts
        self.before = before
        self.message = message
        self.decision = decision
        self.agent = decision.chain.task.agent
        self.struck = before.case[-1].thought_id if before.case else None

    def call(self, details: Details) -> None:
        """An outcome that a person gave is no call; an agent is no tool, and has another row."""
        message = self.message
        if isinstance(message, ToolCompleted) and message.data.outcome.metadata.below.agent:
            return
        if "by" not in details:
            tool = details["tool"]
            self.counts[f"tool:calls:{tool}"] += 1
            if "error_type" in details:
                self.counts[f"tool:failures:{tool}"] += 1

    def question(self, details: Details) -> None:
        if self.agent:
            self.counts[f"agent:asked:{self.agent}"] += 1
        tool = _asked_about(self.decision.chain, details)
        self.counts[f"tool:asked:{tool}"] += 1
        if details.get("kind") == RequestKind.CLARIFICATION.value:
            self.counts[f"tool:clarified:{tool}"] += 1

    def answer(self, details: Details) -> None:
        tool = _asked_about(self.before, details)
        self.counts[f"tool:answered:{tool}"] += 1
        if details.get("decision") == Choice.NONE.value:
            self.counts[f"tool:none:{tool}"] += 1

    def start(self, details: Details) -> None:
        if "agent" in details:
            self.counts[f"agent:begun:{details['agent']}"] += 1
            self.counts[f"{OPEN}:{details['agent']}"] += 1

    def routes(self, details: Details) -> None:
        agent, routing = details.get("target_agent"), self.before.routing
        if agent is None:
            return
        self.counts[f"agent:routed:{agent}"] += 1
        if routing is not None and routing.decisions:
            self.counts[f"agent:rerouted:{agent}"] += 1

    def escalation(self, details: Details) -> None:
        self.counts[f"model:escalations:{self.model()}"] += 1
        for tool in details["missing"]:
            self.counts[f"tool:escalations:{tool}"] += 1

    def end(self, _: Details) -> None:
        """The end of an agent's chain, and the time (ms) that it took."""
        chain = self.decision.chain
        if self._has_begun():
            self.counts[f"agent:ended:{self.agent}"] += 1
            self.counts[f"{OPEN}:{self.agent}"] -= 1
            self.counts[f"agent:ms:{self.agent}"] += chain.updated_at - chain.created_at

    def failure(self, details: Details) -> None:
        self.end(details)
        if self._has_begun():
            self.counts[f"agent:failures:{self.agent}"] += 1

    def violation(self, details: Details) -> None:
        """A strike for each thought: the same rule as in `chain.strikes.violate`."""
        kinds = ["violations"]
        thought = details["thought_id"]
        if thought != self.struck and details.get("counted", True):
            self.struck = thought
            kinds.append("strikes")
        names = [f"model:{kind}:{self.model()}" for kind in kinds]
        unknown = details["violation"] == Violation.UNKNOWN_TOOL.value
        # An agent is no tool, nor is a name that a supervisor's model made up for an agent.
        of_agent = "agent" in details or (unknown and self.agent == SUPERVISOR)
        if "tool" in details and not of_agent:
            tool = UNKNOWN if unknown else details["tool"]
            names += [f"tool:{kind}:{tool}" for kind in kinds]
        for name in names:
            self.counts[name] += 1

    def _has_begun(self) -> bool:
        """Whether an agent was at work on the chain: it did not end before that was decided."""
        if not self.agent or self.before.status is not ChainStatus.ACCEPTED:
            return bool(self.agent)
        facts = self.decision.facts
        return any(fact.type is FactType.CHAIN_STARTED and "agent" in fact.details for fact in facts)

    def is_of_a_model(self) -> bool:
        """A proposal without a step may be a decision of a function of the deployment (I3)."""
        message = self.message
        if isinstance(message, ActionProposed):
            return bool(message.data.step_id)
        return isinstance(message, BoundsDrafted | PlanDrafted | AnswerDrafted)

    def model(self) -> str:
        """The author of a reply; a violation may come to light only when a receipt is there."""
        message = self.message
        if isinstance(message, ActionProposed | BoundsDrafted | PlanDrafted | AnswerDrafted):
            return message.data.usage.model or UNKNOWN
        return UNKNOWN


def _asked_about(chain: Chain, details: Details) -> str:
    """The tool of a question; a supervisor's own question (which agent?) is about the supervisor."""
    number = int(details["request_id"].rpartition(".r")[2])
    tools = {request.number: request.tool for request in chain.requests}
    tool = tools.get(number)
    if tool:
        return tool
    return SUPERVISOR if chain.task.agent == SUPERVISOR else UNKNOWN


_ADDED_FOR: Final[dict[FactType, Callable[[_Tally, Details], None]]] = {
    FactType.ACTION_COMPLETED: _Tally.call,
    FactType.REQUEST_OPENED: _Tally.question,
    FactType.REQUEST_ANSWERED: _Tally.answer,
    FactType.CHAIN_STARTED: _Tally.start,
    FactType.CHAIN_ROUTED: _Tally.routes,
    FactType.CHAIN_ESCALATED: _Tally.escalation,
    FactType.CONTRACT_VIOLATED: _Tally.violation,
    FactType.CHAIN_COMPLETED: _Tally.end,
    FactType.CHAIN_FAILED: _Tally.failure,
    FactType.CHAIN_CANCELLED: _Tally.end,
}


class AgentCounts:
    """Counts that are read where a task is routed. Each method raises redis-py's errors."""

    def __init__(self, calls: AutoPipeline, topology: Topology) -> None:
        partitions = range(topology.partitions)
        self._calls = calls
        self._functions = Functions(calls, topology)
        self._open = [topology.key(partition, OPEN) for partition in partitions]

    async def take_turn(self, chain: str) -> int:
        """The chain's number among those for which agents take turns; the same when it asks again."""
        return int(await self._functions.call("take_turn", 0, chain))

    async def open_chains(self) -> Counter[str]:
        """By the name of an agent its chains that have begun and not ended."""
        counters = await asyncio.gather(*(self._calls.call("HGETALL", key) for key in self._open))
        total = Counter[str]()
        for counter in counters:
            for name, number in counter.items():
                total[name.decode()] += int(number)
        return +total
