"""What the executor gets for a thought: what the model's reply was read as, or why there is
none.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, TypeVar, assert_never

from msgspec.structs import replace

from haltpoint.contracts.base import JsonObject, chain_of
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
from haltpoint_planner.parsing.completions import without_surrogates
from haltpoint_planner.plan_drafting import draft_bounds, draft_plan
from haltpoint_planner.prompting.context import Context

MAX_RAW: Final = 64 * 1024
"""Characters of the model's own words that are kept."""
MAX_ERROR: Final = 16 * 1024
"""Characters of why there is no reply."""
_ENGLISH: Final = Phrases()
Event = TypeVar("Event", BoundsDrafted, PlanDrafted, ActionProposed, AnswerDrafted, ThoughtFailed)


@dataclass(frozen=True, slots=True)
class Drafted:
    """What is recorded of a thought."""

    thought: Thought
    """What the executor gets."""
    words: str = ""
    """The model's own words."""
    own: bytes = b""
    """Its provider's message."""


def drafted(message: ToPlanner, reply: Reply, context: Context, phrases: Phrases) -> Drafted:
    """What is recorded of a thought of which there is a reply."""
    thought = reply_to(message, reply, context.known, phrases)
    proposal = thought.data.proposal if isinstance(thought, ActionProposed) else Proposal()
    own = kept(reply, proposal, context.by, context.last_number, context.known)
    return Drafted(thought, words_of(reply), own)


def reply_to(
    message: ToPlanner, reply: Reply, tools: Mapping[str, ToolSpec], phrases: Phrases = _ENGLISH
) -> Thought:
    """What the executor gets for a reply of the model: bounds, a plan, a proposal or an answer.
    Never raises.

    `tools` are all that are known; which may be called the executor decides. `phrases` are the
    runtime's own words.
    """
    request = message.data
    tell = partial(_event, message, usage=reply.usage)
    match request.kind:
        case ThoughtKind.BOUNDS:
            return tell(BoundsDrafted, bounds=draft_bounds(reply))
        case ThoughtKind.PLAN:
            plan = draft_plan(reply)
            name = "plan" if isinstance(plan, Plan) else "fault"
            return tell(PlanDrafted, bounds=draft_bounds(reply), **{name: plan})
        case ThoughtKind.ACT | ThoughtKind.REASON | ThoughtKind.ROUTE:
            proposal = _proposal(request, reply, tools, phrases)
            return tell(ActionProposed, step_id=request.step_id or "", proposal=proposal)
        case ThoughtKind.ANSWER:
            text, called = draft_answer(reply, tools)
            words = text if called else _marked(text, reply, phrases)
            return tell(AnswerDrafted, text=words, called=called)
        case _:
            assert_never(request.kind)


def chosen(message: ToPlanner, decision: JsonObject) -> ActionProposed:
    """Whom a function chose for the task, as a model would say it."""
    proposal = Proposal(calls=(ProposedCall(tool=ROUTE, arguments=decision),))
    return _event(message, ActionProposed, step_id="", proposal=proposal)


def sentence(error: HaltpointError) -> str:
    """An error without its code."""
    return f"{error.what}: {error.why}. {error.fix}"


def failed(message: ToPlanner, error: HaltpointError) -> ThoughtFailed:
    """The thought that cannot be had, and why."""
    # Some of the words are the server's own.
    words = without_surrogates(sentence(error))[:MAX_ERROR]
    kind = message.data.kind
    return _event(message, ThoughtFailed, kind=kind, code=error.code, message=words)


def _event(asked: ToPlanner, event: type[Event], **data: Any) -> Event:
    """The executor's event with these data."""
    thought = asked.data.thought_id
    about: Any = event.Data(thought_id=thought, **data)
    return event(
        id=f"{thought}/reply",
        source="haltpoint/planner",
        subject=chain_of(thought),
        time=datetime.now(UTC).isoformat(timespec="milliseconds"),
        traceparent=asked.traceparent,
        data=about,
    )


def _proposal(
    request: ThoughtRequest, reply: Reply, tools: Mapping[str, ToolSpec], phrases: Phrases
) -> Proposal:
    """A turn of a step. One that owes nothing may end without words, behind a deed of its own."""
    due = request.kind is not ThoughtKind.REASON
    own = f"{chain_of(request.thought_id)}.{request.step_id}."
    has_acted = any(name.startswith(own) for name in request.receipts)
    proposal = draft_proposal(reply, tools, due=due, may_be_silent=has_acted and not due)
    if proposal.calls or proposal.faults:
        return proposal
    words = _marked(proposal.content, reply, phrases)
    return replace(proposal, content=words)


def _marked(words: str, reply: Reply, phrases: Phrases) -> str:
    """Words for people; where the model did not finish them, they say so."""
    marks = {
        Finish.LENGTH: phrases.cut_off,
        Finish.FILTER: phrases.filtered,
        Finish.OTHER: phrases.stopped,
    }
    mark = marks.get(reply.finish)
    return f"{words} [{mark}]".lstrip() if mark else words


def words_of(reply: Reply) -> str:
    """The model's own words as they are kept: its text, then its native calls as JSON, a line
    each.
    """
    lines = [reply.content]
    for call in reply.calls:
        said = {"name": call.name, "arguments": call.arguments}
        lines.append(json.dumps(said, ensure_ascii=False))
    text = "\n".join(filter(None, lines))
    return without_surrogates(text)[:MAX_RAW]
