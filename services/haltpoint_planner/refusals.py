"""The parts of a question that some servers refuse and others need: the table of what is sent in
their place. A tool's schema is simplified for that tool alone.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from haltpoint_planner.parsing.completions import words_in

Body = dict[str, Any]
Schema = dict[str, Any]

_IN_A_MESSAGE: Final = ("role", "content", "tool_calls", "tool_call_id")
_IN_A_CALL: Final = ("id", "type", "function")
_SIMPLE: Final = ("type", "description", "enum", "required", "items")
"""Of a schema, beside its properties; every server knows them."""
_DEEPEST: Final = 6
"""Levels to which a schema that contains itself is written out."""


class Part(NamedTuple):
    """Something that a question can do without."""

    what: str
    """A key of `_OF_A_QUESTION`, or of `_OF_A_TOOL`."""
    tool: str = ""

    def __str__(self) -> str:
        return f"{self.what} of {self.tool}" if self.tool else self.what


def parts_of(body: Body) -> list[Part]:
    """What this question can do without, in a fixed order."""
    tools = [tool["function"]["name"] for tool in body.get("tools", ())]
    of_tools = [Part(what, tool) for what in _OF_A_TOOL for tool in tools]
    parts = [*map(Part, _OF_A_QUESTION), *of_tools, TOOLS]
    return [part for part in parts if _left_out(body, part) != body]


def named_in(words: str, parts: Sequence[Part]) -> list[Part]:
    """Those of these parts that the words of a refusal name: a hint, and no more."""
    others = [part for part in parts if part != TOOLS]
    return [part for part in others if (part.tool or part.what) in words]


def without(body: Body, parts: Sequence[Part]) -> Body:
    """The question without these parts."""
    for part in parts:
        body = _left_out(body, part)
    return body


def _left_out(body: Body, part: Part) -> Body:
    if part == TOOLS:
        return _in_words(body)
    if not part.tool:
        return _OF_A_QUESTION[part.what](body)
    tools = [_simpler(tool, part) for tool in body.get("tools", ())]
    return {**body, "tools": tools}


def _simpler(tool: dict[str, Any], part: Part) -> dict[str, Any]:
    function = tool["function"]
    if function["name"] != part.tool:
        return tool
    schema = _OF_A_TOOL[part.what](function["parameters"])
    return {**tool, "function": {**function, "parameters": schema}}


def _lacking(*names: str) -> Callable[[Body], Body]:
    return lambda body: {name: value for name, value in body.items() if name not in names}


def _only(value: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: inner for name, inner in value.items() if name in names}


def _renamed(body: Body) -> Body:
    """Newer models of OpenAI know their limit of tokens by this name alone."""
    renamed = dict(body)
    if "max_tokens" in body:
        renamed[_LONGER] = renamed.pop("max_tokens")
    return renamed


def _bare(body: Body) -> Body:
    """Messages without what only their provider understands."""
    messages = [_only(message, _IN_A_MESSAGE) for message in body["messages"]]
    for message in messages:
        if message.get("tool_calls"):
            message["tool_calls"] = [_only(call, _IN_A_CALL) for call in message["tool_calls"]]
    return {**body, "messages": messages}


def _in_words(body: Body) -> Body:
    """Without tools, for a model that knows none: it writes its calls into its words."""
    if "tools" not in body:
        return body
    messages = list(map(_as_words, body["messages"]))
    return {**_lacking("tools", "tool_choice")(body), "messages": messages}


def _as_words(message: dict[str, Any]) -> dict[str, Any]:
    if message["role"] == "tool":
        return {"role": "user", "content": f"Result: {message['content']}"}
    if "tool_calls" not in message:
        return message
    calls = [json.dumps(call["function"]) for call in message["tool_calls"]]
    words = "\n".join([words_in(message), *calls])
    return {"role": "assistant", "content": words.strip()}


def _simple(schema: Schema) -> Schema:
    """The schema in the words that every server knows, with its references written out. What needs
    other words may be anything, and so may what contains itself, from some depth on.
    """

    def write(part: Any, depth: int) -> Any:
        if not isinstance(part, dict):
            return part
        if "$ref" in part and depth == _DEEPEST:
            return {}
        if "$ref" in part:
            return write(_at(schema, part["$ref"]), depth + 1)
        plain = {name: write(value, depth) for name, value in _only(part, _SIMPLE).items()}
        if "properties" in part:
            properties = part["properties"].items()
            plain["properties"] = {name: write(value, depth) for name, value in properties}
        return plain

    whole: Schema = write(schema, 0)
    return whole


def _at(schema: Schema, reference: str) -> Any:
    """What a reference inside of the schema leads to; nothing for any other."""
    place: Any = schema
    for name in reference.removeprefix("#").split("/")[1:]:
        key = name.replace("~1", "/").replace("~0", "~")
        place = place.get(key, {}) if isinstance(place, dict) else {}
    return place


def _any_object(_: Schema) -> Schema:
    return {"type": "object", "properties": {}}


_LONGER: Final = "max_completion_tokens"
TOOLS: Final = Part("tools")
"""All of them: a model that knows none writes its calls into its words."""
_OF_A_QUESTION: Final[dict[str, Callable[[Body], Body]]] = {
    "tool_choice": _lacking("tool_choice"),
    "response_format": _lacking("response_format"),
    "temperature": _lacking("temperature"),
    "max_tokens": _renamed,
    _LONGER: _lacking("max_tokens", _LONGER),
    "stream_options": _lacking("stream_options"),
    "stream": _lacking("stream", "stream_options"),
    "messages": _bare,
}
_OF_A_TOOL: Final[dict[str, Callable[[Schema], Schema]]] = {
    "schema": _simple,
    "parameters": _any_object,
}
