"""Values held against JSON Schema: is it right (C6), what was meant (C9), is it the same call
(C14).

jsonschema says what is wrong. What follows from a schema is worked out once for it, in memories
that are bounded.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, cast

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
    write_json,
)
from haltpoint.contracts.tools import ToolSpec

MOST: Final = 4096
"""Remembered specs, and schemas: more than any deployment has tools."""
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
        "propertyNames": {"not": {"enum": ["$ref", "$dynamicRef", "pattern", "patternProperties"]}},
        "properties": {"properties": {"additionalProperties": {"$ref": "#"}}},
        "additionalProperties": {"$ref": "#"},
        "items": {"$ref": "#"},
    }
)
"""Of a form that a model wrote: it has no word with which the check of an answer may take for
ever.
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
        is_whole = all(name in arguments for name in self.spec.parameters.get("required", ()))
        return is_whole and all(
            type(value) is self.plain.get(name) for name, value in arguments.items()
        )


_by_spec: dict[int, Compiled] = {}
"""By the identity of a spec, which is kept here: no other has its id."""


def compiled(spec: ToolSpec) -> Compiled:
    """What was worked out from a spec; equal schemas share a validator."""
    known = _by_spec.get(id(spec))
    if known is None:
        if len(_by_spec) >= MOST:
            _by_spec.clear()
        schema = spec.parameters
        validator = _validator(write_json(schema))
        known = Compiled(spec, validator, {} if validator is None else _plain_types(schema))
        _by_spec[id(spec)] = known
    return known


def _plain_types(schema: dict[str, Any]) -> dict[str, type]:
    """The types of an object's members of which nothing but a type is asked."""
    types: dict[str, type] = {}
    if schema.get("type") != "object" or not _FLAT.issuperset(schema):
        return types
    for name, member in schema.get("properties", {}).items():
        known = _PLAIN.get(str(member.get("type"))) if isinstance(member, dict) else None
        if known is not None and _WORDS.issuperset(member):
            types[name] = known
    return types


@lru_cache(maxsize=MOST)
def _validator(schema: str) -> Validator | None:
    """The validator of a schema in JSON, which never fetches anything; None for a wrong schema."""
    read = read_json(schema)
    try:
        chosen = validator_for(read, default=Draft202012Validator)
        chosen.check_schema(read)
        bounded = extend(chosen, {"uniqueItems": _unique_items})  # type: ignore[no-untyped-call]
    except (SchemaError, AttributeError, TypeError):  # the latter two: `$schema` is not even a text
        return None
    return cast("type[Validator]", bounded)(read, registry=Registry())


def _unique_items(
    validator: Validator, unique: bool, value: Any, _: Any
) -> Iterator[ValidationError]:
    """`uniqueItems` in time in proportion to the items: in pairs, a model's list would stop
    all chains.
    """
    items = value if unique and validator.is_type(value, "array") else ()
    if len({json.dumps(item, sort_keys=True) for item in items}) < len(items):
        yield ValidationError("the same item is in it more than once")


# ---- is it right?
# ----------------------------------------------------------------------------------


def argument_faults(
    spec: ToolSpec, arguments: Any, unknown: Sequence[Place] = ()
) -> tuple[str, ...]:
    """What is wrong with the arguments of a call; nothing is asked of the values at `unknown`
    places.
    """
    known = compiled(spec)
    if known.fits(arguments):
        return ()
    return _faults(known.arguments, arguments, "arguments", unknown)


def result_faults(spec: ToolSpec, data: Any) -> tuple[str, ...]:
    """What is wrong with a result's data; a tool without a result schema takes any object."""
    if not isinstance(data, dict):
        return ("data: is not an object",)
    return form_value_faults(spec.result_schema or {}, data, "data")


def form_value_faults(form: dict[str, Any], value: Any, name: str = "value") -> tuple[str, ...]:
    """What is wrong with the value that a person gave for a form."""
    return _faults(_validator(write_json(form)), value, name)


def form_faults(form: Any, name: str) -> tuple[str, ...]:
    """What is wrong with the JSON Schema of a form that a model wrote: people fill in an object by
    it.
    """
    if not isinstance(form, dict) or form.get("type", "object") != "object":
        return (f"{name}: describes no object",)
    try:
        barred = {str(error.instance) for error in _FORMS.iter_errors(form)}
        text = json.dumps(form, allow_nan=False)
    except (ValueError, RecursionError):  # NaN, an infinity, or too many levels
        return (f"{name}: is not JSON that can be read",)
    if barred:
        return (f"{name}: {', '.join(sorted(barred))} cannot be used here",)
    return () if _validator(text) else (f"{name}: is no JSON Schema",)


def _faults(
    validator: Validator | None, value: Any, name: str, unknown: Sequence[Place] = ()
) -> tuple[str, ...]:
    if validator is None:
        return (f"{name}: the tool's own schema is not valid JSON Schema",)
    try:
        errors = list(validator.iter_errors(value))
    except Exception as error:  # noqa: BLE001 - numbers too large to divide, schemas in a circle ...
        return (f"{name}: cannot be held against the tool's schema ({type(error).__name__})",)
    faults = {_fault(name, error) for error in errors if not _concerns(error, unknown)}
    return tuple(sorted(faults))[:SHOWN]


