"""What servers refuse of a question: one row of its parts, and how refusals name them.

A question that is refused is asked with one part less, then with another one less, until it is
taken: first the parts that the refusals name, then those of the row, then the schemas of tools, one
tool after the other. Of the part that was left out last it is known that the server refuses it; the
others are in the next question again.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product, starmap
from typing import Any, Final, NamedTuple

from haltpoint.contracts.base import JsonObject
from haltpoint_planner.exchange import Reply
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
_PLACE_OF_A_TOOL: Final = re.compile(r"(?:function_declarations|tools(?!\S*function_decl))\W+(\d+)")


class Part(NamedTuple):
    """Something that a question can do without."""

    what: str
    """A key of `_OF_A_QUESTION`; of tools: a word of their schemas, or `_REFERENCE` to `_ALL`."""
    tool: str = ""
    """The tool whose schema has it, by its plain name; without a name: all."""

    def __str__(self) -> str:
        return " of ".join(filter(None, self))


Parts = tuple[Part, ...]


@dataclass
class Refused:
    """What the server of a model refuses, as far as it is known."""

    parts: Parts = ()
    """Left out of each question to this model."""
    tried: Parts = ()
    """Left out of a question that an outage kept from being taken or refused, if there is one."""

    def climb(self, body: JsonObject, left_out: Parts, words: str) -> Parts:
        """What is left out next, as this question without these parts was refused in these words;
        nothing where it has no other part.
        """
        parts = _parts(body, words)
        more = next((part for part in parts if without(body, [part]) != body), None)
        self.tried = (*left_out, more) if more else ()
        return self.tried

    def learn(self, left_out: Parts) -> None:
        """A question was taken without these parts, and refused without those before the last."""
        self.parts = tuple(dict.fromkeys((*self.parts, *left_out[-1:])))
        self.tried = ()


def without(body: JsonObject, parts: Sequence[Part]) -> JsonObject:
    """The question without these parts."""
    for part in parts:
        change = _OF_A_QUESTION.get(part.what)
        body = change(body) if change else _with_simpler_tools(body, part)
    return body


def _parts(body: JsonObject, words: str) -> Iterator[Part]:
    """What a question may be tried without: what the words name of it, then all else."""
    yield from (Part(what) for what, pattern in _NAMED.items() if re.search(pattern, words))
    tools = _names(body)
    named = list(_named(tools, words))
    rarer = [word for word in re.findall(r"\$?[a-zA-Z]{3,}", words) if word not in _SIMPLE]
    if re.search(_REFERENCES, words):
        rarer.insert(0, _REFERENCE)
    yield from starmap(Part, product(rarer, named or [""]))
    yield from starmap(Part, product((_REFERENCE, _RARER, _ALL), named))
    # A model that has called tools knows them: something else is refused.
    last = [] if any("tool_calls" in message for message in body["messages"]) else [TOOLS]
    if re.search(_NO_TOOLS, words):
        yield from last
    yield from map(Part, _ROW)
    for tool in map(plain, tools):
        yield from (Part(_REFERENCE, tool), Part(_RARER, tool))
    yield from last


def _named(tools: Sequence[str], words: str) -> Iterator[str]:
    """The plain names of tools that a refusal names, by name or by place."""
    places = _PLACE_OF_A_TOOL.findall(words)
    for place, name in enumerate(tools):
        if str(place) in places or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words):
            yield plain(name)


# ---- the schemas of tools


def _with_simpler_tools(body: JsonObject, part: Part) -> JsonObject:
    tools: list[JsonObject] = []
    for tool in body.get("tools", ()):
        function = tool["function"]
        if part.tool in ("", plain(function["name"])):
            function = function | {"parameters": _simpler(function["parameters"], part.what)}
        tools.append(tool | {"function": function})
    return _with_tools(body, tools)


def _with_tools(body: JsonObject, tools: Sequence[JsonObject]) -> JsonObject:
    """The question with other tools, if it has any, also in the form of a call."""
    if not tools:
        return body
    body = body | {"tools": tools}
    if "response_format" in body:
        form = body["response_format"]
        schema = form["json_schema"] | {"schema": call_schema(tools)}
        body["response_format"] = form | {"json_schema": schema}
    return body


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


def plain(name: str) -> str:
    """The name of a tool as every server takes it: 64 letters, digits, `_` and `-` at most."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64]


def _plainly_named(body: JsonObject) -> JsonObject:
    names = _plain_names(body)
    messages = _called(body["messages"], names)
    return _with_tools({**body, "messages": messages}, _called(body.get("tools", []), names))


def with_names_of(body: JsonObject, reply: Reply) -> Reply:
    """The reply with the names of tools as in the question, where its server has plain ones."""
    names = {other: name for name, other in _plain_names(body).items()}
    if not names:
        return reply
    calls = [replace(call, name=names.get(call.name, call.name)) for call in reply.calls]
    return replace(reply, calls=tuple(calls), message=_called(reply.message, names))


def _plain_names(body: JsonObject) -> dict[str, str]:
    """The names of tools that a server may refuse, each with a plain one that no other tool has."""
    names = _names(body)
    taken = Counter(map(plain, names))
    return {name: plain(name) for name in names if name != plain(name) and taken[plain(name)] == 1}


def _names(body: JsonObject) -> list[str]:
    return [tool["function"]["name"] for tool in body.get("tools", ())]


def _called(part: Any, names: Mapping[str, str]) -> Any:
    """Tools or messages with other names in the place of these."""

    def rename(part: JsonObject) -> JsonObject:
        name = names.get(str(part.get("name")))
        if not name:
            return part
        return {**part, "name": name}

    return _changed(part, rename)


TOOLS: Final = Part("all tools")
_OF_A_QUESTION: Final[dict[str, Change]] = {
    "response_format": _lacking("response_format"),
    "temperature": _lacking("temperature"),
    "max_tokens": _renamed,
    "tool_choice": _lacking("tool_choice"),
    "messages": _bare,
    "stream_options": _lacking("stream_options"),
    "stream": _lacking("stream", "stream_options"),
    "names of tools": _plainly_named,
    TOOLS.what: _in_words,
}
_NAMED: Final = {
    "response_format": r"(?i)response.?(?:format|mime|schema)|json_schema|json.?mode|grammar"
    r"|structured.?output",
    "temperature": r"(?i)temperature",
    "max_tokens": r"(?i)max_(?:completion_)?tokens",
    "tool_choice": r"(?i)tool.?choice|forces? tool",
    "messages": r"(?i)'?messages\b.*(?:property|field|extra|unknown|unsupported|unrecognized)",
    "stream_options": r"stream_options",
    "stream": r"\bstream(?:ing|ed)?\b",
    "names of tools": r"(?i)\bnames?\b",
}
"""How refusals name the parts of a question."""
_ROW: Final = (
    "response_format",
    "temperature",
    "max_tokens",
    "tool_choice",
    "messages",
    "names of tools",
)
"""What is tried where a refusal names nothing, or what it names is not all."""
_REFERENCES: Final = r"(?i)\bref\b|reference|recursi|\$defs"
_NO_TOOLS: Final = (
    r"(?i)(?:support|requires?|enable|knows?)\b.{0,40}\btools?\b"
    r"|\b(?:tools?|functions?)(?:.(?:use|call\w*))? (?:is|are) not\b"
)
