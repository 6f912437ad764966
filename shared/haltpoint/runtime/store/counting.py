"""Counters: the failure history, and the numbers that strategies go by (I3).

A decision adds to the history: counters by tool and model, a field each. A field is
`<by>:<what>:<name>`. Names are those of tools that are served and of models that are configured.
All names that a model made up share one row, so that they cannot fill the history.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
from haltpoint.runtime.streams.connection import AutoPipeline, Side
from haltpoint.runtime.streams.topology import Topology

UNKNOWN: Final = "?"
"""The name of a tool that does not exist, and of a model that did not say its own."""

OPEN: Final = "open"
"""The counters of open chains in a partition, a field for each agent."""

Details = Mapping[str, Any]


def count(counts: dict[str, int], before: Chain, message: Message, decision: Decision) -> None:
    """Add the facts of one decision of a chain, made on a message."""
    struck = before.row.case[-1].thought_id if before.row.case else None
    tally = _Tally(counts, before, message, decision, decision.chain.task.agent, struck)
    for fact in decision.facts:
        add = _ADDED_FOR.get(fact.type)
        if add is not None:
            add(tally, fact.details)
    if tally.is_of_a_model():
        tally.add("model", "calls", tally.model())


@dataclass(slots=True)
class _Tally:
    """One decision whose facts are counted."""

    counts: dict[str, int]
    before: Chain
    message: Message
    decision: Decision
    agent: str | None
    struck: str | None
    """The thought of the last strike."""

    def add(self, by: str, what: str, name: str) -> None:
        self.counts[f"{by}:{what}:{name}"] += 1

    def call(self, details: Details) -> None:
        """An outcome that a person gave is no call; an agent is no tool."""
        message = self.message
        is_of_agent = (
            isinstance(message, ToolCompleted) and message.data.outcome.metadata.below.agent
        )
        if is_of_agent or "by" in details:
            return
        self.add("tool", "calls", details["tool"])
        if "error_type" in details:
            self.add("tool", "failures", details["tool"])

    def question(self, details: Details) -> None:
        chain = self.decision.chain
        tool = _asked_about(chain, details)
        self.add("tool", "asked", tool)
        if details.get("kind") == RequestKind.CLARIFICATION.value:
            self.add("tool", "clarified", tool)

    def answer(self, details: Details) -> None:
        tool = _asked_about(self.before, details)
        self.add("tool", "answered", tool)
        if details.get("decision") == Choice.NONE.value:
            self.add("tool", "none", tool)

    def escalation(self, details: Details) -> None:
        self.add("model", "escalations", self.model())
        for tool in details["missing"]:
            self.add("tool", "escalations", tool)

    def start(self, details: Details) -> None:
        if "agent" in details:
            self.counts[f"{OPEN}:{details['agent']}"] += 1

    def end(self, _: Details) -> None:
        """The end of an agent's chain, if it was at work: a chain may end before that was
        decided.
        """
        facts = self.decision.facts
        begins = any(
            fact.type is FactType.CHAIN_STARTED and "agent" in fact.details for fact in facts
        )
        has_begun = begins or self.before.status is not ChainStatus.ACCEPTED
        if self.agent and has_begun:
            self.counts[f"{OPEN}:{self.agent}"] -= 1

    def violation(self, details: Details) -> None:
        """A strike for each thought: the same rule as in `chain.strikes.violate`."""
        kinds = ["violations"]
        thought = details["thought_id"]
        if thought != self.struck and details.get("counted", True):
            self.struck = thought
            kinds.append("strikes")
        tool = self._called(details)
        for kind in kinds:
            self.add("model", kind, self.model())
            if tool is not None:
                self.add("tool", kind, tool)

    def _called(self, details: Details) -> str | None:
        """An agent is no tool, nor is a name that a supervisor's model made up for an agent."""
        if "tool" not in details or "agent" in details:
            return None
        if details["violation"] != Violation.UNKNOWN_TOOL.value:
            return str(details["tool"])
        return None if self.agent == SUPERVISOR else UNKNOWN

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
    """The tool of a question; a supervisor's own question (which agent?) is about the
    supervisor.
    """
    tools = {request.request_id: request.tool for request in chain.requests}
    tool = tools.get(details["request_id"])
    if tool:
        return tool
    return SUPERVISOR if chain.task.agent == SUPERVISOR else UNKNOWN


_ADDED_FOR: Final[dict[FactType, Callable[[_Tally, Details], None]]] = {
    FactType.ACTION_COMPLETED: _Tally.call,
    FactType.REQUEST_OPENED: _Tally.question,
    FactType.REQUEST_ANSWERED: _Tally.answer,
    FactType.CHAIN_STARTED: _Tally.start,
    FactType.CHAIN_ESCALATED: _Tally.escalation,
    FactType.CONTRACT_VIOLATED: _Tally.violation,
    FactType.CHAIN_COMPLETED: _Tally.end,
    FactType.CHAIN_FAILED: _Tally.end,
    FactType.CHAIN_CANCELLED: _Tally.end,
}


class AgentCounts(Side):
    """Counts that are read where a task is routed. Each method raises redis-py's errors."""

    def __init__(self, calls: AutoPipeline, topology: Topology) -> None:
        partitions = range(topology.partitions)
        super().__init__(calls, topology)
        self._open = [topology.key(partition, OPEN) for partition in partitions]

    async def take_turn(self, chain: str) -> int:
        """The chain's number among those for which agents take turns; the same when it asks
        again.
        """
        return int(await self._functions.call("take_turn", 0, chain))

    async def open_chains(self) -> Counter[str]:
        """By the name of an agent its chains that have begun and not ended."""
        counters = await asyncio.gather(*(self._calls.call("HGETALL", key) for key in self._open))
        total = Counter[str]()
        for counter in counters:
            for name, number in counter.items():
                total[name.decode()] += int(number)
        return +total
