"""Counters: the failure history, and the numbers that strategies go by (I3).

A decision adds to the history: counters by tool and model, by the hour in which chains end, and by
the seconds for which people let questions wait. A field is `<by>:<what>:<name>`. Names are those of
tools that are served and of models that are configured. All names that a model made up share one
row, so that they cannot fill the history.

Totals: counters of a deployment that only grow, for its metrics. They are counted with the
decisions that they are about, so each thing counts once, whatever is repeated.

A counter is a field `total:<what>:<labels>` of a commit's counts; the library keeps it in the hash
`totals` of its partition (lua/base.lua), which never expires: it has some hundred fields at most.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from redis.asyncio import Redis

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
from haltpoint.contracts.facts import Fact, FactType
from haltpoint.contracts.people.humans import Choice, Question, RequestKind
from haltpoint.contracts.results import NextAction
from haltpoint.contracts.work.routing import SUPERVISOR
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Violation
from haltpoint.runtime.streams.connection import AutoPipeline, Side
from haltpoint.runtime.streams.topology import Topology

UNKNOWN: Final = "?"
"""The name of a tool that does not exist, and of a model that did not say its own."""

OPEN: Final = "open"
"""The counters of open chains in a partition, a field for each agent."""

_HOUR: Final = 3_600_000

Details = Mapping[str, Any]

_REPLIES: Final = (ActionProposed, BoundsDrafted, PlanDrafted, AnswerDrafted)


def count(counts: dict[str, int], before: Chain, message: Message, decision: Decision) -> None:
    """Add the facts of one decision of a chain, made on a message."""
    chain = decision.chain
    agent = chain.task.agent
    model = UNKNOWN  # a violation may come to light only when a receipt is there
    struck = before.row.case[-1].thought_id if before.row.case else None
    begins = before.status is not ChainStatus.ACCEPTED
    if isinstance(message, _REPLIES):
        model = message.data.usage.model or UNKNOWN
        # Without a step it may be a decision of a function of the deployment (I3).
        if not isinstance(message, ActionProposed) or message.data.step_id:
            counts[f"model:calls:{model}"] += 1
    for fact in decision.facts:
        details = fact.details
        match fact.type:
            case FactType.ACTION_DISPATCHED | FactType.STEP_STARTED | FactType.STEP_COMPLETED:
                pass  # of each action, and not counted
            case FactType.ACTION_COMPLETED if _is_call(message, details):
                tool = details["tool"]
                counts[f"tool:calls:{tool}"] += 1
                if "error_type" in details:
                    counts[f"tool:failures:{tool}"] += 1
            case FactType.REQUEST_OPENED | FactType.REQUEST_ANSWERED | FactType.REQUEST_EXPIRED:
                questions = {each.request_id: each for each in (*before.requests, *chain.requests)}
                _count_question(counts, chain, fact, questions.get(details["request_id"]))
            case FactType.ACTION_RESTING if "error_type" in details:
                counts[total(Total.RETRIES, details["error_type"], details["tool"])] += 1
            case FactType.CHAIN_ESCALATED:
                counts[f"model:escalations:{model}"] += 1
                for tool in details["missing"]:
                    counts[f"tool:escalations:{tool}"] += 1
            case FactType.CONTRACT_VIOLATED:
                kinds = ["violations"]
                thought = details["thought_id"]
                rule = details["violation"]
                is_counted = details.get("counted", True)
                mode = Mode.STRICT if is_counted else Mode.ADVISORY
                counts[total(Total.VIOLATIONS, rule, mode)] += 1
                if thought != struck and is_counted:  # as `chain.turns.thinking`
                    struck = thought
                    kinds.append("strikes")
                    counts[total(Total.STRIKES, rule)] += 1
                _count_violation(counts, kinds, model, _called(agent, details))
            case FactType.CHAIN_STARTED if "agent" in details:
                begins = True
                counts[f"{OPEN}:{details['agent']}"] += 1
            case FactType.CHAIN_COMPLETED | FactType.CHAIN_FAILED | FactType.CHAIN_CANCELLED:
                if agent and begins:  # a chain may end before it was decided who is at work
                    counts[f"{OPEN}:{agent}"] -= 1
                hour = chain.updated_at // _HOUR % 24
                counts[f"hour:chains:{hour}"] += 1
                if chain.asked:
                    counts[f"hour:questions:{hour}"] += chain.asked
                if fact.type is FactType.CHAIN_FAILED:
                    counts[f"hour:failures:{hour}"] += 1
            case _:
                pass


def _count_violation(
    counts: dict[str, int], kinds: Sequence[str], model: str, tool: str | None
) -> None:
    for kind in kinds:
        counts[f"model:{kind}:{model}"] += 1
        if tool is not None:
            counts[f"tool:{kind}:{tool}"] += 1


def _is_call(message: Message, details: Details) -> bool:
    """An outcome that a person gave is no call, nor is a call until it is approved; an agent is no
    tool.
    """
    if isinstance(message, ToolCompleted) and message.data.outcome.metadata.below.agent:
        return False
    is_to_approve = details.get("next_action") == NextAction.CONFIRMATION_NEEDED
    return "by" not in details and not is_to_approve


def _called(agent: str | None, details: Details) -> str | None:
    """The tool of a violation. An agent is no tool, nor is a name that a supervisor's model made up
    for an agent.
    """
    if "tool" not in details or "agent" in details:
        return None
    if details["violation"] != Violation.UNKNOWN_TOOL:
        return str(details["tool"])
    return None if agent == SUPERVISOR else UNKNOWN


def _count_question(
    counts: dict[str, int], chain: Chain, fact: Fact, question: Question | None
) -> None:
    """A question is opened, answered or expired. A supervisor's own one (which agent?) is about the
    supervisor. Of an answer also the seconds for which it has waited, and the least power of two
    above them.
    """
    tool = SUPERVISOR if chain.task.agent == SUPERVISOR else UNKNOWN
    kind, asked_at = UNKNOWN, chain.updated_at
    if question is not None:
        kind, asked_at = question.kind.value, question.asked_at
        tool = question.tool or tool
    if fact.type is FactType.REQUEST_OPENED:
        counts[f"tool:asked:{tool}"] += 1
        if kind == RequestKind.CLARIFICATION:
            counts[f"tool:clarified:{tool}"] += 1
    elif fact.type is FactType.REQUEST_EXPIRED:
        counts[f"tool:undecided:{tool}"] += 1
        counts[total(Total.UNDECIDED, kind)] += 1
    else:
        decision = str(fact.details.get("decision", UNKNOWN))
        seconds = (chain.updated_at - asked_at) // 1000
        within = str(1 << seconds.bit_length())
        counts[f"tool:answered:{tool}"] += 1
        if decision == Choice.NONE:
            counts[f"tool:none:{tool}"] += 1
        counts[f"wait:answers:{within}"] += 1
        counts[total(Total.ANSWERS, kind, decision, within)] += 1
        counts[total(Total.WAITED, kind, decision)] += seconds


class AgentCounts(Side):
    """Counts that are read where a task is routed. Each method raises redis-py's errors."""

    def __init__(self, calls: AutoPipeline, topology: Topology) -> None:
        super().__init__(calls, topology)
        self._open = topology.keys(OPEN)

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


