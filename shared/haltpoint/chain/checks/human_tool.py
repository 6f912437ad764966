"""askHuman (CONTRACT I4, B5): the one tool that the core itself carries out, by asking a person in words.

Its options are words, never ids: what a model wrote is no origin of a value (C6), what a person typed is. It is not
counted among the tools that only read, so that a weak model does not ask instead of working.
"""

import json
from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

from haltpoint.chain.model.references import Place, read_json, write_json
from haltpoint.chain.model.schemas import argument_faults, form_value_faults
from haltpoint.chain.model.state import Action
from haltpoint.contracts.tools import ToolSpec

NAME: Final = "askHuman"

_OPTIONS: Final = {
    "type": "array",
    "items": {"type": "string", "minLength": 1, "maxLength": 200},
    "minItems": 1,
    "maxItems": 20,
}

SPEC: Final = ToolSpec(
    name=NAME,
    description=(
        "Ask a person a question in words and wait for the answer. For what no tool can find out: "
        "a missing detail, a preference, a decision."
    ),
    parameters={
        "type": "object",
        "properties": {
            "question": {"type": "string", "minLength": 1, "maxLength": 4000},
            "options": {**_OPTIONS, "description": "answers to choose from, in words"},
            "suggestions": {**_OPTIONS, "description": "another name of options"},
            "schema": {"type": "object", "description": "a JSON Schema, when the answer is a form"},
            "context": {"type": "string", "maxLength": 8000, "description": "what the person needs to know"},
            "priority": {"type": "string", "enum": ["low", "normal", "high", "critical"]},
            "timeout": {"type": "number", "exclusiveMinimum": 0, "description": "seconds until the question expires"},
            "default": {
                "type": ["string", "object"],
                "maxLength": 4000,
                "description": "the answer when none comes in time; of a form an object",
            },
        },
        "required": ["question"],
        "additionalProperties": False,
    },
    may_clarify=True,
    queue="",
    timeout=86400.0,
)

OTHER_NAME: Final = "suggestions"
"""What options may be called, too."""

_OFFERS: Final = ("options", OTHER_NAME)
_BOUNDS: Final = (("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems"))
_WORDS: Final = ("type", "title", "description", "properties", "required", "additionalProperties", "items", "enum")
_LEVELS: Final = 6
_LIST: Final = {"maxItems": 100}
_PART: Final = {"$ref": "#/$defs/part"}
_FORM: Final = {
    "allOf": [{"$ref": "https://json-schema.org/draft/2020-12/schema"}, _PART],
    "properties": {"type": {"const": "object"}},
    "$defs": {
        "part": {
            "type": "object",
            "propertyNames": {"enum": [*_WORDS, "default", *chain.from_iterable(_BOUNDS)]},
            "properties": {
                "properties": {"additionalProperties": _PART},
                "additionalProperties": {"if": {"type": "boolean"}, "else": _PART},
                "items": _PART,
                "required": _LIST,
                "enum": _LIST,
            },
        }
    },
}
"""The forms that a question may ask for, as a JSON Schema of their schemas."""


def with_built_in(tools: dict[str, ToolSpec]) -> dict[str, ToolSpec]:
    """The tools that workers serve and the built-in one, which nobody can replace."""
    return {**tools, NAME: SPEC}


def asked_in(arguments: dict[str, Any]) -> dict[str, Any]:
    """What a question says, so that the same words are known again: not how urgently, nor what counts without an
    answer, nor in which spacing and case.
    """
    said = {name: value for name, value in arguments.items() if name not in ("priority", "timeout", "default")}
    offered = options_in(said)
    said = {name: value for name, value in said.items() if name not in _OFFERS}
    return said | ({"options": offered} if offered else {}) | {"question": _alike(said.get("question"))}


def options_in(arguments: dict[str, Any]) -> Any:
    """The answers that a question offers, under either name."""
    return next((arguments[name] for name in _OFFERS if arguments.get(name)), ())


def default_of(action: Action) -> str | None:
    """The receipt's data (JSON text) of a question that gets no answer in time, when it says what counts then."""
    given = read_json(action.arguments) if action.tool == NAME else {}
    return write_json({"answer": given["default"]}) if "default" in given else None


def _alike(words: Any) -> str:
    return " ".join(str(words).casefold().split())


def call_faults(spec: ToolSpec, arguments: Any, unknown: Sequence[Place] = ()) -> tuple[str, ...]:
    """What is wrong with the arguments of a call of any tool; of a question also with its options and its form."""
    faults = argument_faults(spec, arguments, unknown)
    return faults or (question_faults(arguments) if spec.name == NAME else ())


def question_faults(arguments: Any) -> tuple[str, ...]:
    """What is wrong with the options that a question offers, or with the form that it asks for. Options are told apart
    by their words, in whatever spacing and case (B1). A model writes the form, and people's answers are checked by it:
    so it has only the plain words of JSON Schema, without patterns (which may take for ever) and references, and does
    not forbid what it asks for. A default fits the form, or is words where none is asked for.
    """
    if not isinstance(arguments, dict):
        return ()
    options, form = options_in(arguments), arguments.get("schema")
    if all(arguments.get(name) for name in _OFFERS):
        return ("arguments.suggestions: is another name of options; give one of them",)
    if isinstance(options, list) and len({_alike(option) for option in options}) < len(options):
        return ("arguments.options: an option appears twice; all options must differ",)
    if form is None:
        is_form = isinstance(arguments.get("default"), dict)
        return ("arguments.default: must be a text; only a question with a schema takes an object",) if is_form else ()
    name = "arguments.schema"
    if faults := form_value_faults(_FORM, form, name):
        return faults
    try:
        json.dumps(form, allow_nan=False)
    except ValueError:
        return (f"{name}: is not JSON, which has no NaN and no infinity",)
    whole = {"type": "object", **form}
    if (fault := _unfillable(whole, _LEVELS)) is not None:
        return (f"{name}: {fault}",)
    return form_value_faults(whole, arguments["default"], "arguments.default") if "default" in arguments else ()


def _unfillable(form: dict[str, Any], levels: int) -> str | None:
    """Why a well-formed form, or a part of it, cannot be shown or filled in; what it says word by word is looked at."""
    if levels == 0:
        return f"is nested deeper than {_LEVELS}"
    named, others = form.get("properties", {}), form.get("additionalProperties")
    forbidden = sorted(set(form.get("required", ())) - named.keys()) if others is False else ()
    if forbidden:
        return f"{', '.join(forbidden[:3])} is required, but no names are allowed except those in properties"
    if "enum" in form and all(form_value_faults(form, one) for one in form["enum"]):
        return "enum lists no value that the rest of it allows"
    for least, most in _BOUNDS:
        if least in form and most in form and form[least] > form[most]:
            return f"{least} is more than {most}"
    inner = (part for part in (*named.values(), form.get("items"), others) if isinstance(part, dict))
    return next((fault for part in inner if (fault := _unfillable(part, levels - 1)) is not None), None)
