"""The doors: where values come from people, models and other systems, pydantic reads and explains
them.

It reads the same classes that msgspec reads inside. For each it derives a model with the same
fields and limits, which is made when a door is first used.
"""

import ast
from collections.abc import Callable, Iterator
from functools import cache, reduce
from inspect import cleandoc, getsource
from itertools import pairwise
from operator import or_
from textwrap import dedent
from types import UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin

from msgspec import NODEFAULT, Meta, structs
from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, TypeAdapter, create_model
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import CoreSchema, core_schema

from haltpoint.contracts.base import Contract, JsonObject

TARGET_MARK: Final = "x-target"

T = TypeVar("T")
_doors = cache(TypeAdapter)
_LIMITS = ("gt", "ge", "lt", "le", "min_length", "max_length", "pattern")


def describe(schema: JsonObject, kind: type) -> None:
    """Put the texts below the fields of a class into its JSON Schema."""
    properties = schema.get("properties", {})
    for name, text in _texts_of(kind):
        if name in properties:
            properties[name]["description"] = text


def _texts_of(kind: type) -> Iterator[tuple[str, str]]:
    for owner in reversed(kind.__mro__):
        if not owner.__module__.startswith("haltpoint.") or "[" in owner.__name__:
            continue  # Page[X] has the texts of Page
        declared = ast.parse(dedent(getsource(owner))).body[0]
        for statement, below in pairwise(ast.iter_child_nodes(declared)):
            match statement, below:
                case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                    yield name, cleandoc(text)
                case _:
                    continue


class View(BaseModel):
    """A value that is only shown, over HTTP and in the client."""

    # Built when it is first used: a short command shows one view of twenty, and building all took a
    # tenth of its time.
    model_config = ConfigDict(defer_build=True, frozen=True, json_schema_extra=describe)


class Part:
    """A part of a view of which a long chain has hundreds: pydantic reads, writes and describes it,
    and does not check it when we make it.
    """

    __pydantic_config__ = ConfigDict(json_schema_extra=describe)


class Form(BaseModel):
    """What a person writes down and no service passes on: a query, a file. An unknown field is an
    error.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=describe)


def door(kind: type[T]) -> TypeAdapter[T]:
    """What reads values of this kind from outside, strings as numbers and lists as tuples too."""
    return _doors(kind)  # type: ignore[arg-type]


def in_full(value: Contract) -> Any:
    """The value as JSON values, with what it says by default too: for people and models."""
    return door(type(value)).dump_python(value, mode="json")


def schema_of(kind: type[Contract], source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
    """How pydantic reads, writes and describes a class of ours."""
    model = _model_of(source)
    defaults = {name: declared.default for name, declared in model.model_fields.items()}

    def read(raw: Any, validated: Callable[[Any], BaseModel]) -> Contract:
        if isinstance(raw, kind):
            return raw
        given = validated(kind.arriving(raw))
        values = {name: getattr(given, name) for name in given.model_fields_set}
        # What equals its default is the default, so that the same task always has the same text.
        said = {name: value for name, value in values.items() if value != defaults[name]}
        return kind(**said)

    def write(value: Contract, written: Callable[[Any], Any]) -> Any:
        values = structs.asdict(value)
        return written(model.model_construct(**values))

    inner = handler.generate_schema(model)
    serialization = core_schema.wrap_serializer_function_ser_schema(write, schema=inner)
    return core_schema.no_info_wrap_validator_function(read, inner, serialization=serialization)


def target_mark(source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
    """The schema of a parameter that says to whom or where (C13)."""
    return handler(Annotated[source, Field(json_schema_extra={TARGET_MARK: True})])


@cache
def _model_of(source: Any) -> type[BaseModel]:
    kind = get_origin(source) or source
    form = kind.__struct_config__
    config = ConfigDict(
        extra="forbid" if form.forbid_unknown_fields else "ignore",
        serialize_by_alias=True,
        validate_by_name=True,
        validate_by_alias=True,
        defer_build=True,  # a fault may have a fault as its cause
        json_schema_extra=lambda schema: describe(schema, kind),
    )
    declared: JsonObject = {}
    if form.tag:
        declared["type"] = (Literal[form.tag], form.tag)
    for field in structs.fields(source):
        declared[field.name] = (_with_limits(field.type), _field_of(field))
    local_name = kind.__qualname__.rpartition("<locals>.")[2]
    name = local_name.replace(".", "")  # ToolCompleted.Data: ToolCompletedData
    return create_model(
        name, __config__=config, __module__=kind.__module__, __doc__=kind.__doc__, **declared
    )


def _field_of(field: structs.FieldInfo) -> Any:
    """The field with its default and its name on the wire."""
    said: JsonObject = {}
    if field.encode_name != field.name:
        said["alias"] = field.encode_name
    if field.default_factory is not NODEFAULT:
        said["default_factory"] = field.default_factory
    elif field.default is not NODEFAULT:
        said["default"] = field.default
    return Field(**said)


def _with_limits(hint: Any) -> Any:
    """The type with msgspec's limits as pydantic knows them."""
    origin = get_origin(hint)
    inside = get_args(hint)
    if origin is Annotated:
        marks = map(_limits, hint.__metadata__)
        return Annotated[(_with_limits(hint.__origin__), *marks)]
    if origin in (Union, UnionType):
        return reduce(or_, map(_with_limits, inside))
    if not inside or origin.__module__ != "builtins":
        return hint
    return origin[tuple(map(_with_limits, inside))]


def _limits(mark: Any) -> Any:
    if not isinstance(mark, Meta):
        return mark
    if mark.extra is not None:
        return SkipJsonSchema()  # type: ignore[type-arg]
    limits = {name: getattr(mark, name) for name in _LIMITS}
    return Field(**{name: limit for name, limit in limits.items() if limit is not None})
