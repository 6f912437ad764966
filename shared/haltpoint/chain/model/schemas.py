"""JSON Schema checks; what follows from a schema is worked out once for it, in memories that are bounded."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from haltpoint.chain.model.references import Place, path_text, read_json, write_json
from haltpoint.contracts.tools import ToolSpec

MOST: Final = 4096  # remembered specs, and schemas; more than any deployment has tools
SHOWN: Final = 5  # faults told at once
WIDTH: Final = 200  # characters of one fault, and of its place: a model writes keys of any length

_ABOUT_THE_OUTSIDE: Final = frozenset(
    {"required", "type", "additionalProperties", "propertyNames"}
    | {"minProperties", "maxProperties", "minItems", "maxItems"}
)
_TYPES: Final = {"string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "null": (type(None),)}
_WORDS: Final = frozenset({"title", "description", "$schema"})
_ENDLESS: Final = frozenset({"$ref", "$dynamicRef", "pattern", "patternProperties"})
"""Words with which a model's schema may make the check of an answer take for ever."""


def flat(schema: dict[str, Any]) -> Callable[[Any], bool] | None:
    """A test for the plainest values: an object whose members are each of one type. None for a schema that asks more of
    the whole. It takes a tenth of the time that a validator needs, and says only that a value fits for certain.
    """
    others, names = schema.get("additionalProperties", True), schema.get("required", [])
    rest = schema.keys() - _WORDS - {"type", "properties", "required", "additionalProperties"}
    if rest or schema.get("type") != "object" or not isinstance(names, list) or not isinstance(others, bool):
        return None
    types: dict[str, tuple[type, ...]] = {}
    for name, inner in schema.get("properties", {}).items():
        kind = inner.get("type") if isinstance(inner, dict) else None
        plain = isinstance(kind, str) and not inner.keys() - _WORDS - {"type", "default"}
        types[name] = _TYPES.get(str(kind), ()) if plain else ()  # of no type: with it the validator has to look
    required = frozenset(names)

    def fits(value: Any) -> bool:
        if type(value) is not dict or not required <= value.keys():
            return False
        for name, inner in value.items():
            if type(inner) not in types[name] if name in types else not others:
                return False
        return True

    return fits


def declared(schema: dict[str, Any], word: str) -> Iterator[tuple[str, Any]]:
    """What the schemas of an object's properties say under a word of JSON Schema, `default` for one."""
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        if isinstance(inner, dict) and word in inner:
            yield name, inner[word]


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """A spec with what was worked out from it; one of them is the key under which more of it is remembered."""

    spec: ToolSpec
    arguments: Validator | None
    fits: Callable[[Any], bool] | None


_by_spec: dict[int, Compiled] = {}


def compiled(spec: ToolSpec) -> Compiled:
    """The validator of a spec, remembered by its identity; equal schemas share a validator."""
    known = _by_spec.get(id(spec))
    if known is None or known.spec is not spec:
        if len(_by_spec) >= MOST:
            _by_spec.clear()
        arguments = _validator(write_json(spec.parameters))
        fits = None if arguments is None else flat(spec.parameters)
        known = _by_spec[id(spec)] = Compiled(spec, arguments, fits)
    return known


@lru_cache(maxsize=MOST)
def _validator(schema: str) -> Validator | None:
    """The validator of a schema in JSON, which never fetches anything; None when the schema itself is wrong."""
    read = read_json(schema)
    try:
        chosen = validator_for(read, default=Draft202012Validator)
        chosen.check_schema(read)
        chosen = cast("type[Validator]", extend(chosen, {"uniqueItems": _unique_items}))  # type: ignore[no-untyped-call]
    except (SchemaError, AttributeError, TypeError):  # the latter two: what `$schema` holds is not even a text
        return None
    return chosen(read, registry=Registry())


def _unique_items(validator: Validator, unique: bool, value: Any, _schema: Any) -> Iterator[ValidationError]:
    """`uniqueItems` in time in proportion to the items: compared in pairs, a model's list would stop everybody."""
    items = value if unique and validator.is_type(value, "array") else ()
    if len({json.dumps(one, sort_keys=True) for one in items}) < len(items):
        yield ValidationError("the same item is in it more than once")


