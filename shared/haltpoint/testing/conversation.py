"""A chat completion request as the rules of a script see it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

_TOLD: Final = re.compile(r"^(\S+) was called with .*\. Its result:\n", re.MULTILINE)
_GOAL: Final = re.compile(r"^Goal: (.*)$", re.MULTILINE)
_SHOWN: Final = re.compile(r"^- ([^\s:(]+): ", re.MULTILINE)
_KNOWN: Final = re.compile(r"^Known about the task: (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A request as rules see it. `results` are (tool, result) in order; values of headers are None when absent.

    `known` is the task's context as the prompt tells it, `shown` are the tools that a thought about the goal lists.
    """

    thought: str | None = None
    step: str | None = None
    turn: int | None = None
    attempt: int | None = None
    goal: str = ""
    last: str = ""
    results: tuple[tuple[str, Any], ...] = ()
    known: str = ""
    shown: tuple[str, ...] = ()
    system: str = ""

    @classmethod
    def of(cls, headers: Mapping[str, str], body: Mapping[str, Any]) -> Self:
        """From the headers (names in lower case) and the body of a chat completion request."""
        messages = [message for message in body.get("messages") or () if isinstance(message, dict)]
        spoken = [str(message.get("content") or "") for message in messages if message.get("role") == "user"]
        said = "\n".join(spoken)
        goal, known = _GOAL.search(said), _KNOWN.search(said)
        return cls(
            headers.get("x-haltpoint-thought"),
            headers.get("x-haltpoint-step"),
            _number(headers.get("x-haltpoint-turn")),
            _number(headers.get("x-haltpoint-attempt")),
            goal[1] if goal else (spoken[0] if spoken else ""),
            spoken[-1] if spoken else "",
            tuple(_results(messages)),
            known[1] if known else "",
            tuple(_SHOWN.findall(said)),
            "\n".join(str(message.get("content")) for message in messages if message.get("role") == "system"),
        )


def _results(messages: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    """All results in the conversation, from messages of the role tool and from those that a prompt tells as text."""
    names: dict[Any, str] = {}
    found: list[tuple[str, Any]] = []
    for message in messages:
        for call in message.get("tool_calls") or ():
            names[call.get("id")] = str(call.get("function", {}).get("name"))
        content = str(message.get("content") or "")
        if message.get("role") == "tool":
            found.append((names.get(message.get("tool_call_id"), str(message.get("name"))), _json_at(content, 0)))
        elif message.get("role") == "user":
            found += [(told[1], _json_at(content, told.end())) for told in _TOLD.finditer(content)]
    return found


def _json_at(text: str, start: int) -> Any:
    try:
        return json.JSONDecoder().raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return {}


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None
