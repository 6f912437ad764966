"""What a model's reply says: the chat completion as its server sent it, and the JSON in its words
and arguments, read exactly (C9): nothing is repaired, and what cannot be read is said as what it
is.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from json import JSONDecodeError
from math import inf
from typing import Any, Final

import msgspec

from haltpoint.contracts.base import MAX_BODY, MAX_DEPTH, JsonObject
from haltpoint.contracts.strict_json import DIGITS, STRICT, StrictJsonError
from haltpoint.contracts.work.thoughts import Usage
from haltpoint_planner.exchange import Finish, Message, NativeCall, Reply
from haltpoint_planner.parsing.streams import errors_in, put_together

MAX_REPLY: Final = 8 * 1024 * 1024
"""Bytes of one HTTP answer."""
DONE: Final = re.compile(rb"^data: ?\[DONE\]", re.MULTILINE)
"""The last event. Some servers keep the connection open behind it."""
EVENTS: Final = re.compile(r"\s*(?:data|event|id|retry)?:")
"""The beginning of a row of events, whatever the content type says."""
_DATA: Final = re.compile(r"^data: ?(.*)$", re.MULTILINE)
_BROKEN_OFF: Final = {"error": "its reply broke off in the middle of an event"}

_COUNTS: Final = ("prompt_tokens", "completion_tokens", "total_tokens")
_MANY: Final = 2**53
"""Tokens that no reply takes."""
_FINISHES: Final = {
    Finish.STOP: re.compile(
        r"\A(?:stop(?:_sequence)?|tool_(?:calls?|use)|function_call|end(?:_turn)?|eos(?:_token)?"
        r"|completed?|finished|done|normal)?\Z"
    ),
    Finish.LENGTH: re.compile(r"length|max.*token|limit|window"),
    Finish.FILTER: re.compile(r"filter|safety|sensitive|prohibited|recitation"),
    Finish.OTHER: re.compile(r"malformed"),
    Finish.BROKEN: re.compile(r"error|resource|network|overload|unavailable|abort|cancel|timeout"),
}
"""The words of providers; of several that fit the last one counts."""

_MARKS: Final = r"---JSON_OUTPUT_START---|<tool_call>|```(?:json)?"
_OPENING: Final = re.compile(rf'(?:(?:{_MARKS})\s*+){{1,4}}+(?=\{{)|\A\s*+(?=\{{)|(?=\{{\s*+")')
_ANOTHER: Final = re.compile(r'\{\s*+"')
_CLOSING: Final = re.compile(r"\A(?:\s*+(?:---JSON_OUTPUT_END---|</tool_call>|```))*+\s*+")
_THINKING: Final = re.compile(r"\A\s*+<think>.*?(?:</think>|\Z)", re.DOTALL)

_END: Final = re.compile(r'\s*|"(?:[^"\\]|\\.)*\\?|\\?u?[0-9a-fA-F]{0,3}', re.DOTALL)
"""What is behind an error in a JSON that is cut off: nothing, a text or an escape without end."""

PARTIAL: Final = {
    Finish.LENGTH: "it is cut off: it reached its limit of tokens",
    Finish.FILTER: "the provider's content filter stopped it",
}
"""Why only a part of a call or plan is there."""


# ---- the body of a chat completion


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


_BODY: Final = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer)


def objects_in(text: str) -> list[JsonObject]:
    """The JSON objects of a body: itself, those of its list or of its events; an event that breaks
    off is an error.
    """
    is_row = EVENTS.match(text)
    values: list[Any] = []
    for document in map(str.strip, _documents(text) if is_row else [text]):
        try:
            value, _ = _BODY.raw_decode(document)
        except (ValueError, RecursionError):
            value = is_row and _BROKEN_OFF
        values += value if isinstance(value, list) else [value]
    return [value for value in values if isinstance(value, dict)]


def _documents(text: str) -> Iterator[str]:
    """The data of a row of events, of which an object may have several lines. What begins as no
    object is no part of a reply.
    """
    text = re.sub(r"\r\n?", "\n", text)
    for event in text.split("\n\n"):
        data = "\n".join(_DATA.findall(event))
        for document in re.split(r"\n(?=\{)", data):
            if document.lstrip().startswith("{"):
                yield document


def read_reply(text: str) -> Reply | None:
    """The reply in a body; None when it is no chat completion, has an error or breaks off."""
    objects = objects_in(text)
    try:
        whole = objects[0]
        if len(objects) > 1 or not whole["choices"][0].get("message"):
            whole = put_together(objects, is_done="[DONE]" in text[-100:])
        choice = {} if whole.get("error") else whole["choices"][0]
        return reply_of(choice["message"], whole.get("usage"), choice.get("finish_reason"))
    except (LookupError, TypeError, AttributeError):
        return _misread(objects)


def _misread(objects: Sequence[JsonObject]) -> Reply | None:
    """What a model said that its server could not read (Groq)."""
    for error in errors_in(objects):
        about = error.get("error")
        said = about.get("failed_generation") if isinstance(about, dict) else None
        if isinstance(said, str):
            return Reply(said)
    return None


def reply_of(message: Message, used: JsonObject | None, why: object) -> Reply:
    """The reply that is a provider's message; `why` it ends, for which they have many words."""
    calls: list[NativeCall] = []
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        name = str(function.get("name") or "")
        calls.append(NativeCall(name, function.get("arguments")))
    counts = [(used or {}).get(name) for name in _COUNTS]
    # Anything but a count counts as 0. Some leave thoughts out of all but the total.
    asked, said, both = (
        count if isinstance(count, int) and 0 < count < _MANY else 0 for count in counts
    )
    finish = Finish.OTHER
    reason = str(why or "").lower()
    for other, words in _FINISHES.items():
        if words.search(reason):
            finish = other
    usage = Usage(asked, max(said, both - asked))
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


