"""Values held against JSON Schema: is it right (C6), what was meant (C9), is it the same call
(C14).

jsonschema says what is wrong. What follows from a schema is worked out once for it, in memories
that are bounded.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from typing import Any, Final, cast

import msgspec
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validator_for
from referencing import Registry

from haltpoint.chain.model.references import (
    Place,
    covers,
    path_text,
    read_json,
    replaced_at,
    values_at,
    write_json,
)
from haltpoint.contracts.base import JsonObject, Strings
from haltpoint.contracts.secrets import secret_values, typed_in, without_secrets
from haltpoint.contracts.strict_json import read_strictly
from haltpoint.contracts.tools import ASK_HUMAN, ToolSpec

MOST: Final = 4096
"""Remembered schemas: more than any deployment has tools."""
SHOWN: Final = 5
"""Faults told at once."""
WIDTH: Final = 200
"""Characters of one fault, and of its place: a model writes keys of any length."""

_PLAIN: Final = {"string": str, "integer": int, "boolean": bool}
_WORDS: Final = frozenset({"title", "description", "default", "type"})
_FLAT: Final = _WORDS | {"properties", "required", "additionalProperties"}

_DIGITS: Final = 16
_ABOUT_THE_OUTSIDE: Final = frozenset({"required", "type", "additionalProperties"})
"""Words about an object as a whole, whatever its members are."""
_FORMS: Final = Draft202012Validator(
    {
        "allOf": [
            {"$ref": "https://json-schema.org/draft/2020-12/schema"},
            {"$ref": "#/$defs/form"},
        ],
        "properties": {"type": {"const": "object"}},
        "$defs": {
            "form": {
                "propertyNames": {
                    "not": {"enum": ["$ref", "$dynamicRef", "pattern", "patternProperties"]}
                },
                "properties": {"properties": {"additionalProperties": {"$ref": "#/$defs/form"}}},
                "additionalProperties": {"$ref": "#/$defs/form"},
                "items": {"$ref": "#/$defs/form"},
            }
        },
    }
)
"""Of a form that a model wrote: a JSON Schema of an object, without a word with which the check of
an answer may take for ever.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """A spec with what was worked out from it."""

    spec: ToolSpec
    arguments: Validator | None
    """Holds arguments against the schema; None when the schema itself is wrong."""
    plain: dict[str, type]
    """The types of parameters where the schema asks for nothing else; empty where it does."""

    def fits(self, arguments: Any) -> bool:
        """Whether arguments fit for certain: a validator needs twenty times as long to say so."""
        if type(arguments) is not dict or not self.plain:
            return False
        required = self.spec.parameters.get("required", ())
        if not arguments.keys() >= set(required):
            return False
        return all(type(value) is self.plain.get(name) for name, value in arguments.items())


_by_name: dict[str, Compiled] = {}
"""The last spec of each name, and no other."""


def compiled(spec: ToolSpec) -> Compiled:
    """What was worked out from a spec; equal schemas share a validator."""
    known = _by_name.get(spec.name)
    if known is None or known.spec is not spec:
        validator = _validator(write_json(spec.parameters))
        plain = {} if validator is None else _plain_types(spec.parameters)
        known = _by_name[spec.name] = Compiled(spec, validator, plain)
    return known


def _plain_types(schema: JsonObject) -> dict[str, type]:
    """The types of an object's members of which nothing but a type is asked."""
    if schema.get("type") != "object" or not _FLAT.issuperset(schema):
        return {}
    plain = dict[str, type]()
    for name, member in properties(schema).items():
        kind = str(member.get("type"))
        if kind in _PLAIN and member.keys() <= _WORDS:
            plain[name] = _PLAIN[kind]
    return plain


@lru_cache(maxsize=MOST)
def _validator(schema: str) -> Validator | None:
    """The validator of a schema in JSON, by the draft that it names, else today's; it never fetches
    anything. None for a wrong schema.
    """
    read = read_json(schema)
    try:
        draft = validator_for(read, default=Draft202012Validator)
        draft.check_schema(read)
    except (SchemaError, AttributeError, TypeError, ValueError):  # `$schema` may be anything
        return None
    return _bounded(draft)(read, registry=Registry())


