"""From type hints to schemas: what a tool takes and what it gives (CONTRACT A).

Parameters become one pydantic model whose fields have neutral names and the parameters' names as aliases, so that a
parameter may be called `json` or `schema`. The result becomes a TypeAdapter, and its data is always a JSON object: what
is no object by its type is wrapped as `{"value": ...}`.
"""

import inspect
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, TypeAdapter, create_model, model_validator
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode

from haltpoint.contracts.results import ToolResult
from haltpoint.contracts.tools import CONFIRMED
from haltpoint.tools.context import Ctx
from haltpoint.tools.errors import DeclarationError
from haltpoint.tools.provenance import foreign_in, not_targets_in, origins_in, targets_in, without_marks

Function = Callable[..., Any]
Groups = tuple[tuple[str, ...], ...]
"""Of each group of parameters a call has to give one."""
WRAP: Final = "value"
"""The key under which a result lies that is no JSON object."""


class _PlainSchema(GenerateJsonSchema):
    """JSON Schema without the titles that only repeat a field's name: a model pays for every token."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a tool takes: `model` validates the JSON text; `names` are the parameters' names by field.

    `confirms`: it has a parameter `confirmed` that the runtime alone sets, so it is in neither of them (B7);
    `unguarded`: it has one that a model may set, though the tool has effects.
    """

    model: type[BaseModel]
    names: Mapping[str, str]
    context: str | None
    schema: dict[str, Any]
    provenance: dict[str, tuple[str, ...]] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    not_targets: tuple[str, ...] = ()
    confirms: bool = False
    unguarded: bool = False


@dataclass(frozen=True, slots=True)
class Output:
    """What a tool gives. `adapter` and `schema` are None when the function does not say; then nothing is checked.

    `wrapped`: the data is `{"value": ...}`. `numbers`: the schema asks for a number somewhere. `fields` are the names
    that the type itself gives to its fields, `foreign` the places in the data that strangers write.
    """

    adapter: TypeAdapter[Any] | None = None
    schema: dict[str, Any] | None = None
    wrapped: bool = False
    numbers: bool = False
    fields: frozenset[str] = frozenset()
    foreign: tuple[str, ...] = ()


def hints_of(function: Function, local_names: Mapping[str, Any]) -> dict[str, Any]:
    """The resolved type hints of a function or callable object. Raises DeclarationError."""
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        return get_type_hints(target, localns=dict(local_names), include_extras=True)
    except NameError as error:
        raise DeclarationError(f"a type hint cannot be resolved: {error}") from error


