"""What the executor gets for a thought: what the model's reply was read as, or why there is
none.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, assert_never

import msgspec

from haltpoint.contracts.base import chain_of
from haltpoint.contracts.commands import ThoughtRequest, ToPlanner
from haltpoint.contracts.events import (
    ActionProposed,
    AnswerDrafted,
    BoundsDrafted,
    PlanDrafted,
    ThoughtFailed,
)
from haltpoint.contracts.people.phrases import Phrases
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import Plan, ProposedCall
from haltpoint.contracts.work.routing import ROUTE
from haltpoint.contracts.work.thoughts import Proposal, ThoughtKind
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.store.receipts import Thought
from haltpoint_planner.drafting import draft_answer, draft_proposal
from haltpoint_planner.exchange import Finish, Reply
from haltpoint_planner.own_messages import kept
from haltpoint_planner.parsing.objects import without_surrogates
from haltpoint_planner.plan_drafting import asked_in_place, draft_bounds, draft_plan
from haltpoint_planner.prompting.context import Context

MAX_RAW: Final = 64 * 1024
"""Characters of the model's own words that are kept."""
MAX_ERROR: Final = 16 * 1024
"""Characters of why there is no reply."""
_ENGLISH: Final = Phrases()


def reply_to(
    message: ToPlanner, reply: Reply, tools: Mapping[str, ToolSpec], phrases: Phrases = _ENGLISH
) -> Thought:
    """What the executor gets for a reply of the model: bounds, a plan, a proposal or an answer.
    Never raises.

    `tools` are all that are known; which may be called the executor decides. `phrases` are the
    runtime's own words.
    """
    request, envelope = message.data, _envelope(message)
    about: dict[str, Any] = {"thought_id": request.thought_id, "usage": reply.usage}
    match request.kind:
        case ThoughtKind.BOUNDS:
            data = BoundsDrafted.Data(**about, bounds=draft_bounds(reply))
            return BoundsDrafted(**envelope, data=data)
        case ThoughtKind.PLAN:
            return PlanDrafted(**envelope, data=_plan(reply, about))
        case ThoughtKind.ACT | ThoughtKind.REASON | ThoughtKind.ROUTE:
            proposal = _proposal(request, reply, tools, phrases)
            about["step_id"] = request.step_id or ""
            return ActionProposed(**envelope, data=ActionProposed.Data(**about, proposal=proposal))
        case ThoughtKind.ANSWER:
            text, called = draft_answer(reply, tools)
            about["text"] = text if called else _marked(text, reply, phrases)
            return AnswerDrafted(**envelope, data=AnswerDrafted.Data(**about, called=called))
        case _:
            assert_never(request.kind)


def chosen(message: ToPlanner, decision: dict[str, Any]) -> ActionProposed:
    """Whom a function chose for the task, as a model would say it."""
    call = ProposedCall(tool=ROUTE, arguments=decision)
    proposal = Proposal(calls=(call,))
    thought = message.data.thought_id
    data = ActionProposed.Data(thought_id=thought, step_id="", proposal=proposal)
    return ActionProposed(**_envelope(message), data=data)


def _plan(reply: Reply, about: dict[str, Any]) -> PlanDrafted.Data:
    """The plan, or why it cannot be read; and the bounds, where these can be read."""
    drafted, bounds = draft_plan(reply), draft_bounds(reply)
    if isinstance(drafted, Plan):
        return PlanDrafted.Data(**about, bounds=bounds, plan=drafted)
    question = asked_in_place(reply)
    return PlanDrafted.Data(**about, bounds=bounds, fault=drafted, question=question)


def _proposal(
    request: ThoughtRequest, reply: Reply, tools: Mapping[str, ToolSpec], phrases: Phrases
) -> Proposal:
    """A turn of a step. One that owes nothing may end without words, behind a deed of its own."""
    due = request.kind is not ThoughtKind.REASON
    own = f"{chain_of(request.thought_id)}.{request.step_id}."
    has_acted = any(name.startswith(own) for name in request.receipts)
    proposal = draft_proposal(reply, tools, due=due, may_be_silent=has_acted and not due)
    if proposal.calls:
        return proposal
    words = _marked(proposal.content, reply, phrases)
    return msgspec.structs.replace(proposal, content=words)


def _marked(words: str, reply: Reply, phrases: Phrases) -> str:
    """Words for people; those that the model did not finish say so."""
    marks = {Finish.LENGTH: phrases.cut_off, Finish.FILTER: phrases.filtered}
    return f"{words} [{marks[reply.finish]}]" if words and reply.finish in marks else words


def words_of(reply: Reply) -> str:
    """The model's own words as they are kept: its text, then its native calls as JSON, a line
    each.
    """
    calls = [
        json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)
        for call in reply.calls
    ]
    lines = [reply.content, *calls] if reply.content else calls
    return without_surrogates("\n".join(lines))[:MAX_RAW]


def own_of(thought: Thought, reply: Reply, context: Context) -> bytes:
    """The provider's message of a turn, as it is kept beside the thought."""
    if not isinstance(thought, ActionProposed):
        return b""
    step = context.request.step_id
    numbers = [receipt.number for receipt in context.receipts if receipt.step_id == step]
    return kept(reply, thought.data.proposal, context.by, max(numbers, default=0))


def failed(message: ToPlanner, error: HaltpointError) -> ThoughtFailed:
    """The thought that cannot be had, and why."""
    request = message.data
    # Some of the words are the server's own.
    words = without_surrogates(f"{error.what}: {error.why}. {error.fix}")[:MAX_ERROR]
    data = ThoughtFailed.Data(
        thought_id=request.thought_id, kind=request.kind, code=error.code, message=words
    )
    return ThoughtFailed(**_envelope(message), data=data)


def _envelope(message: ToPlanner) -> dict[str, Any]:
    thought_id = message.data.thought_id
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return {
        "id": f"{thought_id}/reply",
        "source": "haltpoint/planner",
        "subject": chain_of(thought_id),
        "time": now,
        "traceparent": message.traceparent,
    }
