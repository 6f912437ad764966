"""What servers refuse of a question: its parts, and how refusals name them.

A question that is refused is asked with one part less, then with another one less, until it is
taken: first the parts that the refusal names, then all others, and the schemas of tools, one tool
after the other. Of the parts that were named, and of the one that was left out last, it is known
that the server refuses them; the others are in the next question again.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, product, starmap
from typing import Any, Final, NamedTuple

from haltpoint.contracts.base import JsonObject
from haltpoint_planner.exchange import Message, Prompt, Reply
from haltpoint_planner.parsing.completions import words_in
from haltpoint_planner.prompting.conversation import joined
from haltpoint_planner.prompting.tool_forms import call_schema

_ROW: Final = {
    "response_format": r"(?i)response.?(?:format|mime|schema)|json_schema|json.?mode|grammar"
    r"|structured.?output",
    "temperature": r"(?i)temperature",
    "max_tokens": r"(?i)max_(?:completion_)?tokens",
    "tool_choice": r"(?i)tool.?choice|forces? tool",
    "fields of messages": r"(?is)'?messages\b"
    r".*(?:property|field|extra|unknown|unsupported|unrecognized)",
    "names of tools": r"(?i)\bnames?\b",
    "stream_options": r"stream_options",
    "stream": r"\bstream(?:ing|ed)?\b",
}
"""The parts of a question, and how refusals name them."""
_OTHER_NAME: Final = "max_completion_tokens"
_TOOLS: Final = "all tools"
_NO_TOOLS: Final = (
    r"(?i)(?:support|requires?|enable|knows?)\b.{0,40}\btools?\b"
    r"|\b(?:tools?|functions?)(?:.(?:use|call\w*))? (?:is|are) not\b"
)
_REFERENCE: Final = "$ref"
_RARER: Final = "all rarer words"
_ALL: Final = "all parameters"
_OF_SCHEMAS: Final = r"(?i)schema|properties|pattern|grammar|keyword"
_PLACE_OF_A_TOOL: Final = re.compile(r"(?:function_declarations|tools(?!\S*function_decl))\W+(\d+)")
_IN_A_MESSAGE: Final = ("role", "content", "tool_calls", "tool_call_id")
_IN_A_CALL: Final = ("id", "type", "function")
_SIMPLE: Final = ("type", "description", "enum", "required", "items", "properties")
"""Words of a schema that every server knows."""
_DEEPEST: Final = 6
"""Levels to which a schema that contains itself is written out."""


class Part(NamedTuple):
    """Something that a question can do without."""

    what: str
    """Of `_ROW`, or `_TOOLS`; of the schema of a tool: `_REFERENCE` to `_ALL`."""
    tool: str = ""
    """The tool whose schema has it, by its plain name."""
    is_named: bool = False
    """A refusal has named it."""

    def __str__(self) -> str:
        return " of ".join(filter(None, self[:2]))


Parts = tuple[Part, ...]


@dataclass
class Refused:
    """What the server of a model refuses, as far as it is known."""

    parts: Parts = ()
    """Left out of each question to this model."""
    tried: Parts = ()
    """Left out of a question that an outage kept from being taken or refused, if there is one."""
    room: int = 0
    """Tokens that a prompt may have, once that is learnt."""

    def climb(
        self, question: Callable[[Parts], JsonObject], left_out: Parts, parts: Iterable[Part]
    ) -> Parts:
        """What is left out next, as the question without these parts was refused: one more of the
        others; nothing where it has none of them.
        """
        body = question(left_out)
        rungs = ((*left_out, part) for part in parts)
        self.tried = next((rung for rung in rungs if question(rung) != body), ())
        return self.tried

    def learn(self, left_out: Parts) -> None:
        """A question was taken without these parts, and refused without those before the last."""
        named = [part for part in left_out if part.is_named]
        self.parts = tuple(dict.fromkeys((*self.parts, *named, *left_out[-1:])))
        self.tried = ()


def parts_of(prompt: Prompt, words: str) -> Iterator[Part]:
    """What a question may be tried without: what the words of a refusal name, then all else."""
    tools = [plain(tool["name"]) for tool in prompt.tools]
    places = _PLACE_OF_A_TOOL.findall(words)
    named = [
        name
        for place, name in enumerate(tools)  # in the words it may be as it was
        if str(place) in places or re.search(rf"(?<!\w){name.replace('_', '.')}(?!\w)", words)
    ]
    for what, pattern in {**_ROW, _OTHER_NAME: _OTHER_NAME}.items():
        if re.search(pattern, words):
            yield Part(what, is_named=True)
    yield from starmap(Part, product(_SCHEMAS, named, [True]))
    # A model that has called tools knows them: something else is refused.
    has_called = any("tool_calls" in message for message in prompt.messages)
    last = [] if has_called else [Part(_TOOLS)]
    if re.search(_NO_TOOLS, words):
        yield from last
    others = [map(Part, _ROW), starmap(Part, product((_REFERENCE, _RARER), tools))]
    if re.search(_OF_SCHEMAS, words):
        others.reverse()
    yield from chain(*others, last)


def without(prompt: Prompt, parts: Sequence[Part]) -> Prompt:
    """The prompt without these parts of it."""
    for part in parts:
        if part.tool:
            tools = map(partial(_simpler, part), prompt.tools)
            prompt = replace(prompt, tools=tuple(tools))
        elif part.what in _CHANGES:
            prompt = _CHANGES[part.what](prompt)
    return prompt


def lacking(body: JsonObject, parts: Sequence[Part]) -> JsonObject:
    """The body without these parts, which are its fields."""
    names = {part.what for part in parts}
    if "max_tokens" in names:  # newer models of OpenAI know it by this name alone
        body[_OTHER_NAME] = body["max_tokens"]
    if "stream" in names:
        names.add("stream_options")
    return {name: value for name, value in body.items() if name not in names}


def form_of_words(prompt: Prompt) -> JsonObject | None:
    """The JSON Schema of the words of a reply: of a call where one has to be made."""
    if prompt.force and prompt.tools:
        return call_schema(prompt.tools)
    return prompt.schema


# ---- the schemas of tools


def _simpler(part: Part, tool: JsonObject) -> JsonObject:
    """The tool, with a simpler schema if it is that of the part."""
    if plain(tool["name"]) != part.tool:
        return tool
    return _SCHEMAS[part.what](tool)


def _written_out(schema: JsonObject) -> JsonObject:
    """The schema without references. What contains itself may be anything from some depth on."""

    def write(part: Any, depth: int) -> Any:
        if isinstance(part, list):
            return [write(inner, depth) for inner in part]
        if not isinstance(part, dict):
            return part
        if isinstance(part.get(_REFERENCE), str):  # else it is a parameter of that name
            there = _at(schema, part[_REFERENCE]) if depth < _DEEPEST else {}
            part = there | {name: part[name] for name in part if name != _REFERENCE}
            depth += 1
        return {name: write(inner, depth) for name, inner in part.items()}

    whole: JsonObject = write(schema, 0)
    for name in ("$defs", "definitions"):
        whole.pop(name, None)
    return whole


def _at(schema: JsonObject, reference: str) -> JsonObject:
    """What a reference inside of the schema leads to; nothing for any other."""
    place: Any = schema
    for name in reference.split("/")[1:]:
        key = name.replace("~1", "/").replace("~0", "~")
        place = place.get(key) if isinstance(place, dict) else None
    if isinstance(place, dict):
        return place
    return {}


def _simple(part: Any) -> Any:
    """A schema in words that every server knows."""
    if not isinstance(part, dict):
        return part
    kept = _only(part, _SIMPLE)
    inner = kept.get("properties", {})
    if inner:
        kept["properties"] = {name: _simple(value) for name, value in inner.items()}
    if "items" in kept:
        kept["items"] = _simple(kept["items"])
    return kept


_SCHEMAS: Final[dict[str, Callable[[JsonObject], JsonObject]]] = {
    _REFERENCE: lambda tool: tool | {"parameters": _written_out(tool["parameters"])},
    _RARER: lambda tool: tool | {"parameters": _simple(_written_out(tool["parameters"]))},
    _ALL: lambda tool: _only(tool, ("name", "description")),
}
"""The tool with a simpler schema; with none it takes no arguments."""


# ---- the rest of a prompt


def _only(part: JsonObject, names: Sequence[str]) -> JsonObject:
    return {name: value for name, value in part.items() if name in names}


def _bare(prompt: Prompt) -> Prompt:
    """Without what only their provider understands of messages."""
    return replace(prompt, messages=tuple(map(_bare_message, prompt.messages)))


def _bare_message(message: Message) -> Message:
    bare = _only(message, _IN_A_MESSAGE)
    if "tool_calls" in bare:
        bare["tool_calls"] = [_only(call, _IN_A_CALL) for call in bare["tool_calls"]]
    return bare


def _in_words(prompt: Prompt) -> Prompt:
    """Without tools, for a model that knows none: it writes its calls into its words."""
    messages = joined(map(_as_words, prompt.messages))
    return replace(prompt, messages=messages, tools=(), schema=form_of_words(prompt))


def _as_words(message: Message) -> Message:
    role = message["role"]
    calls = [json.dumps(call["function"]) for call in message.get("tool_calls", ())]
    words = "\n".join([words_in(message), *calls])
    return {"role": "user" if role == "tool" else role, "content": words.strip()}


def plain(name: str) -> str:
    """The name of a tool as every server takes it: 64 letters, digits, `_` and `-` at most, the
    first one no digit.
    """
    return re.sub(r"[^a-zA-Z0-9_-]|^(?=[0-9-])", "_", name)[:64]


def _plainly_named(prompt: Prompt) -> Prompt:
    names = _plain_names(prompt)
    messages = tuple(_called(prompt.messages, names))
    return replace(prompt, messages=messages, tools=tuple(_called(prompt.tools, names)))


def with_names_of(prompt: Prompt, reply: Reply) -> Reply:
    """The reply with the names of tools as in the prompt, where its server has plain ones."""
    names = {other: name for name, other in _plain_names(prompt).items()}
    if not names:
        return reply
    calls = [replace(call, name=names.get(call.name, call.name)) for call in reply.calls]
    return replace(reply, calls=tuple(calls), message=_called(reply.message, names))


def _plain_names(prompt: Prompt) -> dict[str, str]:
    """The names of tools that a server may refuse, each with a plain one that no other tool has."""
    names = [tool["name"] for tool in prompt.tools]
    same = Counter(map(plain, names))
    return {
        name: plain(name) + "_" * (same[plain(name)] - 1) for name in names if name != plain(name)
    }


def _called(part: Any, names: Mapping[str, str]) -> Any:
    """Tools or messages with other names in the place of these."""
    text = json.dumps(part)
    for name, other in names.items():
        text = text.replace(f'"name": {json.dumps(name)}', f'"name": {json.dumps(other)}')
    return json.loads(text)


_CHANGES: Final[dict[str, Callable[[Prompt], Prompt]]] = {
    "fields of messages": _bare,
    "names of tools": _plainly_named,
    _TOOLS: _in_words,
}