def _fault(name: str, error: ValidationError) -> str:
    place, choices = path_text((name, *error.absolute_path)), _choices(error)
    message = " or ".join(map(_in_words, choices))
    return f"{_short(place)}: {_short(message)}"


def _in_words(error: ValidationError) -> str:
    """What jsonschema says, for people."""
    if error.validator == "required":
        return error.message.replace(" is a required property", " is missing")
    if error.validator == "additionalProperties" and error.validator_value is False:
        known = properties(cast("dict[str, Any]", error.schema))
        unknown = ", ".join(repr(name) for name in error.instance if name not in known)  # type: ignore[union-attr]
        return f"there is no {unknown}; there are {', '.join(known) or 'none'}"
    return error.message


def _choices(error: ValidationError) -> list[ValidationError]:
    """The error itself; of a choice between members, none of which is given, the error of each."""
    choices = list(error.context or ())
    is_about_members = {choice.validator for choice in choices} == {"required"}
    return choices if is_about_members else [error]


def _short(text: str) -> str:
    """A long text without its middle: it begins with the value that is wrong, and ends with the
    reason.
    """
    half = WIDTH // 2
    return text if len(text) <= WIDTH else f"{text[:half]} ... {text[-half:]}"


def _concerns(error: ValidationError, unknown: Sequence[Place]) -> bool:
    """Whether an error is about a value that is not known yet, or may be because of one."""
    path = tuple(error.absolute_path)
    around = [place for place in unknown if covers(place, path)]
    is_outside = _choices(error)[0].validator in _ABOUT_THE_OUTSIDE
    return any(len(place) <= len(path) or not is_outside for place in around)


# ---- what was meant?
# -------------------------------------------------------------------------------


def read_arguments(spec: ToolSpec, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a model's call as their schema reads them, once and exactly (C9).

    null for a parameter that cannot be null is left out. Where no text is allowed, a text that is
    the JSON of the wanted type is that value. All else stays as it is, for the check of the schema
    to refuse.
    """
    known = compiled(spec)
    validator = None if known.fits(arguments) else known.arguments
    before: Any = None
    while validator is not None and arguments != before:
        before = arguments
        try:
            errors = list(validator.iter_errors(arguments))
        except Exception:  # noqa: BLE001 - as in `_faults`, which says so
            return arguments
        for error in errors:
            arguments = _read(validator, arguments, error)
    return arguments


def _read(
    validator: Validator, arguments: dict[str, Any], error: ValidationError
) -> dict[str, Any]:
    """The arguments without the errors that reading them can take away."""
    place, value = tuple(error.absolute_path), error.instance
    if not _is_of_no_type(error):
        for inner in error.context or ():
            if inner.path:
                arguments = _read(validator, arguments, inner)
    elif value is None and isinstance(place[-1], str):
        arguments = replaced_at(arguments, place, [])
    elif isinstance(value, str):
        values = _from_text(validator.evolve(schema=error.schema), value)
        arguments = replaced_at(arguments, place, values or [value])
    return arguments


def _is_of_no_type(error: ValidationError) -> bool:
    """Whether an error says that the value itself is of no type that is allowed."""
    if error.context:
        return all(not inner.path and _is_of_no_type(inner) for inner in error.context)
    return error.validator == "type"


def _from_text(validator: Validator, text: str) -> list[Any]:
    """The value whose JSON a text is, where it is of a type that is allowed."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return []
    errors = validator.iter_errors(value)
    own = [error for error in errors if not error.path]
    return [] if any(map(_is_of_no_type, own)) else [value]


def _refuse(word: str) -> None:
    """JSON has no NaN and no infinity."""
    raise ValueError(word)


# ---- is it the same?
# -------------------------------------------------------------------------------


def properties(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The schemas of an object's properties, by their names; `true` says nothing."""
    named = schema.get("properties")
    members = named.items() if isinstance(named, dict) else ()
    return {name: inner if isinstance(inner, dict) else {} for name, inner in members}


def defaults(schema: dict[str, Any]) -> dict[str, Any]:
    """The defaults of an object's properties, by their names."""
    named = properties(schema).items()
    return {name: inner["default"] for name, inner in named if "default" in inner}


@lru_cache(maxsize=2048)
def signature_of(known: Compiled, text: str) -> str:
    """Sixteen hex digits that equal calls of a tool have in common; `text` are the arguments as
    JSON.

    Equal are calls whose arguments are the same JSON values (C14): names in any order, 7.0 for 7,
    and a default said or left out. Two spellings of one address are two calls.
    """
    arguments = read_json(text)
    if isinstance(arguments, dict):
        arguments = {**defaults(known.spec.parameters), **arguments}
    values = json.loads(write_json([known.spec.name, arguments]), parse_float=_number)
    canonical = json.dumps(values, sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:_DIGITS]


def _number(text: str) -> float:
    """A number; one without a fraction is an integer, as JSON knows one kind."""
    number = float(text)
    return int(number) if number.is_integer() else number
