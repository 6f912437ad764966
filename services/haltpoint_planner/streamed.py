"""A streamed chat completion (server-sent events), put together into the body of one that was not
streamed.
"""

import re
from typing import Any, Final

from haltpoint_planner.parsing.json_text import parse
from haltpoint_planner.parsing.replies import MAX_REPLY, REPLY_DEPTH, blocks_in, dicts

DONE: Final = re.compile(rb"^data: ?\[DONE\]", re.MULTILINE)
"""The last event. Some servers keep the connection open behind it."""

_EVENTS: Final = re.compile(r"\ufeff?\s*(?:data|event|id|retry)?:")


def is_stream(text: str) -> bool:
    """Whether a body is a row of events, whatever its content type says."""
    return _EVENTS.match(text) is not None


def whole(text: str) -> dict[str, Any] | None:
    """The chat completion that the events make, or the `error` among them; None when they are none
    or break off.
    """
    message: dict[str, Any] = {"content": "", "refusal": "", "tool_calls": []}
    usage: Any = None
    finished: Any = None
    done = False
    for event in _events(text):
        if done := event == "[DONE]":
            break
        found = parse(event, limit=MAX_REPLY, depth=REPLY_DEPTH)
        if found is None or not isinstance(found.value, dict):
            return None
        if found.value.get("error"):
            return {"error": found.value["error"]}
        usage = found.value.get("usage") or usage
        for choice in dicts(found.value.get("choices")):
            if not choice.get("index"):
                finished = choice.get("finish_reason") or finished
                _add(message, choice.get("delta") or choice.get("message"))
    if not done and finished is None:
        return None
    return {"choices": [{"message": message, "finish_reason": finished}], "usage": usage}


def _events(text: str) -> list[str]:
    """The data of each event; its lines are joined."""
    text = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    blocks = [
        [line for line in block.split("\n") if line.startswith("data:")]
        for block in text.split("\n\n")
    ]
    return ["\n".join(line[5:].removeprefix(" ") for line in block) for block in blocks if block]


def _add(message: dict[str, Any], delta: Any) -> None:
    if not isinstance(delta, dict):
        return
    message["content"] += blocks_in(delta.get("content"))[0]
    if isinstance(delta.get("refusal"), str):
        message["refusal"] += delta["refusal"]
    for part in dicts(delta.get("tool_calls")):
        if isinstance(part.get("function"), dict):
            _add_to_call(message["tool_calls"], part, part["function"])


def _add_to_call(
    calls: list[dict[str, Any]], part: dict[str, Any], function: dict[str, Any]
) -> None:
    """A piece belongs to the call of its index; without one, and under a new id, a name begins a
    call.
    """
    name, arguments = function.get("name"), function.get("arguments")
    same = [call for call in calls if call["index"] == part.get("index")]
    if not same or (
        name and (part.get("index") is None or part.get("id") not in (None, "", same[-1]["id"]))
    ):
        calls.append(
            {
                "index": part.get("index"),
                "id": part.get("id"),
                "function": {"name": name, "arguments": ""},
            }
        )
        same = calls[-1:]
    called = same[-1]["function"]
    called["name"] = called["name"] or name
    if isinstance(arguments, str) and isinstance(called["arguments"], str):
        called["arguments"] += arguments
    elif arguments is not None:
        called["arguments"] = arguments