def place_of(function: Function) -> str:
    """Where a function is written, `file:line`."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else repr(type(function))


def read_inputs(
    function: Function, hints: Mapping[str, Any], *, read_only: bool = False, one_of: Groups = ()
) -> Inputs:
    """The parameters without those that the runtime sets: the context, and `confirmed: bool = False` unless
    `confirmed_is_own`. Of each group in `one_of` a call has to give a parameter. Raises DeclarationError.
    """
    confirms = False
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    context: str | None = None
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise DeclarationError("a tool gives one result: return it, do not yield")
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD and parameter.kind is not parameter.KEYWORD_ONLY:
            raise DeclarationError(
                f"parameter {name!r} cannot be described to a model: use named parameters, "
                "no *args, no **kwargs and none that are positional-only"
            )
        hint = hints.get(name)
        if (name == "ctx" and hint is None) or hint is Ctx or get_origin(hint) is Ctx:
            if context is not None:
                raise DeclarationError(f"parameters {context!r} and {name!r} are both the context")
            context = name
            continue
        if name == CONFIRMED and not read_only and _is_false(hint, parameter.default):
            confirms = True
            continue
        if hint is None:
            raise DeclarationError(f"parameter {name!r} has no type hint: a model needs to know what to write")
        field = f"arg_{len(fields)}"
        names[field] = name
        fields[field] = _field(name, hint, parameter.default)
    try:
        config = ConfigDict(extra="forbid", json_schema_extra=_rule(one_of, names.values()))
        model = create_model("Arguments", __config__=config, __validators__=_check(one_of), **fields)
        adapter = TypeAdapter(model)
        schema = _schema_of(adapter, "validation")
    except (PydanticUserError, PydanticUndefinedAnnotation) as error:
        raise DeclarationError(f"its parameters have no JSON Schema: {error.message}") from error
    for name in schema.get("required", ()):
        if any(name in group for group in one_of):
            raise DeclarationError(f"one_of={one_of!r}: every call gives {name}: give it a default, or leave it out")
    origins = origins_in(schema, adapter.core_schema)
    unguarded = not read_only and '"boolean"' in json.dumps(schema.get("properties", {}).get(CONFIRMED))
    targets, not_targets = targets_in(schema), not_targets_in(schema)
    return Inputs(model, names, context, without_marks(schema), origins, targets, not_targets, confirms, unguarded)


def read_output(hints: Mapping[str, Any]) -> Output:
    """What the return annotation promises. Raises DeclarationError."""
    hint = hints.get("return", Any)
    if hint is ToolResult:
        hint = Any
    elif get_origin(hint) is ToolResult:
        hint = get_args(hint)[0]
    if hint in (Any, object, None, type(None)):
        return Output()
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(hint)
        marked = _schema_of(adapter, "serialization")
    except (PydanticUserError, PydanticUndefinedAnnotation) as error:
        raise DeclarationError(f"its result has no JSON Schema: {error.message}") from error
    schema, foreign = without_marks(marked), foreign_in(marked)
    numbers = '"number"' in json.dumps(schema)
    if _is_object(schema, schema.get("$defs", {})):
        fields = frozenset(fields_in(schema, schema.get("$defs", {})))
        return Output(adapter, schema, numbers=numbers, foreign=foreign, fields=fields)
    definitions = schema.pop("$defs", None)
    wrapping = {"type": "object", "properties": {WRAP: schema}, "required": [WRAP]}
    whole = {**wrapping, "$defs": definitions} if definitions else wrapping
    places = tuple(f"{WRAP}{'' if place[:1] in ('', '[') else '.'}{place}" for place in foreign)
    return Output(adapter, whole, wrapped=True, numbers=numbers, foreign=places)


def _is_false(hint: Any, default: Any) -> bool:
    """Whether a parameter is a bool that is false unless it is given."""
    if get_origin(hint) is Annotated:
        hint = hint.__origin__
    return hint is bool and (default.default if isinstance(default, FieldInfo) else default) is False


def fields_in(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the fields of an object, of any branch of a union."""
    if reference := schema.get("$ref"):
        return fields_in(definitions.get(str(reference).rpartition("/")[2], {}), definitions)
    branches = schema.get("anyOf") or schema.get("oneOf") or ()
    return (*schema.get("properties", ()), *(name for one in branches for name in fields_in(one, definitions)))


def _rule(groups: Groups, names: Collection[str]) -> dict[str, Any]:
    """That one of each group is given, as JSON Schema. Raises DeclarationError."""
    for group in groups:
        if len(group) < 2 or not set(group) <= set(names):
            known = ", ".join(names) or "none"
            raise DeclarationError(f"one_of={groups!r}: give groups of its parameters ({known}), as (('slug', 'id'),)")
    rules = [{"anyOf": [{"required": [name]} for name in group]} for group in groups]
    return {"allOf": rules} if rules else {}


def _check(groups: Groups) -> dict[str, Any]:
    """The same for the call itself, where also null is not given."""

    def given(values: Any) -> Any:
        for group in groups:
            if isinstance(values, dict) and all(values.get(name) is None for name in group):
                raise ValueError(f"{' or '.join(group)} is required")
        return values

    return {"given": model_validator(mode="before")(given)} if groups else {}


def _field(name: str, hint: Any, default: Any) -> tuple[Any, Any]:
    if isinstance(default, FieldInfo):
        return Annotated[hint, default], Field(alias=name)
    if default is inspect.Parameter.empty:
        return hint, Field(alias=name)
    return hint, Field(default, alias=name)


def _schema_of(adapter: TypeAdapter[Any], mode: JsonSchemaMode) -> dict[str, Any]:
    schema = adapter.json_schema(mode=mode, schema_generator=_PlainSchema)
    schema.pop("title", None)
    return schema


def _is_object(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> bool:
    """Whether every value that fits is a JSON object."""
    if reference := schema.get("$ref"):
        return _is_object(definitions.get(str(reference).rpartition("/")[2], {}), definitions)
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        return all(_is_object(branch, definitions) for branch in branches)
    return schema.get("type") == "object"


def is_async(function: Function) -> bool:
    """Whether calling it gives something to await."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - the method of a callable object
    )
