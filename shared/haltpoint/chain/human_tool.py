"""askHuman (CONTRACT I4, B5): the one tool that the core itself carries out, by asking a person in words.

It is a tool like any other for every plan and every model; no worker serves it. Its options are words, never ids: what
a model wrote is no origin of a value (C6), what a person typed is. It is not counted among the tools that only read: a
step may ask a person when it requires or allows that, so that a weak model does not ask instead of working.
"""

import json
from typing import Any, Final

from haltpoint.chain.schemas import form_value_faults, is_schema
from haltpoint.contracts.tools import ToolSpec

NAME: Final = "askHuman"

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
            "options": {
                "type": "array",
                "items": {"type": "string", "minLength": 1, "maxLength": 200},
                "minItems": 1,
                "maxItems": 20,
                "description": "answers to choose from, in words",
            },
            "schema": {"type": "object", "description": "a JSON Schema, when the answer is a form"},
            "context": {"type": "string", "maxLength": 8000, "description": "what the person needs to know"},
            "priority": {"type": "string", "enum": ["low", "normal", "high"]},
            "timeout": {"type": "number", "exclusiveMinimum": 0, "description": "seconds until nobody needs to answer"},
        },
        "required": ["question"],
        "additionalProperties": False,
    },
    may_clarify=True,
    queue="",
    timeout=86400.0,
)

_WORDS: Final = frozenset(
    {"type", "title", "description", "properties", "required", "additionalProperties", "items", "enum", "default"}
    | {"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"}
)
_BOUNDS: Final = (("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems"))
_LEVELS: Final = 6
_LISTED: Final = 100  # names in `required`, values in `enum`


def with_built_in(tools: dict[str, ToolSpec]) -> dict[str, ToolSpec]:
    """The tools that workers serve and the built-in one, which nobody can replace."""
    return {**tools, NAME: SPEC}


def asked_in(arguments: dict[str, Any]) -> dict[str, Any]:
    """What a question says, so that the same words are known again: not how urgently, nor in which spacing and case."""
    said = {name: value for name, value in arguments.items() if name not in ("priority", "timeout")}
    return said | {"question": _alike(said.get("question"))}


def _alike(words: Any) -> str:
    """Words without their spacing and case."""
    return " ".join(str(words).casefold().split())


def question_faults(arguments: Any) -> tuple[str, ...]:
    """What is wrong with the options that a question offers, or with the form that it asks for.

    Options are told apart by their words, in whatever spacing and case (B1). A form is written by a model, and people's
    answers are held against it: so it is of the plain words of JSON Schema only, without patterns (which may take for
    ever) and references, one that values can be held against, and none that forbids what it asks for, which nobody
    could answer.
    """
    if not isinstance(arguments, dict):
        return ()
    options = arguments.get("options")
    if isinstance(options, list) and len({_alike(option) for option in options}) < len(options):
        return ("arguments.options: an option stands there twice; each must say something else",)
    form = arguments.get("schema")
    if form is None:
        return ()
    fault = _fault(form, _LEVELS)
    if fault is None and form.get("type", "object") != "object":
        fault = "a form is an object of named values"
    if fault is None and not (_speakable(form) and is_schema(form)):
        fault = "is no JSON Schema: no value can be held against it"
    if fault is None:
        fault = _contradiction(form)
    if fault is None and not any(isinstance(one, dict) for one in form.get("enum", [{}])):
        fault = "a form is an object of named values"
    return () if fault is None else (f"arguments.schema: {fault}",)


def _speakable(form: Any) -> bool:
    """Whether all of it can be said in JSON, which has no NaN and no infinity."""
    try:
        json.dumps(form, allow_nan=False)
    except ValueError:
        return False
    return True


def _fault(form: Any, levels: int) -> str | None:
    if not isinstance(form, dict):
        return "is not an object"
    if levels == 0:
        return f"is nested deeper than {_LEVELS}"
    unknown = sorted(str(word) for word in form.keys() - _WORDS)
    if unknown:
        return f"a form knows no {', '.join(unknown[:3])}"
    if any(isinstance(part, list) and len(part) > _LISTED for part in form.values()):
        return f"a list in it has more than {_LISTED} entries"
    inner = form.get("properties", {})
    if not isinstance(inner, dict):
        return "properties is not an object"
    return next((fault for part in _parts(form) if (fault := _fault(part, levels - 1)) is not None), None)


def _parts(form: dict[str, Any]) -> list[Any]:
    """The schemas inside of a form; of names that it does not list, a plain yes or no is none."""
    others = form.get("additionalProperties", True)
    return [
        *form.get("properties", {}).values(),
        *([form["items"]] if "items" in form else []),
        *([] if isinstance(others, bool) else [others]),
    ]


def _contradiction(form: dict[str, Any]) -> str | None:
    """Why nobody could ever fill in a well-formed form, or a part of it; what it says word by word is looked at."""
    names = form.get("required", ()) if form.get("additionalProperties") is False else ()
    forbidden = sorted(set(names) - form.get("properties", {}).keys())
    if forbidden:
        return f"{', '.join(forbidden[:3])} is required, but no names are allowed except those in properties"
    if "enum" in form and all(form_value_faults(form, one) for one in form["enum"]):
        return "enum lists no value that the rest of it allows"
    for least, most in _BOUNDS:
        if least in form and most in form and form[least] > form[most]:
            return f"{least} is more than {most}"
    return next((fault for part in _parts(form) if (fault := _contradiction(part)) is not None), None)
