"""One line of a chain's log: the input, where it can be read again (the whole when it is small), and its facts.

Ids of the chain's own actions, requests and thoughts are written without the chain's id: they begin with the dot. A
fact that tells an action's id, step and number tells them once, as `action`; its id and step alone, as `about`.
"""

from typing import Any, Final, assert_never

from pydantic_core import from_json

from haltpoint.chain.model.outputs import Decision
from haltpoint.contracts import events
from haltpoint.contracts.events import Received
from haltpoint.runtime.streams.wire import encode

_IDS: Final = frozenset({"action_id", "request_id", "thought_id", "cached"})
"""Details of facts that are ids."""


def encode_line(chain_id: str, received: Received, decision: Decision, now: int) -> str:
    """A line as it is stored."""
    message = received.message
    line: dict[str, Any] = {"at": now, "type": message.type.rpartition(".")[0]}
    match message:
        case events.TaskSubmitted():
            pass
        case events.ToolCompleted():
            line["ref"] = _local(chain_id, message.data.action_id)
        case events.HumanAnswered():
            line["ref"] = _local(chain_id, message.data.request_id)
        case (
            events.IntentDrafted()
            | events.PlanDrafted()
            | events.ActionProposed()
            | events.AnswerDrafted()
            | events.ThoughtFailed()
        ):
            line["ref"] = _local(chain_id, message.data.thought_id)
        case events.TimerDue() | events.TaskCancelled() | events.MessageLost():
            line["data"] = message.data
        case _:
            assert_never(message)
    line["facts"] = [(fact.type.value, _short(chain_id, fact.details)) for fact in decision.facts]
    return encode(line).decode()


def decode_line(chain_id: str, text: str | bytes) -> dict[str, Any]:
    """A line with whole ids."""
    line: dict[str, Any] = from_json(text)
    if "ref" in line:
        line["ref"] = _whole(chain_id, line["ref"])
    line["facts"] = [(str(kind), _long(chain_id, details)) for kind, details in line.get("facts", ())]
    return line


def _short(chain_id: str, details: dict[str, Any]) -> dict[str, Any]:
    told = {**details}
    for name in _IDS.intersection(details):
        told[name] = _local(chain_id, details[name])
    step, _, number = told.get("action_id", "")[1:].rpartition(".")
    if step and told.get("step_id") == step:
        del told["step_id"]
        name = "about"
        if str(told.get("n")) == number:
            del told["n"]
            name = "action"
        return {name: told.pop("action_id"), **told}
    return told


def _long(chain_id: str, told: dict[str, Any]) -> dict[str, Any]:
    whole = {name: _whole(chain_id, one) if name in _IDS else one for name, one in told.items()}
    for name in ("action", "about"):
        if name in whole:
            action = whole.pop(name)
            step, _, number = action[1:].rpartition(".")
            n = {"n": int(number)} if name == "action" else {}
            return {"step_id": step, "action_id": chain_id + action, **n, **whole}
    return whole


def _local(chain_id: str, told: Any) -> Any:
    own = isinstance(told, str) and told.startswith(f"{chain_id}.")
    return told[len(chain_id) :] if own else told


def _whole(chain_id: str, told: Any) -> Any:
    own = isinstance(told, str) and told.startswith(".")
    return chain_id + told if own else told
