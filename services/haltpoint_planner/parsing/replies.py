"""A chat completion, as its server sent it, as a `Reply`: words, native calls, tokens, and the
message itself.
"""

import json
from typing import Any, Final

from haltpoint.contracts.work.thoughts import Usage
from haltpoint_planner.exchange import Finish, NativeCall, Reply

MAX_REPLY: Final = 8 * 1024 * 1024
"""Bytes of one HTTP answer."""

_FINISHES: Final = {"length": Finish.LENGTH, "content_filter": Finish.FILTER}


def read_reply(body: str) -> Reply | None:
    """The reply in the body of an HTTP answer; None when it is no chat completion."""
    try:
        answer = json.loads(body)
        message = answer["choices"][0]["message"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return None
    if not isinstance(message, dict):
        return None
    finish = answer["choices"][0].get("finish_reason")
    return Reply(
        content=_words_in(message),
        calls=tuple(map(_call, _dicts(message.get("tool_calls")))),
        usage=_usage(answer.get("usage")),
        finish=_FINISHES.get(str(finish), Finish.STOP),
        message=message,
    )


def _words_in(message: dict[str, Any]) -> str:
    """The words of a message: its content, a text or a list of parts, or its refusal. Parts in
    which it thinks are none.
    """
    content = message.get("content")
    if isinstance(content, list):
        texts = [part.get("text") for part in _dicts(content) if part.get("type", "text") == "text"]
        content = "\n".join(text for text in texts if isinstance(text, str))
    words = content or message.get("refusal")
    return words if isinstance(words, str) else ""


def _call(entry: dict[str, Any]) -> NativeCall:
    function = entry.get("function")
    called = function if isinstance(function, dict) else {}
    name = str(called.get("name") or "")
    return NativeCall(name, called.get("arguments"), str(entry.get("id") or ""))


def _usage(usage: object) -> Usage:
    counts = usage if isinstance(usage, dict) else {}
    return Usage(
        input_tokens=_count(counts.get("prompt_tokens")),
        output_tokens=_count(counts.get("completion_tokens")),
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**53 else 0


def _dicts(value: object) -> list[dict[str, Any]]:
    """The objects of a list; none when it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
