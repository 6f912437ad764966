"""The parts of a question that some servers refuse and others need, and what is sent in their
place. A tool's schema is simplified for that tool alone.
"""

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

Body = dict[str, Any]
Schema = dict[str, Any]


class Part(NamedTuple):
    """Something that a question can do without."""

    what: str
    """A key of the question, or `_REFS`, `_KEYWORDS` or `_SCHEMA` of a tool."""
    tool: str = ""

    def __str__(self) -> str:
        return f"{self.what} of {self.tool}" if self.tool else self.what


_REFS: Final = "$ref"
"""References in a schema: they are written out."""
_KEYWORDS: Final = "keywords"
"""What a schema says beyond `_SIMPLE`."""
_SCHEMA: Final = "parameters"
"""The whole schema: any object will do."""

_LONGER: Final = "max_completion_tokens"
_OF_A_QUESTION: Final = (
    "tool_choice",
    "response_format",
    "temperature",
    "max_tokens",
    _LONGER,
    "stream_options",
    "stream",
    "messages",
)
_OF_A_TOOL: Final = (_REFS, _KEYWORDS, _SCHEMA)
_TOOLS: Final = Part("tools")
"""All of them, for a model that knows none: it writes its calls into its words."""
_IN_A_MESSAGE: Final = frozenset({"role", "content", "tool_calls", "tool_call_id"})
_IN_A_CALL: Final = frozenset({"id", "type", "function"})
_SIMPLE: Final = frozenset({"type", "description", "enum", "properties", "required", "items"})
_DEEPEST: Final = 6
"""Levels to which a schema that contains itself is written out."""


def parts_of(body: Body, known: Sequence[Part]) -> list[Part]:
    """What this question could do without beyond the parts that are `known`, in a fixed order."""
    base = without(body, known)
    names = [tool["function"]["name"] for tool in body.get("tools", ())]
    parts = [Part(name) for name in _OF_A_QUESTION]
    parts += [Part(what, name) for what in _OF_A_TOOL for name in names]
    parts.append(_TOOLS)
    return [part for part in parts if part.what == _LONGER or without(body, (*known, part)) != base]


def named_in(words: str, parts: Sequence[Part]) -> list[Part]:
    """Those of these parts that the words of a refusal name: a hint, and no more."""
    return [part for part in parts if (part.tool or part.what) in words and part != _TOOLS]


def without(body: Body, parts: Sequence[Part]) -> Body:
    """The question without these parts."""
    left = dict(body)
    for part in sorted(parts, key=lambda part: part.what == _LONGER):
        if part.tool:
            tools = left.get("tools", ())
            left |= {"tools": [_simpler(tool, part) for tool in tools]} if tools else {}
        elif part.what == "messages":
            left["messages"] = [_bare(message) for message in left["messages"]]
        else:
            value = left.pop(part.what, None)
            if part.what == "max_tokens" and value is not None:
                left[_LONGER] = value
    if "stream" not in left:
        left.pop("stream_options", None)
    if _TOOLS in parts:
        left.pop("tool_choice", None)
        left["messages"] = [_in_words(message) for message in left["messages"]]
    return left


def _bare(message: dict[str, Any]) -> dict[str, Any]:
    """A message without what only its provider understands."""
    kept = {name: value for name, value in message.items() if name in _IN_A_MESSAGE}
    calls = kept.get("tool_calls")
    if calls:
        kept["tool_calls"] = [_only(call, _IN_A_CALL) for call in calls]
    return kept


def _in_words(message: dict[str, Any]) -> dict[str, Any]:
    """A message without calls; they, and their results, are words."""
    if message["role"] == "tool":
        return {"role": "user", "content": f"Result: {message['content']}"}
    if "tool_calls" not in message:
        return message
    functions = [call["function"] for call in message["tool_calls"]]
    words = [message.get("content") or "", *map(json.dumps, functions)]
    return {"role": "assistant", "content": "\n".join(words).strip()}


def _only(value: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: inner for name, inner in value.items() if name in names}


def _simpler(tool: dict[str, Any], part: Part) -> dict[str, Any]:
    function = tool["function"]
    if function["name"] != part.tool:
        return tool
    schema = function["parameters"]
    if part.what == _SCHEMA:
        schema = {"type": "object", "properties": {}}
    else:
        schema = written_out(schema)
    if part.what == _KEYWORDS:
        schema = _plain(schema)
    return {**tool, "function": {**function, "parameters": schema}}


def written_out(schema: Schema) -> Schema:
    """The schema without references; where it contains itself, anything goes from some depth on."""

    def write(value: Any, depth: int) -> Any:
        if isinstance(value, list):
            return [write(item, depth) for item in value]
        if not isinstance(value, dict):
            return value
        properties = value.get("properties")
        written = {name: write(inner, depth) for name, inner in value.items() if name not in _NAMED}
        if isinstance(properties, dict):
            written["properties"] = {name: write(each, depth) for name, each in properties.items()}
        reference = value.get("$ref")
        if isinstance(reference, str) and depth < _DEEPEST:
            written = write(_at(schema, reference), depth + 1) | written
        return written

    whole: Schema = write(schema, 0)
    return whole


_NAMED: Final = frozenset({"$ref", "$defs", "definitions", "properties"})


def _at(schema: Schema, reference: str) -> Any:
    """What a reference inside of the schema leads to; nothing for any other."""
    place: Any = schema
    for name in reference.removeprefix("#").split("/")[1:]:
        key = name.replace("~1", "/").replace("~0", "~")
        place = place.get(key, {}) if isinstance(place, dict) else {}
    return place


def _plain(schema: Any, are_names: bool = False) -> Any:
    """A schema without references in the words that every server knows; what needs others may be
    anything. `are_names`: its keys are those of properties.
    """
    if not isinstance(schema, dict):
        return schema
    return {
        name: _plain(inner, name == "properties" and not are_names)
        for name, inner in schema.items()
        if are_names or name in _SIMPLE
    }
