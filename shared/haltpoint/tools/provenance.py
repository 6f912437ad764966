"""Marks in types (CONTRACT A, C6, C13): where a value must come from, to whom or where it goes, who writes it.

A mark is on a parameter or a result, or anywhere inside of its type: a field of a model, a dataclass or a
TypedDict, what a list holds, behind an alias or an Optional. It is found where pydantic finds it, in the JSON Schema,
so that the place of its value is the one under which a model writes it. A mark for which there is no such place would
protect nothing: it is refused.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pydantic import GetJsonSchemaHandler

from haltpoint.contracts.doors import TARGET_MARK
from haltpoint.tools.errors import DeclarationError

GOAL: Final = "goal"
_PATH: Final = re.compile(r"goal|[A-Za-z0-9_-]{1,64}(\[\])?(\.[A-Za-z0-9_-]+(\[\]|\{\})*)+")
_NAME: Final = re.compile(r"[^.\[\]]+")
_FROM_RESULT: Final = "x-from-result"
_NOT_TARGET: Final = "x-not-target"
_FOREIGN: Final = "x-foreign"
_MARKS: Final = {_FROM_RESULT: "FromResult", TARGET_MARK: "Target", _NOT_TARGET: "NotTarget", _FOREIGN: "Foreign"}
_SAME_PLACE: Final = ("anyOf", "oneOf", "allOf")
_KNOWN: Final = frozenset({*_MARKS, "$ref", "$defs", "properties", "items", "prefixItems", *_SAME_PLACE})


@dataclass(frozen=True, slots=True, init=False, repr=False)
class FromResult:
    """Marks a value: `Annotated[str, FromResult("lookup_contacts.contact_id", "goal")]`. Any one origin is enough.

    An origin is a tool's name and the place under `data` of its successful receipts, or `goal`, the user's words; `[]`
    is any element of a list (`search.hits[].id`), `{}` any key or value of an object. Raises DeclarationError for any
    other form.
    """

    origins: tuple[str, ...]

    def __init__(self, *origins: str) -> None:
        object.__setattr__(self, "origins", origins)
        if not origins or not all(map(_PATH.fullmatch, origins)):
            raise DeclarationError(
                f"{self}: write a tool's name, a dot and the place in its data, "
                "as in 'lookup_contacts.contact_id' or 'search.hits[].id', or 'goal' for the user's words"
            )

    def __repr__(self) -> str:
        return f"FromResult({', '.join(map(repr, self.origins))})"

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler(core_schema)
        return {**schema, _FROM_RESULT: [*schema.get(_FROM_RESULT, ()), self.origins]}


class NotTarget:
    """Marks a value that is no target, whatever its name: `Annotated[str, NotTarget]` for the slug of a new page."""

    @staticmethod
    def __get_pydantic_json_schema__(core_schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Called by pydantic."""
        return {**handler(core_schema), _NOT_TARGET: True}


