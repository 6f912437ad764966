"""From type hints to schemas: what a tool takes and what it gives (CONTRACT A).

Parameters become one TypedDict, in which a parameter may be called `json` or `schema`. The result
becomes a TypeAdapter, and its data is always a JSON object: a value that is not an object by its
type is wrapped as `{"value": ...}`.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from traceback import extract_stack
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, Field, PydanticUserError, TypeAdapter, ValidationError
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from pydantic_core import PydanticSerializationError, PydanticUndefined
from typing_extensions import TypedDict

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
CONTEXT: Final = "ctx"
"""The name of the parameter that is the context, when it has no type."""
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
    """What a tool takes: `adapter` makes the keyword arguments of a JSON text.

    `confirms`: it has a parameter `confirmed` that the runtime alone sets, so it is in neither
    `adapter` nor `schema` (B7).
    """

    adapter: TypeAdapter[dict[str, Any]]
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


def called(function: object) -> Any:
    """What a call of it runs: a callable object has a method for that."""
    is_object = callable(function) and not inspect.isroutine(function)
    return type(function).__call__ if is_object else function


def hints_of(function: Function) -> dict[str, Any]:
    """The resolved type hints of a function or callable object. Raises DeclarationError."""
    try:
        return get_type_hints(called(function), include_extras=True)
    except NameError as error:
        raise DeclarationError(f"a type hint cannot be resolved: {error}") from error


def place_of(function: Function) -> str:
    """Where a function is written, `file:line`; of all else, where it is declared."""
    code = getattr(inspect.unwrap(called(function)), "__code__", None)
    if code is not None:
        return f"{code.co_filename}:{code.co_firstlineno}"
    here = str(Path(__file__).parent)
    frames = [frame for frame in extract_stack() if not frame.filename.startswith(here)]
    last = frames[-1]
    return f"{last.filename}:{last.lineno}"


def is_async(function: Function) -> bool:
    """Whether calling it gives something to await."""
    return inspect.iscoroutinefunction(called(function))


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
    context = _context_of(parameters, hints)
    parameters.pop(context or "", None)
    confirms = not read_only and hints.get(CONFIRMED) is bool
    confirms = confirms and parameters[CONFIRMED].default is False  # unless it is given
    if confirms:
        del parameters[CONFIRMED]
    fields = {name: _field(parameter, hints) for name, parameter in parameters.items()}
    adapter = adapter_of("Arguments", fields)
    marked = _schema_of(adapter, "validation")
    _add_rules(marked, one_of)
    return Inputs(
        adapter=adapter,
        context=context,
        schema=without_marks(marked),
        provenance=origins_in(marked, adapter.core_schema),
        targets=places_of(TARGET_MARK, marked),
        not_targets=places_of(NOT_TARGET, marked),
        confirms=confirms,
    )


def _context_of(parameters: Iterable[str], hints: Mapping[str, Any]) -> str | None:
    """The name of the parameter that is the context: of type Ctx, or `ctx` without a type."""
    hinted = {CONTEXT: Ctx, **hints}
    plain = {name: get_origin(hint) or hint for name, hint in hinted.items()}
    names = [name for name in parameters if plain.get(name) is Ctx]
    if len(names) > 1:
        raise DeclarationError(f"parameters {' and '.join(names)} are both the context")
    return names[0] if names else None


def _field(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> Any:
    """The type of a parameter with its default, under its name alone, if a model can write its
    values as JSON. Raises DeclarationError.
    """
    name = parameter.name
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise DeclarationError(
            f"parameter {name!r} cannot be described to a model: use named parameters, "
            "no *args, no **kwargs and none that are positional-only"
        )
    if name not in hints:
        raise DeclarationError(
            f"parameter {name!r} has no type hint: a model needs to know what to write"
        )
    hint = hints[name]
    given = parameter.default
    default = PydanticUndefined if given is parameter.empty else given
    declared: Any = given if isinstance(given, FieldInfo) else Field(default)
    adapter: TypeAdapter[Any]
    try:
        adapter = TypeAdapter(hint)
        adapter.json_schema()
    except _UNWRITABLE as error:
        raise DeclarationError(
            f"parameter {name!r}: no model can write a {getattr(hint, '__qualname__', hint)} as "
            "JSON; yield such a thing from the module's lifespan, and take it from ctx.deps"
        ) from error
    try:
        if declared.default is not PydanticUndefined:
            value = adapter.validate_python(declared.default)
            adapter.dump_json(value)
    except (ValidationError, PydanticSerializationError) as error:
        words = (
            f"parameter {name!r}: its default {declared.default!r} is not of its type, or not JSON"
        )
        raise DeclarationError(f"{words}; give one that is, or None and `| None`") from error
    return Annotated[hint, declared, Field(alias=name)]


def adapter_of(name: str, fields: dict[str, Any]) -> TypeAdapter[dict[str, Any]]:
    """Reads objects with these fields and no others, whatever the fields are called."""
    make: Any = TypedDict
    kind = make(name, fields)
    kind.__pydantic_config__ = ConfigDict(extra="forbid")
    return TypeAdapter(kind)


def _add_rules(schema: dict[str, Any], groups: Groups) -> None:
    """Let a schema say that one of each group is given. Raises DeclarationError."""
    required = schema.get("required", ())
    optional = [name for name in schema["properties"] if name not in required]
    for group in groups:
        if len(group) < 2 or not set(group) <= set(optional):
            words = f"give groups of its optional parameters ({', '.join(optional) or 'none'})"
            raise DeclarationError(
                f"one_of_parameters={groups!r}: {words}, as (('slug', 'id'),); "
                "every call gives the others"
            )
    if groups:
        schema["allOf"] = [{"anyOf": [{"required": [name]} for name in group]} for group in groups]


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
    whole = marked if is_object else _schema_of(adapter_of("Result", {WRAP: hint}), "serialization")
    schema = without_marks(whole)
    fields = frozenset(fields_in(schema) if is_object else ())
    return Output(adapter, schema, not is_object, fields, places_of(FOREIGN, whole))


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