# ---- JSON in words and arguments


class UnreadableError(Exception):
    """Why something cannot be read, as half of a sentence for the model."""


@dataclass(frozen=True, slots=True)
class Block:
    """The one JSON object of a text."""

    value: JsonObject
    beside: str
    """The words around it and its marks."""


def words_of(reply: Reply) -> str:
    """What a reply says, without the words in which it only thinks."""
    return _THINKING.sub("", without_surrogates(reply.content), count=1)


def without_surrogates(text: str) -> str:
    """The text with surrogate pairs joined and lone ones replaced by U+FFFD: what UTF-8 can
    hold.
    """
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def object_in(text: str) -> Block | None:
    """The one JSON object of a text, bare, in a fence, between the documents' markers or in
    <tool_call>. None: the text has no object. Raises UnreadableError.
    """
    if len(text) > MAX_BODY:
        raise UnreadableError(f"it has {len(text)} characters; at most {MAX_BODY} are read")
    opening = _OPENING.search(text)
    if opening is None:
        return None
    value, behind = _value_at(text, opening.end())
    if not isinstance(value, dict):
        return None
    return Block(value, f"{text[: opening.start()].rstrip()}\n{behind}".strip())


def arguments_in(given: object) -> JsonObject:
    """The arguments of a call: an object, or its JSON as a text, bare or in a fence; nothing, null
    and blanks are none. Raises UnreadableError.
    """
    value: Any = given if isinstance(given, str) else json.dumps(given)
    while isinstance(value, str) and value.strip():
        text = value.strip()
        opening = _OPENING.match(text)
        value, beside = _value_at(text, opening.end() if opening else 0)
        if beside:
            raise UnreadableError(f"it has words beside the JSON: {beside[:40]!r}")
    if isinstance(value, dict):
        return value
    if value is None or isinstance(value, str):
        return {}
    raise UnreadableError("they are not a JSON object")


def fields(value: JsonObject, others: Mapping[str, str]) -> JsonObject:
    """The object with names in snake_case, which the documents write in camelCase as well, and with
    one name for those that have `others`. Raises UnreadableError for a name that is there twice.
    """
    named: dict[str, str] = {}
    for name in value:
        plain = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
        before = named.setdefault(others.get(plain, plain), name)
        if before != name:
            raise UnreadableError(f"it has both {before} and {name}")
    return {plain: value[name] for plain, name in named.items()}


def _value_at(text: str, start: int) -> tuple[Any, str]:
    """The JSON value that begins at this place, and the words behind it and its marks."""
    try:
        value, end = STRICT.raw_decode(text, start)
        msgspec.json.encode(value)
        if _levels(value) > MAX_DEPTH:
            raise RecursionError
    except JSONDecodeError as error:
        how = "cut off" if _END.fullmatch(text, error.pos) else "broken"
        place = error.pos - start + 1
        raise UnreadableError(f"its JSON is {how} at character {place}: {error.msg}") from error
    except StrictJsonError as fault:
        raise UnreadableError(f"it is not JSON: {fault}") from fault
    except UnicodeEncodeError as error:
        raise UnreadableError("it is not JSON: it has half of a character") from error
    except RecursionError as error:
        why = f"its JSON is nested more than {MAX_DEPTH} levels deep"
        raise UnreadableError(why) from error
    behind = _CLOSING.sub("", text[end:], count=1)
    if _ANOTHER.search(behind):
        raise UnreadableError("it has two JSON objects where one is read")
    return value, behind.strip()


def _levels(value: Any) -> int:
    """How deep it is nested."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return 0
    return 1 + max(map(_levels, value), default=0)
