"""A model that works as two agents: one behaves well, one does what it may not, and says what it did not do."""

from typing import Any, Final

from haltpoint.contracts.work.routing import ROUTE
from tests.e2e.stubborn import when

AGENTS_FILE: Final = """
[[agents]]
name = "desk"
description = "Takes every wish."
prompt = "You are the desk."
style = "react"
tools = ["lookup_contacts"]
agents = ["courier", "finder", "guard"]

[[agents]]
name = "courier"
description = "Finds a person and sends them a message."
prompt = "You are the courier."
style = "react"
tools = ["lookup_contacts", "send_message"]

[[agents]]
name = "finder"
description = "Finds a person."
style = "react"
tools = ["lookup_*"]

[[agents]]
name = "guard"
description = "Watches a post."
style = "react"
tools = ["keep_watch"]
"""


def _call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


def _route(agent: str, task: str) -> dict[str, Any]:
    return _call(ROUTE, target_agent=agent, task=task)


_DELIVER: Final = r"^Deliver to (?P<name>\w+): (?P<words>.+)"
_FOUND: Final = "{{results.lookup_contacts.data.contact_id}}"
_BRIEF: Final = r"^Brief (?P<name>\w+) (?P<words>.+)"
_SHOUT: Final = r"^Shout (?P<name>\w+) (?P<words>.+)"
_RELAY: Final = r"^Relay (?P<name>\w+) (?P<words>.+)"
_FIND: Final = r"^Find (?P<name>\w+)"
_PASS: Final = r"^Pass (?P<id>\w+) the words (?P<words>.+)"
_MADE_UP: Final = r"^Blurt to (?P<name>\w+): (?P<words>.+)"

AGENTS: Final[list[dict[str, Any]]] = [
    when("reason", _BRIEF, {"content": "It was delivered."}, results=["route"]),
    when(
        "reason",
        _BRIEF,
        _route("courier", "Deliver to {{goal.name}}: {{goal.words}}"),
    ),
    when("reason", _DELIVER, _call("lookup_contacts", query="{{goal.name}}"), without=["lookup_contacts"]),
    when("reason", _DELIVER, {"content": "Delivered."}, results=["send_message"]),
    when("reason", _DELIVER, _call("send_message", recipient_id=_FOUND, content="{{goal.words}}")),
    # One agent looks the person up, another writes to the id that it is given.
    when("reason", _RELAY, {"content": "It was passed on."}, result={"data.agent": "courier"}),
    when("reason", _RELAY, _route("finder", "Find {{goal.name}}"), without=["route"]),
    when("reason", _RELAY, _route("courier", "Pass {{result.data.text}} the words {{goal.words}}")),
    when(
        "reason", r"^Find (?P<name>\w+)", _call("lookup_contacts", query="{{goal.name}}"), without=["lookup_contacts"]
    ),
    when("reason", _FIND, {"content": _FOUND}),
    when("reason", _PASS, {"content": "Passed on."}, results=["send_message"]),
    when("reason", _PASS, _call("send_message", recipient_id="{{goal.id}}", content="{{goal.words}}")),
    when("reason", r"^Watch (?P<post>\w+)", _call("keep_watch", post="{{goal.post}}")),
    # The careless one does the work of another agent itself, then has it done with an id that nobody has looked up.
    when("reason", _SHOUT, {"content": "I told them all."}, results=["route"]),
    when(
        "reason",
        _SHOUT,
        _call("send_message", recipient_id="user_jan001", content="{{goal.words}}"),
        attempt=1,
    ),
    when("reason", _SHOUT, _route("courier", "Blurt to {{goal.name}}: {{goal.words}}")),
    when("reason", _MADE_UP, {"content": "I sent it to user_jan001, and to all others too."}, attempt=2),
    when("reason", _MADE_UP, _call("send_message", recipient_id="user_made_up", content="{{goal.words}}")),
]
