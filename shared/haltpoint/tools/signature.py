"""From type hints to schemas: what a tool takes and what it gives (CONTRACT A).

Parameters become one pydantic model whose fields have neutral names and the parameters' names as
aliases, so that a parameter may be called `json` or `schema`. The result becomes a TypeAdapter,
and its data is always a JSON object: a value that is not an object by its type is wrapped as
`{"value": ...}`.
"""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from traceback import extract_stack
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PydanticUserError,
    TypeAdapter,
    ValidationError,
    create_model,
)
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from pydantic_core import PydanticSerializationError, PydanticUndefined

from haltpoint.contracts.doors import TARGET_MARK
from haltpoint.contracts.results import ToolResult
from haltpoint.contracts.tools import CONFIRMED
from haltpoint.tools.context import Ctx
from haltpoint.tools.errors import DeclarationError
from haltpoint.tools.parts import Node, parts_of
from haltpoint.tools.provenance import FOREIGN, NOT_TARGET, origins_in, places_of, without_marks

Function = Callable[..., Any]
Groups = tuple[tuple[str, ...], ...]
"""Of each group of parameters a call has to give one."""
WRAP: Final = "value"
"""The key under which a result lies that is not a JSON object."""


_UNWRITABLE: Final = (PydanticUserError, PydanticUndefinedAnnotation)


_BRANCHES: Final = frozenset({"$ref", "anyOf", "oneOf"})
"""In a schema that leaves to others what fits."""


class _PlainSchema(GenerateJsonSchema):
    """JSON Schema without the titles that only repeat a field's name: a model pays for every
    token.
    """

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a tool takes: `model` validates the JSON text; `names` are the parameters' names by
    field.

    `confirms`: it has a parameter `confirmed` that the runtime alone sets, so it is in neither of
    them (B7).
    """

    model: type[BaseModel]
    names: Mapping[str, str]
    context: str | None
    schema: dict[str, Any]
    provenance: dict[str, tuple[str, ...]] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    not_targets: tuple[str, ...] = ()
    confirms: bool = False


@dataclass(frozen=True, slots=True)
class Output:
    """What a tool gives. `adapter` and `schema` are None when the function does not say; then
    nothing is checked.

    `wrapped`: the data is `{"value": ...}`. `fields` are the names that the type itself gives to
    its fields, `foreign` the places in the data that strangers write.
    """

    adapter: TypeAdapter[Any] | None = None
    schema: dict[str, Any] | None = None
    wrapped: bool = False
    fields: frozenset[str] = frozenset()
    foreign: tuple[str, ...] = ()


def hints_of(function: Function) -> dict[str, Any]:
    """The resolved type hints of a function or callable object. Raises DeclarationError."""
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        return get_type_hints(target, include_extras=True)
    except NameError as error:
        raise DeclarationError(f"a type hint cannot be resolved: {error}") from error


def place_of(function: Function) -> str:
    """Where a function is written, `file:line`; of all else, where it is declared."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is not None:
        return f"{code.co_filename}:{code.co_firstlineno}"
    here = str(Path(__file__).parent)
    frames = [frame for frame in extract_stack() if not frame.filename.startswith(here)]
    return f"{frames[-1].filename}:{frames[-1].lineno}"


def is_async(function: Function) -> bool:
    """Whether calling it gives something to await."""
    called = getattr(function, "__call__", None)  # noqa: B004 - the method of a callable object
    return any(map(inspect.iscoroutinefunction, (function, called)))


def is_generator(function: Function) -> bool:
    """Whether it yields."""
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def read_inputs(
    function: Function, hints: Mapping[str, Any], *, read_only: bool = False, one_of: Groups = ()
) -> Inputs:
    """The parameters without those that the runtime sets: the context, and `confirmed: bool =
    False` of a tool that is not `read_only`. Of each group in `one_of` a call has to give a
    parameter. Raises DeclarationError.
    """
    if is_generator(function):
        raise DeclarationError("a tool gives one result: return it, do not yield")
    parameters = dict(inspect.signature(function).parameters)
    for parameter in parameters.values():
        _check_kind(parameter)
    context = _context_of(parameters, hints)
    parameters.pop(context or "", None)
    confirms = not read_only and _is_confirmed(parameters.get(CONFIRMED), hints)
    if confirms:
        del parameters[CONFIRMED]
    names = {f"arg_{number}": name for number, name in enumerate(parameters)}
    fields = {field: _field(parameters[name], hints) for field, name in names.items()}
    model, marked, core_schema = _model(fields, one_of, names.values())
    return Inputs(
        model=model,
        names=names,
        context=context,
        schema=without_marks(marked),
        provenance=origins_in(marked, core_schema),
        targets=places_of(TARGET_MARK, marked),
        not_targets=places_of(NOT_TARGET, marked),
        confirms=confirms,
    )


def _check_kind(parameter: inspect.Parameter) -> None:
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise DeclarationError(
            f"parameter {parameter.name!r} cannot be described to a model: use named parameters, "
            "no *args, no **kwargs and none that are positional-only"
        )


def _context_of(parameters: Iterable[str], hints: Mapping[str, Any]) -> str | None:
    """The name of the parameter that is the context: of type Ctx, or `ctx` without a type."""
    names = [name for name in parameters if _is_context(name, hints.get(name))]
    if len(names) > 1:
        raise DeclarationError(f"parameters {names[0]!r} and {names[1]!r} are both the context")
    return names[0] if names else None


