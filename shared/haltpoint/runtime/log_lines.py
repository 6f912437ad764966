"""One line of a chain's log: the input, where it can be read again (the whole when it is small), and its facts.

Ids of the chain's own actions, requests and thoughts are written without the chain's id: they begin with the dot.
"""

from typing import Any, Final, assert_never

from pydantic_core import from_json, to_json

from haltpoint.chain.outputs import Decision
from haltpoint.contracts import events
from haltpoint.contracts.events import Received

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
    line["facts"] = [
        (
            fact.type.value,
            {name: _local(chain_id, told) if name in _IDS else told for name, told in fact.details.items()},
        )
        for fact in decision.facts
    ]
    return to_json(line).decode()


def decode_line(chain_id: str, text: str | bytes) -> dict[str, Any]:
    """A line with whole ids."""
    line: dict[str, Any] = from_json(text)
    if "ref" in line:
        line["ref"] = _whole(chain_id, line["ref"])
    line["facts"] = [
        (str(kind), {name: _whole(chain_id, told) if name in _IDS else told for name, told in details.items()})
        for kind, details in line.get("facts", ())
    ]
    return line


def _local(chain_id: str, told: Any) -> Any:
    own = isinstance(told, str) and told.startswith(f"{chain_id}.")
    return told[len(chain_id) :] if own else told


def _whole(chain_id: str, told: Any) -> Any:
    own = isinstance(told, str) and told.startswith(".")
    return chain_id + told if own else told
