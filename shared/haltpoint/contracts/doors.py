"""The doors: where values come from people, models and other systems, pydantic reads and explains them.

It reads the same classes that msgspec reads inside. For each it derives a model with the same fields and limits, which
is made when a door is first used.
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

from msgspec import NODEFAULT, Meta
from msgspec.structs import fields
from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, TypeAdapter, create_model
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import CoreSchema, core_schema

from haltpoint.contracts.base import Contract

TARGET_MARK: Final = "x-target"

T = TypeVar("T")
_doors = cache(TypeAdapter)
_LIMITS = ("gt", "ge", "lt", "le", "min_length", "max_length", "pattern")


def describe(schema: dict[str, Any], kind: type) -> None:
    """Put the texts below the fields of a class into its JSON Schema."""
    properties = schema.get("properties", {})
    for name, text in _texts_of(kind):
        if name in properties:
            properties[name]["description"] = text


def _texts_of(kind: type) -> Iterator[tuple[str, str]]:
    for owner in reversed(kind.__mro__):
        if not owner.__module__.startswith("haltpoint.") or "[" in owner.__name__:
            continue  # Page[X] has the texts of Page
        [declared] = ast.parse(dedent(getsource(owner))).body
        assert isinstance(declared, ast.ClassDef)  # noqa: S101 - it is the source of one
        for statement, below in pairwise(declared.body):
            match statement, below:
                case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                    yield name, cleandoc(text)


class View(BaseModel):
    """A value that is only shown, over HTTP and in the client."""

    # Built when it is first used: a short command shows one view of twenty, and building all took a tenth of its time.
    model_config = ConfigDict(defer_build=True, frozen=True, extra="ignore", json_schema_extra=describe)


class Form(BaseModel):
    """What a person writes down and no service passes on: a query, a file. An unknown field is an error."""

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
    defaults = {name: one.default for name, one in model.model_fields.items()}

    def read(raw: Any, validated: Callable[[Any], BaseModel]) -> Contract:
        if isinstance(raw, kind):
            return raw
        said = validated(kind.arriving(raw))
        # What equals its default is the default, so that the same task always has the same text.
        given = {name: one for name in said.model_fields_set if (one := getattr(said, name)) != defaults[name]}
        return kind(**given)

    def write(value: Contract, written: Callable[[Any], Any]) -> Any:
        return written(model.model_construct(**{name: getattr(value, name) for name in kind.__struct_fields__}))

    inner = handler.generate_schema(model)
    return core_schema.no_info_wrap_validator_function(
        read,
        inner,
        serialization=core_schema.wrap_serializer_function_ser_schema(write, schema=inner),
    )


def target_mark(source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
    """The schema of a parameter that says to whom or where (C13)."""
    return handler(Annotated[source, Field(json_schema_extra={TARGET_MARK: True})])


@cache
def _model_of(source: Any) -> type[BaseModel]:
    kind = get_origin(source) or source
    config = ConfigDict(
        extra="forbid" if kind.__struct_config__.forbid_unknown_fields else "ignore",
        serialize_by_alias=True,
        validate_by_name=True,
        validate_by_alias=True,
        defer_build=True,  # a fault may have a fault as its cause
        json_schema_extra=lambda schema: describe(schema, kind),
    )
    declared: dict[str, Any] = {}
    if tag := kind.__struct_config__.tag:
        declared["type"] = (Literal[tag], tag)
    for one in fields(source):
        field = Field(alias=None if one.encode_name == one.name else one.encode_name)
        if one.default_factory is not NODEFAULT:
            field = Field(alias=field.alias, default_factory=one.default_factory)
        elif one.default is not NODEFAULT:
            field = Field(alias=field.alias, default=one.default)
        declared[one.name] = (_with_limits(one.type), field)
    name = kind.__qualname__.rpartition("<locals>.")[2].replace(".", "")  # ToolCompleted.Data: ToolCompletedData
    return create_model(name, __config__=config, __module__=kind.__module__, __doc__=kind.__doc__, **declared)


def _with_limits(hint: Any) -> Any:
    """The type with msgspec's limits as pydantic knows them."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        marks = (_limits(mark) if isinstance(mark, Meta) else mark for mark in hint.__metadata__)
        return Annotated[(_with_limits(hint.__origin__), *marks)]
    if origin in (Union, UnionType):
        return reduce(or_, map(_with_limits, args))
    if origin is None or not args or origin.__module__ != "builtins":
        return hint
    return origin[tuple(_with_limits(one) for one in args)]


def _limits(mark: Meta) -> Any:
    if mark.extra is not None:
        return SkipJsonSchema()  # type: ignore[type-arg]
    return Field(**{name: limit for name in _LIMITS if (limit := getattr(mark, name)) is not None})
