"""JSON in what a model wrote, read exactly (C9): nothing is repaired, and what cannot be read is
said as what it is.
"""

import json
import re
from dataclasses import dataclass
from json import JSONDecodeError
from typing import Any, Final

from haltpoint.contracts.base import MAX_BODY, MAX_DEPTH, JsonObject
from haltpoint.contracts.strict_json import StrictJsonError, strict_decoder, without_halves
from haltpoint.runtime.streams.wire import too_deep
from haltpoint_planner.exchange import Reply

_MARKS: Final = r"---JSON_OUTPUT_START---|<tool_call>|```(?:json)?"
_OPENING: Final = re.compile(rf'(?:(?:{_MARKS})\s*+){{1,4}}+(?=\{{)|\A\s*+(?=\{{)|(?=\{{\s*+")')
_ANOTHER: Final = re.compile(r'\{\s*+"')
_CLOSING: Final = re.compile(r"\A(?:\s*+(?:---JSON_OUTPUT_END---|</tool_call>|```))*+\s*+")
_THINKING: Final = re.compile(r"\A\s*+<think>.*?(?:</think>|\Z)", re.DOTALL)


CUT: Final = "it is cut off: it reached its limit of tokens"


class UnreadableError(Exception):
    """Why something cannot be read, as half of a sentence for the model."""


@dataclass(frozen=True, slots=True)
class Block:
    """The one JSON object of a text."""

    value: JsonObject
    beside: str
    """The words around it and its marks."""


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


def words_of(reply: Reply) -> str:
    """What a reply says, without the words in which it only thinks."""
    return _THINKING.sub("", without_surrogates(reply.content), count=1)


def fields(value: JsonObject) -> JsonObject:
    """The object with names in snake_case, which the documents write in camelCase as well. Raises
    UnreadableError for a name that is there twice.
    """
    named = {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower(): name for name in value}
    if len(named) < len(value):
        raise UnreadableError("one of its keys is there twice, in two spellings")
    return {plain: value[name] for plain, name in named.items()}


def without_surrogates(text: str) -> str:
    """The text with surrogate pairs joined and lone ones replaced by U+FFFD: what UTF-8 can
    hold.
    """
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _value_at(text: str, start: int) -> tuple[Any, str]:
    """The JSON value that begins at this place, and the words behind it and its marks."""
    try:
        value, end = _DECODER.raw_decode(text, start)
        without_halves(value)
        if too_deep(text[start:end].encode()):
            raise RecursionError
    except JSONDecodeError as error:
        place = error.pos - start + 1
        raise UnreadableError(f"its JSON is broken at character {place}: {error.msg}") from error
    except StrictJsonError as fault:
        raise UnreadableError(f"it is not JSON: {fault}") from fault
    except RecursionError as error:
        why = f"its JSON is nested more than {MAX_DEPTH} levels deep"
        raise UnreadableError(why) from error
    behind = _CLOSING.sub("", text[end:], count=1)
    if _ANOTHER.search(behind):
        raise UnreadableError("it has two JSON objects where one is read")
    return value, behind.strip()


_DECODER: Final = strict_decoder(strict=False)
