"""A chat completion, as its server sent it, as a `Reply`. One that comes whole is read as a stream
of one event: each event has a piece of the message, with all that the provider put beside words and
calls.
"""

import json
import re
from collections.abc import Sequence
from math import inf
from typing import Any, Final

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.strict_json import DIGITS
from haltpoint.contracts.work.thoughts import Usage
from haltpoint_planner.exchange import Finish, Message, NativeCall, Reply

_COUNTS: Final = ("prompt_tokens", "completion_tokens", "total_tokens")
_MANY: Final = 2**53
"""Tokens that no reply takes."""
MAX_REPLY: Final = 8 * 1024 * 1024
"""Bytes of one HTTP answer."""

DONE: Final = re.compile(rb"^data: ?\[DONE\]", re.MULTILINE)
"""The last event. Some servers keep the connection open behind it."""

EVENTS: Final = re.compile(r"\s*(?:data|event|id|retry)?:")
"""The beginning of a row of events, whatever the content type says."""
_DATA: Final = re.compile(r"^data:(.*)$", re.MULTILINE)
_LABELS: Final = frozenset({"role", "type", "id", "format", "model", "name"})
"""Fields that some servers repeat in each piece."""
_BROKEN_OFF: Final = {"error": "its reply broke off in the middle of an event"}

_WHOLE: Final = re.compile(
    r"(?:stop(?:_sequence)?|tool_(?:calls?|use)|function_call|end(?:_turn)?|eos(?:_token)?"
    r"|completed?|finished|done|normal)?"
)
_FINISHES: Final = {
    Finish.LENGTH: re.compile(r"length|max.*token|limit|window"),
    Finish.FILTER: re.compile(r"filter|safety|sensitive|prohibited|recitation"),
    Finish.OTHER: re.compile(r"malformed"),
    Finish.BROKEN: re.compile(r"error|resource|network|overload|unavailable|abort|cancel|timeout"),
}
"""The words of providers; of several that fit the last one counts."""


class _Repeating(dict[str, Any]):
    """An object that has a key twice: it is written as it came, and who reads arguments refuses
    it.
    """

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.items = lambda: pairs  # type: ignore[assignment,method-assign,return-value]


def _object(pairs: list[tuple[str, Any]]) -> JsonObject:
    named = dict(pairs)
    if len(named) == len(pairs):
        return named
    return _Repeating(pairs)


def _integer(digits: str) -> float:
    if len(digits) > DIGITS:
        return inf
    return int(digits)


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer)


def objects_in(text: str) -> list[JsonObject]:
    """The JSON objects of a body: itself, those of its list or of its events, whose data may have
    several lines. Data that begin as no object are no part of a reply; an event that breaks off is
    an error.
    """
    values: list[Any] = []
    if not EVENTS.match(text):
        value = _value(text, None)
        values += value if isinstance(value, list) else [value]
    else:
        for event in re.sub(r"\r\n?", "\n", text).split("\n\n"):
            lines = _DATA.findall(event)
            begun = [line for line in lines if line.lstrip().startswith("{")]
            whole = _value("\n".join(lines), None)
            values += [_value(line, _BROKEN_OFF) for line in begun] if whole is None else [whole]
    return [value for value in values if isinstance(value, dict)]


def _value(text: str, other: Any) -> Any:
    """The JSON value of a text; the other value where it is no JSON."""
    try:
        return _DECODER.decode(text.strip())
    except (ValueError, RecursionError):
        return other


def errors_in(objects: Sequence[JsonObject]) -> list[JsonObject]:
    """Those that say that something is wrong, whatever the status says."""
    return [each for each in objects if each.get("error") or each.get("object") == "error"]


def read_reply(text: str) -> Reply | None:
    """The reply in a body; None when it is no chat completion, has an error or breaks off. What a
    model said that its server could not read is its reply (Groq).
    """
    chunks = objects_in(text)
    for error in errors_in(chunks):
        about = error.get("error")
        said = about.get("failed_generation") if isinstance(about, dict) else None
        return reply_of({"content": said}, Usage(), "") if isinstance(said, str) else None
    try:
        return _reply(chunks, is_done="[DONE]" in text[-100:])
    except (LookupError, TypeError, AttributeError):
        return None


