"""What a decision adds to the failure history (CONTRACT D5): counters by tool, model and agent, a field each.

A field is `<by>:<what>:<name>`. Names are those of tools that are served, of models that are configured, and of
agents of the file. All names that a model made up share one row, so that they cannot fill the
history.
"""

from typing import Final

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
from haltpoint.contracts.facts import FINAL_FACTS, Fact, FactType
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.work.routing import SUPERVISOR
from haltpoint.contracts.work.thoughts import Violation
from haltpoint.runtime.store.agents import OPEN

UNKNOWN: Final = "?"
"""The name of what has none: a tool that does not exist, a model that did not say who it is."""

_STARTED: Final = FactType.CHAIN_STARTED
_COMPLETED: Final = FactType.ACTION_COMPLETED
_VIOLATED: Final = FactType.CONTRACT_VIOLATED
_ESCALATED: Final = FactType.CHAIN_ESCALATED
_OPENED: Final = FactType.REQUEST_OPENED
_ROUTED: Final = FactType.CHAIN_ROUTED
_ANSWERED: Final = FactType.REQUEST_ANSWERED


def count(counts: dict[str, int], before: Chain, message: Message, decision: Decision) -> None:
    """Add the facts of one decision of a chain, made on a message."""
    broken = False
    for fact in decision.facts:
        kind = fact.type
        if kind is _COMPLETED:
            details = fact.details
            # What a person gave, or an earlier call, was no call; an agent is no tool, and has a row of its own.
            agent = isinstance(message, ToolCompleted) and message.data.outcome.metadata.agent
            if "by" not in details and "cached" not in details and not agent:
                counts[f"tool:calls:{details['tool']}"] += 1
                if "error_type" in details:
                    counts[f"tool:failures:{details['tool']}"] += 1
        elif kind is _OPENED:
            if decision.chain.task.agent:
                counts[f"agent:asked:{decision.chain.task.agent}"] += 1
            counts[f"tool:asked:{_about(decision.chain, fact)}"] += 1
            if fact.details.get("kind") == RequestKind.CLARIFICATION.value:
                counts[f"tool:clarified:{_about(decision.chain, fact)}"] += 1
        elif kind is _ANSWERED:
            counts[f"tool:answered:{_about(before, fact)}"] += 1
            if fact.details.get("decision") == Choice.NONE.value:
                counts[f"tool:none:{_about(before, fact)}"] += 1
        elif kind is _STARTED and "agent" in fact.details:
            counts[f"agent:begun:{fact.details['agent']}"] += 1
            counts[f"{OPEN}:{fact.details['agent']}"] += 1
        elif kind in FINAL_FACTS:
            if decision.chain.task.agent and _has_begun(before, decision):
                _count_end(counts, decision.chain.task.agent, fact, decision.chain)
        elif kind is _ROUTED:
            for agent in fact.details["target_agents"]:
                counts[f"agent:routed:{agent}"] += 1
                if before.routing is not None and before.routing.decisions:
                    counts[f"agent:rerouted:{agent}"] += 1
        elif kind is _VIOLATED:
            broken = True
        elif kind is _ESCALATED:
            counts[f"model:escalations:{_model(message)}"] += 1
            for tool in fact.details["missing"]:
                counts[f"tool:escalations:{tool}"] += 1
    if isinstance(message, ActionProposed | BoundsDrafted | PlanDrafted | AnswerDrafted) and not _of_code(message):
        counts[f"model:calls:{_model(message)}"] += 1
    if broken:
        _count_violations(counts, before, message, decision)


def _count_end(counts: dict[str, int], agent: str, fact: Fact, chain: Chain) -> None:
    """The end of an agent's chain, and the time (ms) that it took."""
    counts[f"agent:ended:{agent}"] += 1
    counts[f"{OPEN}:{agent}"] -= 1
    counts[f"agent:ms:{agent}"] += chain.updated_at - chain.created_at
    if fact.type is FactType.CHAIN_FAILED:
        counts[f"agent:failures:{agent}"] += 1


def _has_begun(before: Chain, decision: Decision) -> bool:
    """Whether an agent was at work on the chain: it did not end before that was decided, and there is this agent."""
    undecided = before.status is ChainStatus.ACCEPTED
    return not undecided or any(fact.type is _STARTED and "agent" in fact.details for fact in decision.facts)


def _of_code(message: Message) -> bool:
    """Whether a function of the deployment, and no model, has decided who works on a task: before there is a step."""
    return isinstance(message, ActionProposed) and not message.data.step_id


def _about(chain: Chain, fact: Fact) -> str:
    """The tool that a question is about; a supervisor's own question, who works on a task, is about the supervisor."""
    number = int(fact.details["request_id"].rpartition(".r")[2])
    tool = next((one.tool for one in chain.requests if one.number == number), "")
    return tool or (SUPERVISOR if chain.task.agent == SUPERVISOR else UNKNOWN)


def _count_violations(counts: dict[str, int], before: Chain, message: Message, decision: Decision) -> None:
    """Each violation, and a strike for each thought: the same rule as in `chain.strikes.violate`."""
    model = _model(message)
    struck = before.case[-1].thought_id if before.case else None
    routing = decision.chain.task.agent == SUPERVISOR
    for told in (fact.details for fact in decision.facts if fact.type is _VIOLATED):
        counts[f"model:violations:{model}"] += 1
        strike = told["thought_id"] != struck and told.get("counted", True)
        if strike:
            struck = told["thought_id"]
            counts[f"model:strikes:{model}"] += 1
        unknown = told["violation"] == Violation.UNKNOWN_TOOL.value
        # An agent is no tool, nor is a name that a supervisor's model made up for one.
        if "tool" in told and "agent" not in told and not (routing and unknown):
            tool = UNKNOWN if unknown else told["tool"]
            counts[f"tool:violations:{tool}"] += 1
            if strike:
                counts[f"tool:strikes:{tool}"] += 1


def _model(message: Message) -> str:
    """Who said it; a violation may come to light only when a receipt is there."""
    if isinstance(message, ActionProposed | BoundsDrafted | PlanDrafted | AnswerDrafted):
        return message.data.usage.model or UNKNOWN
    return UNKNOWN
