"""The parts of a question that some servers refuse and others need: the table of what is sent in
their place. A part of a tool's schema is left out for that tool alone.
"""

import json
import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, Final, NamedTuple

from haltpoint.contracts.base import JsonObject
from haltpoint_planner.parsing.completions import words_in
from haltpoint_planner.prompting.tool_forms import call_schema

Change = Callable[[JsonObject], JsonObject]

_IN_A_MESSAGE: Final = ("role", "content", "tool_calls", "tool_call_id")
_IN_A_CALL: Final = ("id", "type", "function")
_SIMPLE: Final = ("type", "description", "enum", "required", "items", "properties")
"""Words of a schema that every server knows."""
_ALL: Final = "parameters"
_REFERENCE: Final = "$ref"
_DEFINITIONS: Final = ("$defs", "definitions")
_OF_SCHEMAS: Final = ("properties", "patternProperties", "dependentSchemas", *_DEFINITIONS)
"""Words of a schema below which names are free."""
_OF_VALUES: Final = ("enum", "const", "default", "examples")
"""Words of a schema below which there is no schema."""
_DEEPEST: Final = 6
"""Levels to which a schema that contains itself is written out."""


class Part(NamedTuple):
    """Something that a question can do without."""

    what: str
    """A key of `_OF_A_QUESTION`; of a tool: a word of its schema, or all `parameters`."""
    tool: str = ""

    def __str__(self) -> str:
        return " of ".join(filter(None, self))

    def hits(self, words: str) -> int:
        """How well the words of a refusal fit it: a hint, and no more."""
        return sum(name in words for name in self if name)


def parts_of(body: JsonObject) -> list[Part]:
    """What this question can do without, in a fixed order."""
    parts = [Part(what) for what, change in _OF_A_QUESTION.items() if change(body) != body]
    for tool in body.get("tools", ()):
        parts += _parts_of_tool(tool["function"])
    return sorted(parts, key=TOOLS.__eq__)


def without(body: JsonObject, parts: Sequence[Part]) -> JsonObject:
    """The question without these parts."""
    if parts and "tools" in body:
        body = _with_simpler_tools(body, parts)
    for part in parts:
        if not part.tool:
            body = _OF_A_QUESTION[part.what](body)
    return body


class Search:
    """The search for a part that is refused in these `words`: without `low` parts the question was
    refused, without `high` it was taken, or there are not so many.
    """

    def __init__(self, words: str, parts: Sequence[Part]) -> None:
        self.words = words
        self.parts = sorted(parts, key=lambda part: -part.hits(words))
        self.low = 0
        self.high = len(parts) + 1

    def next(self) -> int:
        """How many parts to leave out now: those that the refusal names one after the other; else
        all, then fewer again.
        """
        if self.high <= len(self.parts):
            return (self.low + self.high) // 2
        part = self.parts[self.low]
        is_named = part.hits(self.words)
        return self.low + 1 if is_named else len(self.parts)


# ---- the schema of a tool


def _parts_of_tool(function: JsonObject) -> list[Part]:
    """References are written out first; at last nothing is said of its arguments. A name that is no
    word of the schema changes nothing.
    """
    schema = function["parameters"]
    names = re.findall(r'"([^"]+)": ', json.dumps(schema))
    words = dict.fromkeys((_REFERENCE, *names, _ALL))
    rarer = [word for word in words if word not in _SIMPLE and _simpler(schema, word) != schema]
    return [Part(word, function["name"]) for word in rarer]


def _with_simpler_tools(body: JsonObject, parts: Sequence[Part]) -> JsonObject:
    """The question with simpler tools, also in the form of a call."""
    places = body.keys() & {"tools", "response_format"}
    body = body | {name: deepcopy(body[name]) for name in places}
    functions = {tool["function"]["name"]: tool["function"] for tool in body["tools"]}
    for part in parts:
        if part.tool in functions:
            function = functions[part.tool]
            function["parameters"] = _simpler(function["parameters"], part.what)
    if "response_format" in body:
        body["response_format"]["json_schema"]["schema"] = call_schema(body["tools"])
    return body