def argument_faults(spec: ToolSpec, arguments: Any, unknown: Sequence[Place] = ()) -> tuple[str, ...]:
    """What is wrong with the arguments of a call, in words; nothing is asked of the values at `unknown` places."""
    known = compiled(spec)
    if known.fits is not None and known.fits(arguments):
        return ()
    return _faults(known.arguments, arguments, "arguments", unknown)


def result_faults(spec: ToolSpec, data: Any) -> tuple[str, ...]:
    """What is wrong with a result's data, in words; a tool without a result schema takes any object."""
    if not isinstance(data, dict):
        return ("data: is not an object",)
    return form_value_faults(spec.result_schema or {}, data, "data")


def form_faults(form: Any, name: str) -> tuple[str, ...]:
    """What is wrong with the JSON Schema of a form that a model wrote, in words: people fill in an object by it."""
    if not isinstance(form, dict) or form.get("type", "object") != "object":
        return (f"{name}: describes no object",)
    try:
        endless = sorted(_ENDLESS.intersection(_keywords(form)))
        json.dumps(form, allow_nan=False)
        Draft202012Validator.check_schema(form)
    except SchemaError as error:
        return (f"{name}: {_short(error.message)}",)
    except (ValueError, RecursionError):  # NaN, an infinity, or too many levels
        return (f"{name}: is not JSON that can be read",)
    return (f"{name}: {', '.join(endless)} cannot be used here",) if endless else ()


def _keywords(schema: Any) -> Iterator[str]:
    """The words of JSON Schema in a schema, at every depth; names of properties are none."""
    if not isinstance(schema, dict):
        for part in schema if isinstance(schema, list) else ():
            yield from _keywords(part)
        return
    for word, part in schema.items():
        yield word
        named = part.values() if word == "properties" and isinstance(part, dict) else (part,)
        for inner in named:
            yield from _keywords(inner)


def form_value_faults(form: dict[str, Any], value: Any, name: str = "value") -> tuple[str, ...]:
    """What is wrong with the value that somebody gave for a form, in words."""
    return _faults(_validator(write_json(form)), value, name)


def _faults(validator: Validator | None, value: Any, name: str, unknown: Sequence[Place] = ()) -> tuple[str, ...]:
    if validator is None:
        return (f"{name}: the tool's own schema is not valid JSON Schema",)
    try:
        errors = [error for error in validator.iter_errors(value) if not _concerns(error, unknown)]
    except Unresolvable as missing:
        return (f"{name}: the tool's own schema points at {missing.ref!r}, which it does not contain",)
    except Exception as error:  # noqa: BLE001 - numbers too large to divide, schemas that go round in a circle ...
        return (f"{name}: cannot be held against the tool's schema ({type(error).__name__})",)
    found = {f"{_short(path_text((name, *error.absolute_path)))}: {_short(_words(error))}" for error in errors}
    return tuple(sorted(found))[:SHOWN]


def _short(text: str) -> str:
    """A text without its middle when it is long: it begins with the value that is wrong, and ends with the reason."""
    return text if len(text) <= WIDTH else f"{text[: WIDTH // 2]} ... {text[-WIDTH // 2 :]}"


def _words(error: ValidationError) -> str:
    return " or ".join(one.message for one in error.context or ()) if _only_requires(error) else error.message


def _only_requires(error: ValidationError) -> bool:
    """Whether it is a choice between members, none of which is given (`@tool(one_of_parameters=...)`)."""
    return error.validator == "anyOf" and {one.validator for one in error.context or ()} == {"required"}


def _concerns(error: ValidationError, unknown: Sequence[Place]) -> bool:
    """Whether an error is about a value that is not known yet, or may be because of one."""
    path = tuple(error.absolute_path)
    inside = error.validator not in _ABOUT_THE_OUTSIDE and not _only_requires(error)
    return any(path[: len(place)] == place or (place[: len(path)] == path and inside) for place in unknown)
