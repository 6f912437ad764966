"""One line of a chain's log: the input, where it can be read again (the whole when it is small), and its facts.

Ids of the chain's own actions, requests and thoughts are written without the chain's id: they begin with the dot. A
fact that tells an action's id, step and number tells them once, as `action`; its id and step alone, as `about`.
"""

from typing import Any, Final

from pydantic_core import from_json

from haltpoint.chain.model.outputs import Decision
from haltpoint.contracts import events
from haltpoint.contracts.events import Received, ToExecutor
from haltpoint.contracts.facts import FactType
from haltpoint.runtime.streams.wire import encode

_IDS: Final = ("action_id", "request_id", "thought_id", "cached")
"""Details of facts that are ids."""


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
    own, message, kind = f"{chain_id}.", received.message, type(received.message)
    line: dict[str, Any] = {"at": now, "type": str(kind.__struct_config__.tag).rpartition(".")[0]}
    if kind in _REFERS:
        ref = getattr(message.data, _REFERS[kind])
        line["ref"] = ref[len(chain_id) :] if ref.startswith(own) else ref
    elif kind is not events.TaskSubmitted:
        line["data"] = message.data
    facts: list[tuple[FactType, dict[str, Any]]] = []
    line["facts"] = facts
    for fact in decision.facts:
        told = fact.details.copy()
        for name in _IDS:
            if name in told and isinstance(one := told[name], str) and one.startswith(own):
                told[name] = one[len(chain_id) :]
        if "action_id" in told and "step_id" in told:
            step, _, number = told["action_id"][1:].rpartition(".")
            if step == told["step_id"]:
                del told["step_id"]
                named = "about"
                if "n" in told and str(told["n"]) == number:
                    del told["n"]
                    named = "action"
                told = {named: told.pop("action_id"), **told}
        facts.append((fact.type, told))
    return encode(line).decode()


def decode_line(chain_id: str, text: str | bytes) -> dict[str, Any]:
    """A line with whole ids."""
    line: dict[str, Any] = from_json(text)
    if "ref" in line:
        line["ref"] = _whole(chain_id, line["ref"])
    line["facts"] = [(str(kind), _long(chain_id, details)) for kind, details in line.get("facts", ())]
    return line


def _long(chain_id: str, told: dict[str, Any]) -> dict[str, Any]:
    whole = {name: _whole(chain_id, one) if name in _IDS else one for name, one in told.items()}
    for name in ("action", "about"):
        if name in whole:
            action = whole.pop(name)
            step, _, number = action[1:].rpartition(".")
            n = {"n": int(number)} if name == "action" else {}
            return {"step_id": step, "action_id": chain_id + action, **n, **whole}
    return whole


def _whole(chain_id: str, told: Any) -> Any:
    own = isinstance(told, str) and told.startswith(".")
    return chain_id + told if own else told