class Foreign:
    """Marks a field of a result that strangers write, a sender or a file name: `Annotated[str, Foreign]`."""

    @staticmethod
    def __get_pydantic_json_schema__(core_schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Called by pydantic."""
        return {**handler(core_schema), _FOREIGN: True}


def origins_in(schema: dict[str, Any], core_schema: Any) -> dict[str, tuple[str, ...]]:
    """The origins that the parameters of a tool name, by the place of the value: `recipient_id`, `letters[].to`.

    `core_schema` is pydantic's own, from which the JSON Schema was made. Raises DeclarationError for a mark whose value
    has no place, several marks for one, or several names.
    """
    marked = {mark.origins for mark in _marks(core_schema)}
    if not marked:
        return {}
    if _has_other_names(core_schema):
        raise DeclarationError(
            "a value with FromResult could be given under another name: take AliasChoices, AliasPath and "
            "populate_by_name away from its parameters"
        )
    found: dict[str, tuple[str, ...]] = {}
    for place, said in _places(schema, _FROM_RESULT):
        for origins in said:
            if found.setdefault(place, origins) != origins:
                raise DeclarationError(f"{place} has several FromResult: name its origins in one of them")
    if dropped := marked - set(found.values()):
        raise DeclarationError(
            f"{FromResult(*dropped.pop())} would protect nothing: it does not reach the parameters' JSON Schema; "
            "another annotation takes its place there, WithJsonSchema for one"
        )
    return found


def targets_in(schema: dict[str, Any]) -> tuple[str, ...]:
    """The places that an author marks with `Target` (C13). Raises DeclarationError."""
    return tuple(place for place, _ in _places(schema, TARGET_MARK))


def not_targets_in(schema: dict[str, Any]) -> tuple[str, ...]:
    """The places that an author marks with `NotTarget`. Raises DeclarationError."""
    return tuple(place for place, _ in _places(schema, _NOT_TARGET))


def foreign_in(schema: dict[str, Any]) -> tuple[str, ...]:
    """The places in the data that strangers write. Raises DeclarationError."""
    return tuple(place for place, _ in _places(schema, _FOREIGN))


def without_marks(value: Any) -> Any:
    """A schema as it is shown: its readers learn of marks in another way."""
    if isinstance(value, dict):
        return {name: without_marks(inner) for name, inner in value.items() if name not in _MARKS}
    return [without_marks(inner) for inner in value] if isinstance(value, list) else value


def _places(schema: dict[str, Any], mark: str) -> Iterator[tuple[str, Any]]:
    """Each place of a schema that has the mark, and what it says."""
    definitions = schema.get("$defs", {})

    def find(node: Any, place: str, within: frozenset[str]) -> Iterator[tuple[str, Any]]:
        if not isinstance(node, dict):
            return
        if mark in node:
            yield place, node[mark]
        for inner in (one for key in _SAME_PLACE for one in node.get(key, ())):
            yield from find(inner, place, within)
        for name, inner in node.get("properties", {}).items():
            if _holds(mark, inner, definitions) and not _NAME.fullmatch(name):
                raise DeclarationError(f"{name!r} holds a {_MARKS[mark]}: give it a name without dots and brackets")
            yield from find(inner, f"{place}.{name}" if place else name, within)
        yield from find(node.get("items"), f"{place}[]", within)
        for number, inner in enumerate(node.get("prefixItems", ())):
            yield from find(inner, f"{place}[{number}]", within)
        for key, inner in node.items():
            if key not in _KNOWN and _holds(mark, inner, definitions):
                raise DeclarationError(
                    f"{place}: {_MARKS[mark]} protects nothing here, since its value has no place that can be named; "
                    "use fields of an object or a list of them, and no dict"
                )
        if name := _definition(node):
            if name not in within:
                yield from find(definitions[name], place, within | {name})
            elif _holds(mark, definitions[name], definitions):
                raise DeclarationError(f"{place}: {name} holds a {_MARKS[mark]} and itself; their places have no end")

    yield from find(schema, "", frozenset())


def _definition(node: dict[str, Any]) -> str:
    return str(node.get("$ref", "")).rpartition("/")[2]


def _holds(mark: str, node: Any, definitions: dict[str, Any], seen: frozenset[str] = frozenset()) -> bool:
    if isinstance(node, list):
        return any(_holds(mark, inner, definitions, seen) for inner in node)
    if not isinstance(node, dict):
        return False
    if mark in node or any(_holds(mark, inner, definitions, seen) for inner in node.values()):
        return True
    name = _definition(node)
    return name in definitions and name not in seen and _holds(mark, definitions[name], definitions, seen | {name})


def _inside(core: Any) -> Iterator[Any]:
    """Everything in pydantic's schema of what comes in."""
    yield core
    if isinstance(core, dict):
        outgoing = ("serialization", "computed_fields") if isinstance(core.get("type"), str) else ()
        for key, inner in core.items():
            if key not in outgoing:
                yield from _inside(inner)
    elif isinstance(core, list | tuple):
        for inner in core:
            yield from _inside(inner)


def _marks(core: Any) -> Iterator[FromResult]:
    for one in _inside(core):
        owner = getattr(one, "__self__", None)
        if isinstance(one, FromResult):
            raise DeclarationError(f"{one} belongs in the type, not after it: Annotated[str, {one}]")
        if isinstance(owner, FromResult):
            yield owner


def _has_other_names(core: Any) -> bool:
    for one in _inside(core):
        if isinstance(one, dict):
            config = one.get("config") or {}
            by_name = config.get("populate_by_name") or config.get("validate_by_name")
            if by_name or isinstance(one.get("validation_alias"), list):
                return True
    return False
