"""One signature per call, however it is spelt, and another for every other call (CONTRACT C14)."""

import json
import random
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from haltpoint.chain.checks import human_tool
from haltpoint.chain.checks.checked import signature_of
from haltpoint.chain.model.schemas import compiled
from haltpoint.contracts.tools import ToolSpec

ADDRESS: dict[str, Any] = {
    "type": "object",
    "properties": {"street": {"type": "string"}, "zip": {"type": "string", "default": "19122"}},
    "required": ["street"],
}
SEND = ToolSpec(
    name="send",
    parameters={
        "type": "object",
        "$defs": {"Address": ADDRESS},
        "properties": {
            "to": {"type": "string"},
            "copies": {"type": "integer", "default": 1},
            "weight": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
            "fragile": {"type": "boolean", "default": False},
            "address": {"$ref": "#/$defs/Address"},
            "notes": {"type": "array", "items": {"type": "string"}, "default": []},
            "stops": {"type": "array", "items": {"$ref": "#/$defs/Address"}, "default": []},
        },
        "required": ["to"],
        "additionalProperties": False,
    },
)


def signature(spec: ToolSpec, arguments: dict[str, Any]) -> str:
    return signature_of(compiled(spec), json.dumps(arguments))


words = st.text(max_size=8).map(str.strip)
addresses = st.fixed_dictionaries({"street": words, "zip": words | st.just("19122")})
calls = st.fixed_dictionaries(
    {
        "to": words,
        "copies": st.integers() | st.just(1),
        "weight": st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9),
        "fragile": st.booleans(),
        "address": addresses,
        "notes": st.lists(words, max_size=2),
        "stops": st.lists(addresses, max_size=2),
    }
)


def spelt(value: Any, schema: dict[str, Any], chance: random.Random) -> Any:
    """The same value as somebody else might write it."""
    schema = ADDRESS if "$ref" in schema else schema["anyOf"][0] if "anyOf" in schema else schema
    if isinstance(value, dict):
        named = schema["properties"]
        kept = [name for name, one in value.items() if one != named[name].get("default") or chance.random() < 0.5]
        chance.shuffle(kept)
        return {name: spelt(value[name], named[name], chance) for name in kept}
    if isinstance(value, list):
        return [spelt(one, schema["items"], chance) for one in value]
    if isinstance(value, str):
        return chance.choice(["", " ", "\n\t"]) + value + chance.choice(["", "  "])
    if isinstance(value, bool) or value is None or chance.random() < 0.3:
        return value
    if isinstance(value, int):
        return chance.choice([str(value), float(value) if abs(value) < 2**53 else value])
    return value


@given(calls, st.randoms(use_true_random=False))
def test_c14_no_spelling_changes_the_signature(arguments: dict[str, Any], chance: random.Random) -> None:
    other = spelt(arguments, {"type": "object", **SEND.parameters}, chance)
    assert signature(SEND, other) == signature(SEND, arguments)


@given(calls, calls)
def test_c14_another_call_has_another_signature(one: dict[str, Any], other: dict[str, Any]) -> None:
    same = all(one[name] == other[name] for name in one)
    assert (signature(SEND, one) == signature(SEND, other)) is same


@given(calls)
def test_c14_another_tool_has_another_signature(arguments: dict[str, Any]) -> None:
    assert signature(msgspec.structs.replace(SEND, name="post"), arguments) != signature(SEND, arguments)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists), st.text())
def test_c14_every_argument_has_a_signature_whatever_the_schema_says(value: Any, name: str) -> None:
    for schema in ({}, {"properties": {name: {"type": "integer"}}}, {"properties": 7}, {"$ref": "#"}, {"anyOf": [7]}):
        assert len(signature(ToolSpec(name="t", parameters=schema), {name: value})) == 16


def test_c14_the_words_of_a_question_are_compared_without_case_and_spacing() -> None:
    asked = signature(human_tool.SPEC, {"question": "Which  one?", "priority": "low"})
    assert asked == signature(human_tool.SPEC, {"question": "which one?"})
    assert asked != signature(human_tool.SPEC, {"question": "Which two?"})