class Total(StrEnum):
    """What is counted, each with its labels; the last label may have colons."""

    VIOLATIONS = "violations"
    """Rule and mode."""
    STRIKES = "strikes"
    """Rule."""
    RETRIES = "retries"
    """Type of error and tool."""
    UNDECIDED = "undecided"
    """Kind of question."""
    ANSWERS = "answers"
    """Kind of question, decision, and the least power of two above the seconds that it waited."""
    WAITED = "waited"
    """Kind of question and decision: seconds."""


_LABELS = {
    Total.VIOLATIONS: 2,
    Total.STRIKES: 1,
    Total.RETRIES: 2,
    Total.UNDECIDED: 1,
    Total.ANSWERS: 3,
    Total.WAITED: 2,
}

Totals = dict[Total, dict[Sequence[str], int]]
"""By what is counted and its labels."""


def total(what: Total, *labels: str) -> str:
    """The field of a counter."""
    return ":".join(("total", what, *labels))


async def added_up(redis: Redis, keys: Iterable[str]) -> Counter[str]:
    """The counters of these hashes together. Raises redis-py's errors."""
    pipeline: Any = redis.pipeline(transaction=False)
    for key in keys:
        pipeline.hgetall(key)
    counts = Counter[str]()
    for reply in await pipeline.execute():
        counts.update({field.decode(): int(number) for field, number in reply.items()})
    return counts


async def read_totals(redis: Redis, topology: Topology) -> Totals:
    """The totals of all partitions. Raises redis-py's errors."""
    counts = await added_up(redis, topology.keys("totals"))
    totals: Totals = {what: {} for what in Total}
    for field, number in counts.items():
        name, _, labels = field.partition(":")
        what = Total(name)
        totals[what][tuple(labels.split(":", _LABELS[what] - 1))] = number
    return totals