def _reply(chunks: Sequence[JsonObject], *, is_done: bool) -> Reply | None:
    message: Message = {"role": "assistant", "content": ""}
    used: JsonObject = {}
    why = ""
    choices: list[JsonObject] = []
    for chunk in chunks:
        used = chunk.get("usage") or used
        choices += chunk.get("choices") or ()
    for choice in choices:
        why = choice.get("finish_reason") or why
        if choice.get("message"):
            message = choice["message"]
            is_done = True
        else:
            message = _joined(message, choice.get("delta") or {})
    if not choices:
        return None
    # Anything but a count counts as 0. Some leave thoughts out of all but the total.
    asked, said, both = (_count(used.get(name)) for name in _COUNTS)
    usage = Usage(asked, max(said, both - asked))
    if not (is_done or why):
        why = "aborted"
    return reply_of(message, usage, str(why))


def _count(value: object) -> int:
    if not isinstance(value, int | float):
        return 0
    return int(value) if 0 < value < _MANY else 0


def reply_of(message: Message, usage: Usage, why: str) -> Reply:
    """The reply that is a provider's message; `why` it ends, for which they have many words."""
    calls: list[NativeCall] = []
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        name = str(function.get("name") or "")
        calls.append(NativeCall(name, function.get("arguments")))
    why = why.lower()
    finish = Finish.STOP if _WHOLE.fullmatch(why) else Finish.OTHER
    for other, words in _FINISHES.items():
        if words.search(why):
            finish = other
    return Reply(words_in(message), tuple(calls), usage, finish, message)


def words_in(message: Message) -> str:
    """The words of a message: its content, a text or a list of parts, or its refusal. Parts in
    which it thinks are none.
    """
    content = message.get("content")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if part.get("type", "text") == "text"]
        content = "\n".join(filter(None, texts))
    words = content or message.get("refusal")
    if not isinstance(words, str):
        return ""
    return words


def _joined(before: Any, piece: Any, field: str = "") -> Any:
    """A value with the next piece of it: texts continue, lists and objects are joined."""
    if piece in (None, ""):
        return before
    if isinstance(before, list) or isinstance(piece, list):
        return _with_items(_blocks(before), _blocks(piece))
    if isinstance(before, dict) and isinstance(piece, dict):
        next_of = {name: _joined(before.get(name), piece[name], name) for name in piece}
        return before | next_of
    if not (isinstance(before, str) and isinstance(piece, str)):
        return piece
    is_repeated = field in _LABELS and piece == before
    return piece if is_repeated else before + piece


def _blocks(value: Any) -> list[Any]:
    """A list as it is; words that come beside blocks are one."""
    if isinstance(value, list):
        return value
    if not value:
        return []
    return [{"type": "text", "text": value}]


def _with_items(items: list[Any], pieces: list[Any]) -> list[Any]:
    """A list with the next pieces of its items; what continues none is an item of its own."""
    joined = list(items)
    for piece in pieces:
        place = _place_of(piece, joined)
        if place is None:
            joined.append(piece)
        elif _says_again(joined[place], piece):
            joined[place] = _joined(joined[place], {**piece, "function": None})
        else:
            joined[place] = _joined(joined[place], piece)
    return joined


def _place_of(piece: Any, items: list[Any]) -> int | None:
    """The place of the item that a piece belongs to: the last one with its id, whatever its index;
    without one, the last one under its index.
    """
    if not isinstance(piece, dict):
        return None
    for name in ("id", "index"):
        for place in reversed(range(len(items))):
            is_equal = items[place].get(name) == piece.get(name)
            if is_equal and (name == "index" or piece.get("id")):
                return None if _begins_another(items[place], piece) else place
    return None


def _begins_another(item: JsonObject, piece: JsonObject) -> bool:
    """Whether a piece is no part of this item, as some servers give all items one index or id, or
    none: it has another id or type, or names a function behind whole arguments.
    """
    for name in ("id", "type"):
        if item.get(name) and piece.get(name) not in (None, "", item[name]):
            return True
    is_named = bool((piece.get("function") or {}).get("name"))
    is_elsewhere = item.get("index") != piece.get("index")
    is_begun = is_elsewhere or _arguments(item) is not None
    return is_named and is_begun and not _says_again(item, piece)


def _says_again(item: JsonObject, piece: Any) -> bool:
    """Whether a piece says a call with an id again, as the last chunk of some servers does: with
    its arguments, or without any.
    """
    whole = _arguments(item)
    if whole is None or not item.get("id"):
        return False
    said = (piece.get("function") or {}).get("arguments")
    return not said or _arguments(piece) == whole


def _arguments(call: JsonObject) -> JsonObject | None:
    """The arguments of a call, once they are whole; they may be JSON in JSON."""
    value = (call.get("function") or {}).get("arguments")
    while isinstance(value, str):
        value = _value(value, None)
    if isinstance(value, dict):
        return value
    return None