def _unique_items(
    validator: Validator, unique: bool, value: Any, _: Any
) -> Iterator[ValidationError]:
    """`uniqueItems` in time in proportion to the items: in pairs, a model's list would stop
    all chains.
    """
    items = value if unique and validator.is_type(value, "array") else ()
    if len({json.dumps(item, sort_keys=True) for item in items}) < len(items):
        yield ValidationError("the same item is in it more than once")


@cache
def _bounded(draft: type[Validator]) -> type[Validator]:
    """The validators of a draft, without what takes time out of proportion."""
    validators = extend(draft, {"uniqueItems": _unique_items})  # type: ignore[no-untyped-call]
    return cast("type[Validator]", validators)


# ---- is it right?
# ----------------------------------------------------------------------------------


def argument_faults(spec: ToolSpec, arguments: Any, unknown: Sequence[Place] = ()) -> Strings:
    """What is wrong with the arguments of a call, of a question also with the form that it asks
    for; nothing is asked of the values at `unknown` places.
    """
    known = compiled(spec)
    if known.fits(arguments):
        return ()
    faults = _faults(known.arguments, arguments, "arguments", unknown)
    if faults or spec.name != ASK_HUMAN or "schema" not in arguments:
        return faults
    return _faults(_FORMS, arguments["schema"], "schema")


def result_faults(spec: ToolSpec, data: Any) -> Strings:
    """What is wrong with a result's data; a tool without a result schema takes any object."""
    schema = {"type": "object", **(spec.result_schema or {})}
    return _faults(_validator(write_json(schema)), data, "data")


def form_value_faults(form: JsonObject, value: Any) -> Strings:
    """What is wrong with the value that a person gave for a form, which is of today's draft as
    `argument_faults` has read it.
    """
    schema = form | {"$schema": Draft202012Validator.META_SCHEMA["$id"]}
    return _faults(_validator(write_json(schema)), value, "value")


def _faults(
    validator: Validator | None, value: Any, name: str, unknown: Sequence[Place] = ()
) -> Strings:
    errors = [error for error in _errors(validator, value) if not _concerns(error, unknown)]
    if not errors:
        return ()
    typed = frozenset(typed_in(validator and validator.schema))
    hidden = frozenset(secret_values(value, typed, typed))
    faults = set[str]()
    for error in errors:
        place = path_text((name, *error.absolute_path))
        message = without_secrets(_in_words(error), hidden)
        faults.add(f"{_short(place)}: {_short(message)}")
    return tuple(sorted(faults))[:SHOWN]


def _errors(validator: Validator | None, value: Any) -> list[ValidationError]:
    """All that is wrong with a value, or with its schema."""
    if validator is None:
        return [ValidationError("the tool's own schema is not valid JSON Schema")]
    try:
        return list(validator.iter_errors(value))
    except Exception as error:  # noqa: BLE001 - numbers too large to divide, schemas in a circle ...
        reason = type(error).__name__
        return [ValidationError(f"cannot be checked against the tool's schema ({reason})")]


_KINDS: Final = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def _in_words(error: ValidationError) -> str:
    """What jsonschema says, for people; of a choice what the members of the value's own type say,
    else what all of them take.
    """
    choices = error.context or [error]
    fitting = [choice for choice in choices if choice.path or not _is_of_no_type(choice)]
    if error.context and fitting:
        return " or ".join(map(_in_words, fitting))
    wanted: list[Any] = [choice.validator_value for choice in choices if choice.validator == "type"]
    if wanted:
        kinds = chain.from_iterable([kind] if isinstance(kind, str) else kind for kind in wanted)
        return f"{error.instance!r} is not {' or '.join(map(_KINDS.__getitem__, kinds))}"
    if error.validator != "additionalProperties" or error.validator_value is not False:
        return error.message.replace(" is a required property", " is missing")
    known = properties(cast("dict[str, Any]", error.schema))
    given: Any = error.instance
    unknown = ", ".join(repr(name) for name in given if name not in known)
    return f"there is no {unknown}; there are {', '.join(known) or 'none'}"


def _short(text: str) -> str:
    """A long text without its middle: it begins with the value that is wrong, and ends with the
    reason.
    """
    half = WIDTH // 2
    if len(text) <= WIDTH:
        return text
    return f"{text[:half]} ... {text[-half:]}"


