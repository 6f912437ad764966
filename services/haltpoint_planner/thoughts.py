"""What the executor gets for a thought: what the model's reply was read as, or why there is
none.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, assert_never

import msgspec

from haltpoint.contracts.base import MAX_BODY, chain_of
from haltpoint.contracts.commands import ToPlanner
from haltpoint.contracts.events import (
    ActionProposed,
    AnswerDrafted,
    BoundsDrafted,
    PlanDrafted,
    ThoughtFailed,
)
from haltpoint.contracts.people.phrases import Phrases
from haltpoint.contracts.tools import END_STEP, ToolSpec
from haltpoint.contracts.work.plans import Plan, ProposedCall
from haltpoint.contracts.work.routing import ROUTE
from haltpoint.contracts.work.thoughts import Proposal, ThoughtKind
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.store.receipts import Thought
from haltpoint_planner.bounds_drafting import draft_bounds
from haltpoint_planner.drafting import draft_proposal, said, take_apart, without_guesses
from haltpoint_planner.exchange import Reply
from haltpoint_planner.parsing.json_text import without_surrogates
from haltpoint_planner.parsing.only_calls import only_calls
from haltpoint_planner.parsing.shown import without_thoughts
from haltpoint_planner.parsing.unread import quoted
from haltpoint_planner.plan_drafting import asked_in_place, draft_plan

MAX_RAW: Final = 64 * 1024  # characters of the model's own words that are kept
_ENGLISH: Final = Phrases()
MAX_ERROR: Final = 16 * 1024  # characters of why there is no reply


def reply_to(
    message: ToPlanner,
    reply: Reply,
    tools: Mapping[str, ToolSpec],
    phrases: Phrases = _ENGLISH,
) -> Thought:
    """What the executor gets for a reply of the model: bounds, a plan, a proposal or an answer.
    Never raises.

    `tools` are all that are known: calls are recognised by them. Which may be called the executor
    decides. `phrases` are the runtime's own words.
    """
    request, envelope = message.data, _envelope(message)
    about: dict[str, Any] = {"thought_id": request.thought_id, "usage": reply.usage}
    match request.kind:
        case ThoughtKind.BOUNDS:
            return BoundsDrafted(
                **envelope, data=BoundsDrafted.Data(**about, bounds=draft_bounds(reply))
            )
        case ThoughtKind.PLAN:
            drafted = draft_plan(reply)
            about["bounds"] = draft_bounds(reply)
            if isinstance(drafted, Plan):
                return PlanDrafted(**envelope, data=PlanDrafted.Data(**about, plan=drafted))
            about |= {"fault": drafted, "question": asked_in_place(reply)}
            return PlanDrafted(**envelope, data=PlanDrafted.Data(**about))
        case ThoughtKind.ACT | ThoughtKind.REASON | ThoughtKind.ROUTE:
            proposal = without_guesses(
                draft_proposal(reply, tools, in_words=request.kind is ThoughtKind.REASON)
            )
            if not proposal.calls:
                proposal = msgspec.structs.replace(
                    proposal, content=_marked(proposal.content, reply, phrases)
                )
            data = ActionProposed.Data(**about, step_id=request.step_id or "", proposal=proposal)
            return ActionProposed(**envelope, data=data)
        case ThoughtKind.ANSWER:
            proposal = draft_proposal(reply, tools, in_words=True)
            answer = _answer(reply, request.thought_id, proposal, tools, phrases)
            return AnswerDrafted(**envelope, data=answer)
        case _:
            assert_never(request.kind)


def chosen(message: ToPlanner, decision: dict[str, Any]) -> ActionProposed:
    """Whom a function chose for the task, as a model would say it."""
    thought, call = message.data.thought_id, ProposedCall(tool=ROUTE, arguments=decision)
    data = ActionProposed.Data(thought_id=thought, step_id="", proposal=Proposal(calls=(call,)))
    return ActionProposed(**_envelope(message), data=data)


def _marked(words: str, reply: Reply, phrases: Phrases) -> str:
    """Words for people; those that end where the model had no tokens left say so."""
    return f"{words} [{phrases.cut_off}]" if reply.cut and words else words


def _answer(
    reply: Reply,
    thought: str,
    proposal: Proposal,
    tools: Mapping[str, ToolSpec],
    phrases: Phrases,
) -> AnswerDrafted.Data:
    """An answer is words; a reply that is a call is reported as one, since no tool can be called
    any more, and so is a supervisor's decision (I3). Calls beside words are words from the first.
    """
    whole, told = reply.content, without_thoughts(reply.content)
    beside = any(map(str.isalnum, take_apart(whole).prose if proposal.content else ""))
    read = reply.calls or not beside
    called = tuple(call.tool for call in proposal.calls if call.tool != END_STEP) if read else ()
    # Words may quote what looks like pieces of a call: a line of a file, a key of a configuration.
    calls = reply.calls or only_calls(told, (), tools)
    in_words = len(whole) <= MAX_BODY and not calls and quoted(whole) and quoted(told)
    return AnswerDrafted.Data(
        thought_id=thought,
        text=proposal.content if called else _marked(said(reply), reply, phrases),
        called=called,
        faults=() if in_words and not called else proposal.faults,
        usage=reply.usage,
    )


def words_of(reply: Reply) -> str:
    """The model's own words as they are kept: its text, then its native calls as JSON, a line
    each.
    """
    calls = [
        json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)
        for call in reply.calls
    ]
    return without_surrogates("\n".join([reply.content, *calls] if reply.content else calls))[
        :MAX_RAW
    ]


def failed(message: ToPlanner, error: HaltpointError) -> ThoughtFailed:
    """The thought that cannot be had, and why."""
    request = message.data
    words = without_surrogates(f"{error.what}: {error.why}. {error.fix}")[
        :MAX_ERROR
    ]  # some are the server's own
    data = ThoughtFailed.Data(
        thought_id=request.thought_id, kind=request.kind, code=error.code, message=words
    )
    return ThoughtFailed(**_envelope(message), data=data)


def _envelope(message: ToPlanner) -> dict[str, Any]:
    thought_id, now = message.data.thought_id, datetime.now(UTC).isoformat(timespec="milliseconds")
    about = {
        "id": f"{thought_id}/reply",
        "source": "haltpoint/planner",
        "subject": chain_of(thought_id),
        "time": now,
    }
    return {**about, "traceparent": message.traceparent}
