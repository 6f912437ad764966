"""A model that works as agents, each of which passes on what it is asked for."""

from typing import Final

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.work.routing import ROUTE
from tests.e2e.stubborn import calls, when

AGENTS_FILE: Final = """
[[agents]]
name = "desk"
description = "Takes every wish."
prompt = "You are the desk."
style = "react"
tools = ["lookup_contacts"]
agents = ["courier", "guard"]

[[agents]]
name = "courier"
description = "Finds a person and sends them a message."
prompt = "You are the courier."
style = "react"
tools = ["lookup_contacts", "send_message"]

[[agents]]
name = "guard"
description = "Watches a post."
style = "react"
tools = ["keep_watch"]
"""


def _route(agent: str, task: str) -> JsonObject:
    return calls(ROUTE, target_agent=agent, task=task)


_DELIVER: Final = r"^Deliver to (?P<name>\w+): (?P<words>.+)"
_FOUND: Final = "{{results.lookup_contacts.data.contact_id}}"
_BRIEF: Final = r"^Brief (?P<name>\w+) (?P<words>.+)"

AGENTS: Final[list[JsonObject]] = [
    when("reason", _BRIEF, {"content": "It was delivered."}, results=["route"]),
    when(
        "reason",
        _BRIEF,
        _route("courier", "Deliver to {{goal.name}}: {{goal.words}}"),
    ),
    when(
        "reason",
        _DELIVER,
        calls("lookup_contacts", query="{{goal.name}}"),
        without=["lookup_contacts"],
    ),
    when("reason", _DELIVER, {"content": "Delivered."}, results=["send_message"]),
    when("reason", _DELIVER, calls("send_message", recipient_id=_FOUND, content="{{goal.words}}")),
    when("reason", r"^Watch (?P<post>\w+)", calls("keep_watch", post="{{goal.post}}")),
]
