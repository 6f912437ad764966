"""What a model's server sent, in whatever provider's shape, as one value: words, native calls,
tokens.

OpenAI's chat completions are asked for; proxies pass on Anthropic's messages and Gemini's
candidates as they are, and so these are read too (C9).
"""

from typing import Any, Final

from haltpoint.contracts.work.thoughts import Usage
from haltpoint_planner.exchange import Finish, NativeCall, Reply
from haltpoint_planner.parsing.json_text import parse

MAX_REPLY: Final = 8 * 1024 * 1024  # bytes of one HTTP answer
REPLY_DEPTH: Final = 64

_FINISHES: Final = {
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "MAX_TOKENS": Finish.LENGTH,
    "content_filter": Finish.FILTER,
}
"""What providers call the ends of a reply that is not all that the model had to say."""


def read_reply(body: str) -> Reply | None:
    """The reply in an HTTP body; None when it has none of the known shapes. Never raises."""
    found = parse(body, limit=MAX_REPLY, depth=REPLY_DEPTH)
    if found is None or not isinstance(found.value, dict):
        return None
    return _of_any_provider(found.value)


def message_in(value: object) -> Reply | None:
    """The reply that a model wrote out as JSON in its words: a body, a message, a list of blocks;
    None for data.
    """
    if isinstance(value, list):
        value = {"content": value}
    if not isinstance(value, dict):
        return None
    content = value.get("content")
    bare = {"content": content if isinstance(content, dict) else {"parts": value.get("parts")}}
    reply = _of_any_provider(value) or _gemini({}, bare)
    return reply if reply.calls or reply.content else None


def blocks_in(content: object) -> tuple[str, list[NativeCall]]:
    """Words and calls of a message's content: a text, or a list of blocks or parts. Blocks of
    thinking are left out.
    """
    if isinstance(content, str):
        return content, []
    words: list[str] = []
    calls: list[NativeCall] = []
    for block in dicts(content):
        if block.get("type") == "tool_use":
            calls += _call(block, "input")
        elif isinstance(block.get("functionCall"), dict):
            calls += _call(block["functionCall"], "args")
        elif isinstance(block.get("text"), str) and not block.get("thought"):
            words.append(block["text"])
    return "\n".join(words), calls


def _of_any_provider(answer: dict[str, Any]) -> Reply | None:
    if choices := dicts(answer.get("choices")):
        return _openai(answer, choices[0])
    if candidates := dicts(answer.get("candidates")):
        return _gemini(answer, candidates[0])
    if isinstance(answer.get("content"), list):
        return _anthropic(answer)
    return None


def _openai(answer: dict[str, Any], choice: dict[str, Any]) -> Reply | None:
    message = choice.get("message")
    if not isinstance(message, dict):
        return None
    words, calls = blocks_in(message.get("content"))
    for entry in dicts(message.get("tool_calls")):
        calls += _call(entry.get("function"), "arguments", str(entry.get("id") or ""))
    if not words and isinstance(message.get("refusal"), str):
        words = message["refusal"]
    usage = _usage(answer.get("usage"), "prompt_tokens", "completion_tokens")
    return Reply(words, tuple(calls), usage, _finish(choice.get("finish_reason")), message)


def _anthropic(answer: dict[str, Any]) -> Reply:
    words, calls = blocks_in(answer["content"])
    usage = _usage(answer.get("usage"), "input_tokens", "output_tokens")
    return Reply(words, tuple(calls), usage, _finish(answer.get("stop_reason")))


def _gemini(answer: dict[str, Any], candidate: dict[str, Any]) -> Reply:
    content = candidate.get("content")
    words, calls = blocks_in(content.get("parts") if isinstance(content, dict) else None)
    usage = _usage(answer.get("usageMetadata"), "promptTokenCount", "candidatesTokenCount")
    return Reply(words, tuple(calls), usage, _finish(candidate.get("finishReason")))


def _finish(reason: object) -> Finish:
    return _FINISHES.get(str(reason), Finish.STOP)


def _call(called: object, arguments: str, name: str = "") -> list[NativeCall]:
    """The call that an object is, with its arguments in this field, under its id."""
    if not isinstance(called, dict):
        return []
    return [NativeCall(str(called.get("name") or ""), called.get(arguments), name)]


def _usage(usage: object, asked: str, said: str) -> Usage:
    counts = usage if isinstance(usage, dict) else {}
    return Usage(input_tokens=_count(counts.get(asked)), output_tokens=_count(counts.get(said)))


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**53 else 0


def dicts(value: object) -> list[dict[str, Any]]:
    """The objects of a list; none when it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