def _is_context(name: str, hint: Any) -> bool:
    if hint is None:
        return name == "ctx"
    return Ctx in (hint, get_origin(hint))


def _is_confirmed(parameter: inspect.Parameter | None, hints: Mapping[str, Any]) -> bool:
    """Whether it is a bool that is false unless it is given."""
    return parameter is not None and hints.get(CONFIRMED) is bool and parameter.default is False


def _field(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> tuple[Any, FieldInfo]:
    name, default = parameter.name, parameter.default
    hint = hints.get(name)
    if hint is None:
        raise DeclarationError(
            f"parameter {name!r} has no type hint: a model needs to know what to write"
        )
    if isinstance(default, FieldInfo):
        _check_parameter(name, hint, default.default)
        return Annotated[hint, default], Field(alias=name)
    _check_parameter(name, hint, default)
    if default is parameter.empty:
        return hint, Field(alias=name)
    return hint, Field(default, alias=name)


def _model(
    fields: dict[str, Any], one_of: Groups, names: Collection[str]
) -> tuple[type[BaseModel], dict[str, Any], Any]:
    """The model of the parameters, its JSON Schema with marks, and pydantic's own."""
    config = ConfigDict(extra="forbid", json_schema_extra=_rule(one_of, names))
    try:
        model = create_model("Arguments", __config__=config, **fields)
        adapter = TypeAdapter(model)
        schema = _schema_of(adapter, "validation")
    except _UNWRITABLE as error:
        words = f"its parameters have no JSON Schema: {', '.join(names)}"
        raise DeclarationError(words) from error
    choices = chain.from_iterable(one_of)
    for name in set(choices).intersection(schema.get("required", ())):
        words = f"every call gives {name}: give it a default, or leave it out"
        raise DeclarationError(f"one_of_parameters={one_of!r}: {words}")
    return model, schema, adapter.core_schema


def _check_parameter(name: str, hint: Any, default: Any) -> None:
    """Whether a model can write a parameter as JSON, and its default is of its type. Raises
    DeclarationError.
    """
    adapter: TypeAdapter[Any]
    try:
        adapter = TypeAdapter(hint)
        adapter.json_schema()
    except _UNWRITABLE as error:
        raise DeclarationError(
            f"parameter {name!r}: no model can write a {getattr(hint, '__qualname__', hint)} as "
            "JSON; yield such a thing from the module's lifespan, and take it from ctx.deps"
        ) from error
    if default is inspect.Parameter.empty or default is PydanticUndefined:
        return
    try:
        value = adapter.validate_python(default)
        adapter.dump_json(value)
    except (ValidationError, PydanticSerializationError) as error:
        words = f"parameter {name!r}: its default {default!r} is not of its type, or not JSON"
        raise DeclarationError(f"{words}; give one that is, or None and `| None`") from error


def _rule(groups: Groups, names: Collection[str]) -> dict[str, Any]:
    """That one of each group is given, as JSON Schema. Raises DeclarationError."""
    for group in groups:
        if len(group) < 2 or not set(group) <= set(names):
            known = ", ".join(names) or "none"
            words = f"give groups of its parameters ({known}), as (('slug', 'id'),)"
            raise DeclarationError(f"one_of_parameters={groups!r}: {words}")
    rules = [{"anyOf": [{"required": [name]} for name in group]} for group in groups]
    return {"allOf": rules} if rules else {}


def read_output(hints: Mapping[str, Any]) -> Output:
    """What the return annotation promises. Raises DeclarationError."""
    hint = hints.get("return", Any)
    if get_origin(hint) is ToolResult:
        hint = get_args(hint)[0]
    if hint in (Any, object, None, type(None), ToolResult):
        return Output()
    adapter: TypeAdapter[Any]
    try:
        adapter = TypeAdapter(hint)
        marked = _schema_of(adapter, "serialization")
    except _UNWRITABLE as error:
        shown = getattr(hint, "__qualname__", hint)
        words = "return a dict, a dataclass or a model of pydantic with texts and numbers"
        raise DeclarationError(f"its result: JSON cannot express a {shown}; {words}") from error
    is_object = _is_object(marked)
    whole = marked if is_object else _wrapped(marked)
    schema = without_marks(whole)
    fields = frozenset(fields_in(schema) if is_object else ())
    return Output(adapter, schema, not is_object, fields, places_of(FOREIGN, whole))


def _wrapped(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of `{"value": ...}` around what has this schema."""
    inner = dict(schema)
    definitions = inner.pop("$defs", {})
    whole = {"type": "object", "properties": {WRAP: inner}, "required": [WRAP]}
    return {**whole, "$defs": definitions} if definitions else whole


def fields_in(schema: Node) -> list[str]:
    """The names of the fields of an object, of any branch of a union."""
    outermost = [part for part in parts_of(schema) if len(part.path) == 1]
    names = dict.fromkeys(part.name for part in outermost)
    return [name for name in names if name]


def _is_object(schema: Node) -> bool:
    """Whether every value that fits is a JSON object."""
    whole = [part.node for part in parts_of(schema) if not part.path and not part.loose]
    return all(node.get("type") == "object" for node in whole if _BRANCHES.isdisjoint(node))


def _schema_of(adapter: TypeAdapter[Any], mode: JsonSchemaMode) -> dict[str, Any]:
    schema = adapter.json_schema(mode=mode, schema_generator=_PlainSchema)
    schema.pop("title", None)
    return schema
