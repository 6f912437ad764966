"""A chat completion, as its server sent it, as a `Reply`: words, native calls, tokens, and the
message itself.
"""

import json
from typing import Any, Final

from haltpoint.contracts.work.thoughts import Usage
from haltpoint_planner.exchange import Finish, NativeCall, Reply

MAX_REPLY: Final = 8 * 1024 * 1024
"""Bytes of one HTTP answer."""

_FINISHES: Final = {
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "content_filter": Finish.FILTER,
    "safety": Finish.FILTER,
}


def read_reply(body: str) -> Reply | None:
    """The reply in the body of an HTTP answer; None when it is no chat completion."""
    try:
        answer = json.loads(body)
        choice = answer["choices"][0]
        message = choice["message"]
        calls = tuple(map(_call, message.get("tool_calls") or ()))
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return None
    usage = answer.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    asked, said = _count(counts, "prompt_tokens"), _count(counts, "completion_tokens")
    used = Usage(input_tokens=asked, output_tokens=said)
    why = str(choice.get("finish_reason")).lower()
    finish = _FINISHES.get(why, Finish.STOP)
    return Reply(_words_in(message), calls, used, finish, message)


def _words_in(message: dict[str, Any]) -> str:
    """The words of a message: its content, a text or a list of parts, or its refusal. Parts in
    which it thinks are none.
    """
    content = message.get("content")
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        texts = [part.get("text") for part in parts if part.get("type", "text") == "text"]
        content = "\n".join(text for text in texts if isinstance(text, str))
    words = content or message.get("refusal")
    return words if isinstance(words, str) else ""


def _call(entry: dict[str, Any]) -> NativeCall:
    called = entry.get("function") or {}
    name, number = called.get("name"), entry.get("id")
    return NativeCall(str(name or ""), called.get("arguments"), str(number or ""))


def _count(counts: dict[str, Any], name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) and 0 <= value < 2**53 else 0