def _simpler(schema: JsonObject, word: str) -> Any:
    if word == _ALL:
        return {"type": "object", "properties": {}}
    if word == _REFERENCE:
        return _written_out(schema)
    return _changed(schema, _lacking(word))


def _written_out(schema: JsonObject) -> Any:
    """The schema without references. What contains itself may be anything from some depth on."""

    def write(part: JsonObject) -> JsonObject:
        if _REFERENCE not in part:
            return part
        return {**_at(schema, part[_REFERENCE]), **_lacking(_REFERENCE)(part)}

    whole = _lacking(*_DEFINITIONS)(schema)
    for _ in range(_DEEPEST):
        whole = _changed(whole, write)
    return _changed(whole, _lacking(_REFERENCE))


def _changed(part: Any, change: Change) -> Any:
    """A schema with each one in it changed, the inner ones first."""
    if isinstance(part, list):
        return [_changed(each, change) for each in part]
    if not isinstance(part, dict):
        return part
    whole = dict(part)
    for word, value in part.items():
        if word in _OF_SCHEMAS and isinstance(value, dict):
            whole[word] = {name: _changed(inner, change) for name, inner in value.items()}
        elif word not in _OF_VALUES:
            whole[word] = _changed(value, change)
    return change(whole)


def _at(schema: JsonObject, reference: object) -> JsonObject:
    """What a reference inside of the schema leads to; nothing for any other."""
    place: Any = schema
    for name in str(reference).split("/")[1:]:
        key = name.replace("~1", "/").replace("~0", "~")
        place = place.get(key) if isinstance(place, dict) else None
    return place if isinstance(place, dict) else {}


# ---- the rest of a question


def _lacking(*names: str) -> Change:
    return lambda body: {name: value for name, value in body.items() if name not in names}


def _only(value: JsonObject, names: Sequence[str]) -> JsonObject:
    return {name: inner for name, inner in value.items() if name in names}


def _renamed(body: JsonObject) -> JsonObject:
    """Newer models of OpenAI know their limit of tokens by this name alone."""
    names = {"max_tokens": _LONGER}
    return {names.get(name, name): value for name, value in body.items()}


def _bare(body: JsonObject) -> JsonObject:
    """Messages without what only their provider understands."""
    messages = [_only(message, _IN_A_MESSAGE) for message in body["messages"]]
    for message in messages:
        if message.get("tool_calls"):
            message["tool_calls"] = [_only(call, _IN_A_CALL) for call in message["tool_calls"]]
    return {**body, "messages": messages}


def _in_words(body: JsonObject) -> JsonObject:
    """Without tools, for a model that knows none: it writes its calls into its words."""
    if "tools" not in body:
        return body
    messages = list(map(_as_words, body["messages"]))
    return {**_lacking("tools", "tool_choice")(body), "messages": messages}


def _as_words(message: JsonObject) -> JsonObject:
    if message["role"] == "tool":
        return {"role": "user", "content": f"Result: {message['content']}"}
    if "tool_calls" not in message:
        return message
    calls = [json.dumps(call["function"]) for call in message["tool_calls"]]
    words = "\n".join([words_in(message), *calls])
    return {"role": "assistant", "content": words.strip()}


_LONGER: Final = "max_completion_tokens"
TOOLS: Final = Part("all tools")
"""A model that knows none writes its calls into its words."""
_OF_A_QUESTION: Final[dict[str, Change]] = {
    "tool_choice": _lacking("tool_choice"),
    "response_format": _lacking("response_format"),
    "temperature": _lacking("temperature"),
    "max_tokens": _renamed,
    _LONGER: _lacking("max_tokens", _LONGER),
    "stream_options": _lacking("stream_options"),
    "stream": _lacking("stream", "stream_options"),
    "messages": _bare,
    TOOLS.what: _in_words,
}