def _concerns(error: ValidationError, unknown: Sequence[Place]) -> bool:
    """Whether an error is about a value that is not known yet, or may be because of one."""
    path = tuple(error.absolute_path)
    around = [place for place in unknown if covers(place, path)]
    choices = {choice.validator for choice in error.context or ()}
    is_outside = choices == {"required"} or error.validator in _ABOUT_THE_OUTSIDE
    return any(len(place) <= len(path) or not is_outside for place in around)


# ---- what was meant?
# -------------------------------------------------------------------------------


def read_arguments(spec: ToolSpec, arguments: JsonObject) -> JsonObject:
    """The arguments of a model's call as their schema reads them, once and exactly (C9).

    null for a parameter whose schema refuses it is left out. Where no text is allowed, a text that
    is the JSON of the wanted type is that value. All else stays as it is, for the check of the
    schema to refuse.
    """
    known = compiled(spec)
    before = None
    while known.arguments is not None and arguments != before and not known.fits(arguments):
        before = arguments
        for error in _errors(known.arguments, arguments):
            arguments = _read(known.arguments, arguments, error)
    return arguments


def _read(validator: Validator, arguments: JsonObject, error: ValidationError) -> JsonObject:
    """The arguments without the errors that reading them can take away.

    An error about a value that has been read because of another error says nothing any more.
    """
    place = tuple(error.absolute_path)
    value = error.instance
    if all(there is not value for there in values_at(arguments, place)):
        return arguments
    if value is None:
        arguments = replaced_at(arguments, place, [] if isinstance(place[-1], str) else [None])
    elif not _is_of_no_type(error):
        for inner in error.context or ():
            arguments = _read(validator, arguments, inner) if inner.path else arguments
    elif isinstance(value, str):
        read = _from_text(validator.evolve(schema=error.schema), value)
        arguments = replaced_at(arguments, place, [read])
    return arguments


def _is_of_no_type(error: ValidationError) -> bool:
    """Whether an error says that the value itself is of no type that is allowed."""
    if error.context:
        return all(not inner.path and _is_of_no_type(inner) for inner in error.context)
    if error.validator in ("enum", "const"):
        wanted = cast("Any", error.validator_value)
        values = wanted if error.validator == "enum" else [wanted]
        return type(error.instance) not in map(type, values)
    return error.validator == "type"


def _from_text(validator: Validator, text: str) -> Any:
    """The value whose JSON a text is, where it is null or of a type that is allowed; else the
    text.
    """
    try:
        value = read_strictly(text)
    except ValueError:
        return text
    own = [error for error in _errors(validator, value) if not error.path]
    return text if value is not None and any(map(_is_of_no_type, own)) else value


# ---- is it the same?
# -------------------------------------------------------------------------------


def properties(schema: JsonObject) -> dict[str, JsonObject]:
    """The schemas of an object's properties, by their names; `true` says nothing."""
    named = schema.get("properties")
    members = named.items() if isinstance(named, dict) else ()
    return {name: inner if isinstance(inner, dict) else {} for name, inner in members}


def defaults(schema: JsonObject) -> JsonObject:
    """The defaults of an object's properties, by their names."""
    members = properties(schema).items()
    return {name: inner["default"] for name, inner in members if "default" in inner}


def text_of(arguments: dict[str, Any]) -> str:
    """Arguments as JSON text, as an action keeps them."""
    try:
        return msgspec.json.encode(arguments).decode()
    except UnicodeEncodeError:  # half of a character
        return write_json(arguments)


def signature_of(spec: ToolSpec, text: str) -> str:
    """Sixteen hex digits that equal calls of a tool have in common; `text` are the arguments as
    JSON.

    Equal are calls whose arguments are the same JSON values (C14): names in any order, 7.0 for 7,
    and a default said or left out. Two spellings of one address are two calls.
    """
    return _signature(compiled(spec), text)


@lru_cache(maxsize=2048)
def _signature(known: Compiled, text: str) -> str:
    """It is asked for by the judges of a call, and again when the call is sent and has ended."""
    arguments = read_json(text)
    if isinstance(arguments, dict):
        arguments = {**defaults(known.spec.parameters), **arguments}
    values = json.loads(write_json([known.spec.name, arguments]), parse_float=_number)
    canonical = json.dumps(values, sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:_DIGITS]


def _number(text: str) -> float:
    """A number; one without a fraction is an integer, as JSON knows one kind."""
    number = float(text)
    if number.is_integer():
        return int(number)
    return number
