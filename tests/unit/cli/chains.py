"""Views of one chain at its moments, as the gateway would give them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.views.chains import ChainView
from haltpoint.runtime.views.story import tell

BEGUN = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
JOHNS = [
    {
        "id": "user_abc123",
        "title": "John Doe",
        "subtitle": "john.doe@example.com",
        "confidence": 0.95,
    },
    {
        "id": "user_def456",
        "title": "John Smith",
        "subtitle": "jsmith@example.com",
        "confidence": 0.85,
    },
    {
        "id": "user_ghi789",
        "title": "Jonathan Lee",
        "subtitle": "jon.lee@example.com",
        "confidence": 0.45,
    },
]
PROPOSED = {
    "id": "c1.find.t1.1",
    "calls": [
        {"tool": "lookup_contacts", "arguments": {"query": "John"}},
        {"tool": "send_message", "arguments": {"recipient_id": "user_123"}},
    ],
}
NEVER = {
    "at": BEGUN,
    "step_id": "find",
    "tool": "send_message",
    "call": 2,
    "reason": "a person was asked first",
    "arguments": {"recipient_id": "user_123"},
}


def after(seconds: float) -> datetime:
    """So long after the chain was submitted."""
    return BEGUN + timedelta(seconds=seconds)


def chain(**changes: Any) -> ChainView:
    """A view with its story."""
    view: JsonObject = {
        "id": "c1",
        "status": "executing",
        "goal": "Tell John I'm running late",
        "created_at": BEGUN,
        "updated_at": BEGUN + timedelta(seconds=1.2),
        "deadline": BEGUN + timedelta(days=7),
        **changes,
    }
    shown = ChainView.model_validate(view)
    return shown.model_copy(update={"story": tell(shown)})


def step(name: str, tool: str, status: str = "in_progress", **changes: Any) -> JsonObject:
    """It began with its chain, unless it is still to come or `started_at` says otherwise."""
    return {
        "started_at": None if status in ("pending", "skipped") else BEGUN,
        "id": name,
        "description": {"find": "Find the contact", "send": "Send the message"}.get(name, name),
        "step_type": "tool",
        "required_tools": [tool],
        "status": status,
        **changes,
    }


def action(
    name: str,
    tool: str,
    arguments: JsonObject,
    receipt: JsonObject | None = None,
    *,
    at: float = 0,
) -> JsonObject:
    """It began so many seconds after its chain, and ended half a second later."""
    status = "dispatched" if receipt is None else "done"
    return {
        "id": f"c1.{name}",
        "tool": tool,
        "arguments": arguments,
        "status": status,
        "receipt": receipt,
        "started_at": after(at),
        "ended_at": None if receipt is None else after(at + 0.5),
    }


def request(answer: JsonObject | None = None) -> JsonObject:
    return {
        "id": "c1.r1",
        "chain_id": "c1",
        "step_id": "find",
        "action_id": "c1.find.1",
        "tool": "lookup_contacts",
        "kind": "clarification",
        "status": "answered" if answer else "open",
        "question": "Which 'John' do you mean?",
        "options": JOHNS,
        "asked_at": BEGUN,
        "deadline": BEGUN,
        "answer": {
            "by": "ada",
            "way": "cli",
            "at": BEGUN,
            "answer": {"kind": "clarification", **answer},
        }
        if answer
        else None,
    }


def stopped() -> ChainView:
    """Three Johns: a person is asked, and the send that was proposed with the lookup never runs."""
    lookup = {**action("find.1", "lookup_contacts", {"query": "John"}), "status": "asking"}
    return chain(
        status="awaiting_clarification",
        current={"step_id": "find", "tool": "lookup_contacts", "index": 0},
        steps=[
            step("find", "lookup_contacts", "waiting", actions=[lookup], thoughts=[PROPOSED]),
            step("send", "send_message", "pending"),
        ],
        requests=[request()],
        never_executed=[NEVER],
    )


def completed() -> ChainView:
    """The person chose, the message went out."""
    found = {
        "success": True,
        "next_action": "continue",
        "data": {"contact_id": "user_abc123", "selected": JOHNS[0]},
    }
    sent = {
        "success": True,
        "next_action": "continue",
        "data": {"message_id": "m1"},
        "metadata": {"duration_ms": 12},
    }
    say = {"recipient_id": "user_abc123", "content": "I'm running late"}
    return chain(
        status="completed",
        answer={
            "text": "I told John Doe.",
            "deeds": [
                {
                    "action_id": "c1.send.1",
                    "tool": "send_message",
                    "says": 'Message to "John Doe": "I\'m running late"',
                    "target": "user_abc123",
                    "at": BEGUN,
                }
            ],
        },
        steps=[
            step(
                "find",
                "lookup_contacts",
                "completed",
                validation_status="passed",
                thoughts=[PROPOSED],
                ended_at=after(0.6),
                actions=[action("find.1", "lookup_contacts", {"query": "John"}, found)],
            ),
            step(
                "send",
                "send_message",
                "completed",
                validation_status="passed",
                started_at=after(0.7),
                ended_at=after(1.2),
                actions=[action("send.1", "send_message", say, sent, at=0.7)],
            ),
        ],
        requests=[request({"option_id": "user_abc123", "decision": "select"})],
        never_executed=[NEVER],
        usage={"turns": 2, "actions": 2},
    )


def failed() -> ChainView:
    """Nobody is called Zorgblort."""
    error = {
        "error_type": "NOT_FOUND",
        "message": "Nobody is called 'Zorgblort'.",
        "suggestion": "Check the spelling.",
    }
    receipt = {"success": False, "next_action": "error", "error": error}
    return chain(
        status="failed",
        goal="Tell Zorgblort hello",
        error={"code": "HP-205", "message": "Nobody is called 'Zorgblort'.", "step_id": "find"},
        steps=[
            step(
                "find",
                "lookup_contacts",
                "failed",
                actions=[action("find.1", "lookup_contacts", {"query": "Zorgblort"}, receipt)],
            ),
            step("send", "send_message", "skipped"),
        ],
    )
