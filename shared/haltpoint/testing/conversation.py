"""A chat completion request as the rules of a script see it."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

_TOLD: Final = re.compile(r"^(\S+) was called with .*\. Its result:\n+", re.MULTILINE)
_GOAL: Final = re.compile(r"^Goal: (.*)$", re.MULTILINE)
_SHOWN: Final = re.compile(r"^- ([^\s:(]+): ", re.MULTILINE)
_NOT_STARTED: Final = "not started: "
"""How a prompt answers a call of a message that did not run: it has no result."""
_KNOWN: Final = re.compile(r"^Known about the task: (.*)$", re.MULTILINE)

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A request as rules see it. What is in its headers is None when it is not there."""

    thought: str | None = None
    step: str | None = None
    turn: int | None = None
    attempt: int | None = None
    goal: str = ""
    # The last message to the model.
    last: str = ""
    # Tool and result, in order.
    results: tuple[tuple[str, Any], ...] = ()
    # The task's context, as the prompt shows it.
    known: str = ""
    # The tools that a thought about the goal lists.
    shown: tuple[str, ...] = ()
    # All that comes before the messages.
    system: str = ""

    @property
    def result(self) -> Any:
        """The last result."""
        return self.results[-1][1] if self.results else {}

    @property
    def answered(self) -> tuple[str, ...]:
        """The tools that have a result."""
        return tuple(tool for tool, _ in self.results)

    @classmethod
    def of(cls, headers: Mapping[str, str], body: Message) -> Self:
        """From the headers (names in lower case) and the body of a chat completion request."""
        messages = [message for message in body.get("messages", ()) if isinstance(message, dict)]
        spoken = _by(messages, "user", "tool") or [""]
        said = "\n".join(spoken)
        return cls(
            thought=headers.get("x-haltpoint-thought"),
            step=headers.get("x-haltpoint-step"),
            turn=_number(headers.get("x-haltpoint-turn", "")),
            attempt=_number(headers.get("x-haltpoint-attempt", "")),
            goal=_first(_GOAL, said, spoken[0]),
            last=spoken[-1],
            results=tuple(_results(messages)),
            known=_first(_KNOWN, said, ""),
            shown=tuple(_SHOWN.findall(said)),
            system="\n".join(_by(messages, "system")),
        )


def _by(messages: Sequence[Message], *roles: str) -> list[str]:
    """The messages of these roles."""
    return [_content(message) for message in messages if message.get("role") in roles]


def _content(message: Message) -> str:
    return str(message.get("content") or "")


def _first(pattern: re.Pattern[str], text: str, otherwise: str) -> str:
    match = pattern.search(text)
    return match[1] if match else otherwise


def _results(messages: Sequence[Message]) -> Iterator[tuple[str, Any]]:
    """All results in the conversation, from messages of the role tool and from those that a prompt
    shows as text.
    """
    names: dict[Any, str] = {}
    for message in messages:
        content = _content(message)
        for call in message.get("tool_calls") or ():
            names[call.get("id")] = str(call["function"]["name"])
        if message.get("role") == "tool" and not content.startswith(_NOT_STARTED):
            name = names.get(message.get("tool_call_id"))
            yield name or str(message.get("name")), _json_at(content, 0)
        elif message.get("role") == "user":
            for match in _TOLD.finditer(content):
                yield match[1], _json_at(content, match.end())


def _json_at(text: str, start: int) -> Any:
    try:
        value, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return {}
    return value


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None
