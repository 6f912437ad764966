"""Counters: the failure history, and the numbers that strategies go by (I3).

A decision adds to the history: counters by tool and model, by the hour in which chains end, and by
the seconds for which people let questions wait. A field is `<by>:<what>:<name>`. Names are those of
tools that are served and of models that are configured. All names that a model made up share one
row, so that they cannot fill the history.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
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
from haltpoint.contracts.people.humans import Choice, Question, RequestKind
from haltpoint.contracts.results import NextAction
from haltpoint.contracts.work.routing import SUPERVISOR
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Violation
from haltpoint.runtime.store.totals import Total, total
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
    model = _model_of(message)
    struck = before.row.case[-1].thought_id if before.row.case else None
    begins = before.status is not ChainStatus.ACCEPTED
    if _is_of_a_model(message):
        counts[f"model:calls:{model}"] += 1
    for fact in decision.facts:
        details = fact.details
        match fact.type:
            case FactType.ACTION_COMPLETED if _is_call(message, details):
                tool = details["tool"]
                counts[f"tool:calls:{tool}"] += 1
                if "error_type" in details:
                    counts[f"tool:failures:{tool}"] += 1
            case FactType.REQUEST_OPENED:
                tool = _asked_about(chain, details)
                counts[f"tool:asked:{tool}"] += 1
                if details.get("kind") == RequestKind.CLARIFICATION:
                    counts[f"tool:clarified:{tool}"] += 1
            case FactType.REQUEST_ANSWERED:
                tool = _asked_about(before, details)
                counts[f"tool:answered:{tool}"] += 1
                if details.get("decision") == Choice.NONE:
                    counts[f"tool:none:{tool}"] += 1
                _count_answer(counts, before, details, chain.updated_at)
            case FactType.REQUEST_EXPIRED:
                counts[f"tool:undecided:{_asked_about(before, details)}"] += 1
                counts[total(Total.UNDECIDED, _kind_of(before, details))] += 1
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


def _is_of_a_model(message: Message) -> bool:
    """A proposal without a step may be a decision of a function of the deployment (I3)."""
    if isinstance(message, ActionProposed):
        return bool(message.data.step_id)
    return isinstance(message, _REPLIES)


def _model_of(message: Message) -> str:
    """The author of a reply; a violation may come to light only when a receipt is there."""
    if isinstance(message, _REPLIES):
        return message.data.usage.model or UNKNOWN
    return UNKNOWN


def _asked_about(chain: Chain, details: Details) -> str:
    """The tool of a question; a supervisor's own question (which agent?) is about the
    supervisor.
    """
    question = _question(chain, details)
    if question is not None and question.tool:
        return question.tool
    return SUPERVISOR if chain.task.agent == SUPERVISOR else UNKNOWN


def _count_answer(counts: dict[str, int], chain: Chain, details: Details, now: int) -> None:
    """The seconds for which a question has waited, and the least power of two above them."""
    question = _question(chain, details)
    seconds = 0 if question is None else (now - question.asked_at) // 1000
    within = str(1 << seconds.bit_length())
    about = _kind_of(chain, details), str(details.get("decision", UNKNOWN))
    counts[f"wait:answers:{within}"] += 1
    counts[total(Total.ANSWERS, *about, within)] += 1
    counts[total(Total.WAITED, *about)] += seconds


def _kind_of(chain: Chain, details: Details) -> str:
    question = _question(chain, details)
    return UNKNOWN if question is None else question.kind


def _question(chain: Chain, details: Details) -> Question | None:
    """The open question that a fact is about."""
    questions = {question.request_id: question for question in chain.requests}
    return questions.get(details["request_id"])


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
