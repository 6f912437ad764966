"""One line of a chain's log: the input, where it can be read again (a small one whole), and its
facts.

Ids of the chain's own actions, requests and thoughts are written without the chain's id: they begin
with the dot. A fact with an action's id, step and number has them once, as `action`; with its id
and step alone, as `about`.
"""

from typing import Any, Final

from pydantic_core import from_json

from haltpoint.chain.model.outputs import Decision
from haltpoint.contracts import events
from haltpoint.contracts.catalogue import BY_TYPE
from haltpoint.contracts.events import Received, ToExecutor
from haltpoint.runtime.streams.wire import encode

_IDS: Final = ("action_id", "request_id", "thought_id")
"""Details of facts that are ids."""

_NAMES: Final = {row.message: row.type.rpartition(".")[0] for row in BY_TYPE.values()}
"""Of the inputs, without the version."""

_REFERS: Final[dict[type[ToExecutor], str]] = {
    events.ToolCompleted: "action_id",
    events.HumanAnswered: "request_id",
    events.BoundsDrafted: "thought_id",
    events.PlanDrafted: "thought_id",
    events.ActionProposed: "thought_id",
    events.AnswerDrafted: "thought_id",
    events.ThoughtFailed: "thought_id",
}
"""Where an input can be read again: the field of its data that says it."""


def encode_line(chain_id: str, received: Received, decision: Decision, now: int) -> str:
    """A line as it is stored."""
    own = f"{chain_id}."
    message = received.message
    kind = type(message)
    line: dict[str, Any] = {"at": now, "type": _NAMES[kind]}
    if kind in _REFERS:
        line["ref"] = getattr(message.data, _REFERS[kind])
        if line["ref"].startswith(own):
            line["ref"] = line["ref"].removeprefix(chain_id)
    elif kind is not events.TaskSubmitted:
        line["data"] = message.data
    line["facts"] = [(fact.type, _short(own, fact.details)) for fact in decision.facts]
    return encode(line).decode()


def _short(own: str, details: dict[str, Any]) -> dict[str, Any]:
    short = details.copy()
    for name in _IDS:
        text = short.get(name)
        if text and text.startswith(own):
            short[name] = text[len(own) - 1 :]
    if "action_id" not in short or "step_id" not in short:
        return short
    action = short["action_id"]
    step, _, number = action[1:].rpartition(".")
    if step != short["step_id"]:
        return short
    del short["action_id"], short["step_id"]
    if str(short.get("n")) != number:
        return {"about": action, **short}
    del short["n"]
    return {"action": action, **short}


def decode_line(chain_id: str, text: str | bytes) -> dict[str, Any]:
    """A line with whole ids."""
    line: dict[str, Any] = from_json(text)
    if "ref" in line:
        line["ref"] = _whole(chain_id, line["ref"])
    facts = line.get("facts", ())
    line["facts"] = [(str(kind), _long(chain_id, details)) for kind, details in facts]
    return line


def _long(chain_id: str, short: dict[str, Any]) -> dict[str, Any]:
    details = short.copy()
    for name in _IDS:
        if name in details:
            details[name] = _whole(chain_id, details[name])
    action = details.pop("action", None)
    about = action or details.pop("about", None)
    if not about:
        return details
    step, _, number = about[1:].rpartition(".")
    named: dict[str, Any] = {"step_id": step, "action_id": chain_id + about}
    if action:
        named["n"] = int(number)
    return {**named, **details}


def _whole(chain_id: str, name: Any) -> Any:
    return chain_id + name if isinstance(name, str) and name.startswith(".") else name
