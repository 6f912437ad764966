"""What servers refuse of a question, and the ladder that leads to one that they take: at each step
one part is left out, first those that the refusal names, then the parts of a fixed row.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product, starmap
from typing import Any, Final, NamedTuple

from haltpoint.contracts.base import JsonObject
from haltpoint_planner.parsing.completions import words_in
from haltpoint_planner.prompting.tool_forms import call_schema

Change = Callable[[JsonObject], JsonObject]

_IN_A_MESSAGE: Final = ("role", "content", "tool_calls", "tool_call_id")
_IN_A_CALL: Final = ("id", "type", "function")
_SIMPLE: Final = ("type", "description", "enum", "required", "items", "properties")
"""Words of a schema that every server knows."""
_REFERENCE: Final = "$ref"
_RARER: Final = "all rarer words"
_ALL: Final = "all parameters"
_DEFINITIONS: Final = ("$defs", "definitions")
_OF_SCHEMAS: Final = ("properties", "patternProperties", "dependentSchemas", *_DEFINITIONS)
"""Words of a schema below which names are free."""
_OF_VALUES: Final = ("enum", "const", "default", "examples")
"""Words of a schema below which there is no schema."""
_DEEPEST: Final = 6
"""Levels to which a schema that contains itself is written out."""
_OF_ONE_REQUEST: Final = re.compile(r"\b(?=\w*\d)[\w-]{8,}|\d{3,}")
"""Ids and numbers by which two refusals for one reason differ."""
_PLACE_OF_A_TOOL: Final = re.compile(r"(?:function_declarations|tools(?!\S*function_decl))\W+(\d+)")


class Part(NamedTuple):
    """Something that a question can do without."""

    what: str
    """A key of `_OF_A_QUESTION`; of tools: a word of their schemas, or `_REFERENCE` to `_ALL`."""
    tool: str = ""
    """The tool whose schema has it; without a name: all."""

    def __str__(self) -> str:
        return " of ".join(filter(None, self))


@dataclass
class Ladder:
    """What the server of a model refuses, as far as it is known.

    The last of the parts is on trial until a question is taken, or refused in other words: then it
    stays left out. Refused in the same words, it was not that part: the next one takes its place.
    """

    parts: list[Part] = field(default_factory=list)
    """Left out of each question to this model."""
    words: str | None = None
    """Of the refusal for which the last one is on trial, if any."""

    def climb(self, body: JsonObject, words: str) -> bool:
        """Leave out the next part of a question that was refused in these words; False when no
        part is left.
        """
        words = _OF_ONE_REQUEST.sub("", words)
        last = self.parts.pop() if words == self.words else None
        left = _parts(without(body, self.parts), words)
        if last is not None and last in left:
            left = left[left.index(last) + 1 :]
        self.parts += left[:1]
        self.words = words if left else None
        return bool(left)

    def settle(self) -> None:
        """A question was taken: the part on trial, if any, stays left out."""
        self.words = None


def without(body: JsonObject, parts: Sequence[Part]) -> JsonObject:
    """The question without these parts."""
    for part in parts:
        change = _OF_A_QUESTION.get(part.what)
        body = change(body) if change else _with_simpler_tools(body, part)
    return body


def _parts(body: JsonObject, words: str) -> list[Part]:
    """What this question can do without, in the order in which it is tried."""
    parts = [Part(what) for what, pattern in _NAMES.items() if re.search(pattern, words)]
    parts += _of_schemas(body, words)
    if re.search(_NO_TOOLS, words):
        parts.append(TOOLS)
    parts += map(Part, _ROW)
    # A model that has called tools knows them: something else is refused.
    if any("tool_calls" in message for message in body["messages"]):
        parts = [part for part in parts if part != TOOLS]
    return [part for part in dict.fromkeys(parts) if without(body, [part]) != body]


# ---- the schemas of tools


def _of_schemas(body: JsonObject, words: str) -> Iterator[Part]:
    """The words of schemas that a refusal names, of the tools that it names, by name or by place,
    or else of all; these tools may also go with simpler schemas.
    """
    named = re.findall(r"\$?[a-zA-Z]{3,}", words)
    rarer = [word for word in named if word not in _SIMPLE]
    if re.search(_REFERENCES, words):
        rarer.insert(0, _REFERENCE)
    tools: list[str] = []
    places = _PLACE_OF_A_TOOL.findall(words)
    for place, tool in enumerate(body.get("tools", ())):
        name = tool["function"]["name"]
        if str(place) in places or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words):
            tools.append(name)
            rarer += (_REFERENCE, _RARER, _ALL)
    return starmap(Part, product(dict.fromkeys(rarer), tools or [""]))


def _with_simpler_tools(body: JsonObject, part: Part) -> JsonObject:
    """The question with simpler tools, also in the form of a call."""
    if "tools" not in body:
        return body
    tools = [_simpler_tool(tool, part) for tool in body["tools"]]
    body = body | {"tools": tools}
    if "response_format" in body:
        form = body["response_format"]
        schema = form["json_schema"] | {"schema": call_schema(tools)}
        body["response_format"] = form | {"json_schema": schema}
    return body


def _simpler_tool(tool: JsonObject, part: Part) -> JsonObject:
    function = tool["function"]
    if part.tool not in ("", function["name"]):
        return tool
    simpler = {"parameters": _simpler(function["parameters"], part.what)}
    return tool | {"function": function | simpler}


def _simpler(schema: JsonObject, word: str) -> Any:
    if word == _ALL:
        return {"type": "object", "properties": {}}
    if word == _REFERENCE:
        return _written_out(schema)
    if word == _RARER:
        return _changed(_written_out(schema), _only(_SIMPLE))
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
    if isinstance(place, dict):
        return place
    return {}


# ---- the rest of a question


def _lacking(*names: str) -> Change:
    return lambda body: {name: value for name, value in body.items() if name not in names}


def _only(names: Sequence[str]) -> Change:
    return lambda body: {name: value for name, value in body.items() if name in names}


def _renamed(body: JsonObject) -> JsonObject:
    """Newer models of OpenAI know their limit of tokens by this name alone."""
    names = {"max_tokens": "max_completion_tokens"}
    return {names.get(name, name): value for name, value in body.items()}


def _bare(body: JsonObject) -> JsonObject:
    """Messages without what only their provider understands."""
    messages = list(map(_only(_IN_A_MESSAGE), body["messages"]))
    for message in messages:
        if message.get("tool_calls"):
            message["tool_calls"] = list(map(_only(_IN_A_CALL), message["tool_calls"]))
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


def _plainest(body: JsonObject) -> JsonObject:
    """Without what is optional, but with the limit of tokens and the tools."""
    parts = ("response_format", "tool_choice", "temperature", "messages", _RARER)
    return without(body, list(map(Part, parts)))


TOOLS: Final = Part("all tools")
_OF_A_QUESTION: Final[dict[str, Change]] = {
    "response_format": _lacking("response_format"),
    "tool_choice": _lacking("tool_choice"),
    "max_tokens": _renamed,
    "temperature": _lacking("temperature"),
    "messages": _bare,
    "stream_options": _lacking("stream_options"),
    "stream": _lacking("stream", "stream_options"),
    "all that is optional": _plainest,
    TOOLS.what: _in_words,
}
_NAMES: Final = {
    "response_format": r"(?i)response.?(?:format|mime|schema)|json_schema|json.?mode|grammar"
    r"|structured.?output",
    "tool_choice": r"(?i)tool.?choice|forces? tool",
    "temperature": r"(?i)temperature",
    "max_tokens": r"(?i)max_(?:completion_)?tokens",
    "stream_options": r"stream_options",
    "stream": r"\bstream(?:ing|ed)?\b",
    "messages": r"(?i)'?messages\b.*(?:property|field|extra|unknown|unsupported|unrecognized)",
}
"""How refusals name the parts of a question."""
_REFERENCES: Final = r"(?i)\bref\b|reference|recursi|\$defs"
_NO_TOOLS: Final = (
    r"(?i)(?:support|requires?|enable|knows?)\b.{0,40}\btools?\b"
    r"|\b(?:tools?|functions?)(?:.(?:use|call\w*))? (?:is|are) not\b"
)
_ROW: Final = (
    "response_format",
    "tool_choice",
    "max_tokens",
    "temperature",
    "messages",
    _REFERENCE,
    _RARER,
    "all that is optional",
    TOOLS.what,
)
"""What is tried where a refusal names nothing, or what it names is not it."""
