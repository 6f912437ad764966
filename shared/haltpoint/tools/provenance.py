"""Where a value of the arguments must come from (CONTRACT A, C6): a model cannot make up an id.

A mark stands on a parameter, or anywhere inside of its type: a field of a model, a dataclass or a TypedDict, what a
list holds, behind an alias or an Optional. It is found where pydantic finds it, in the JSON Schema of the parameters,
so that the place of its value is the one under which a model writes it. A mark for which there is no such place would
protect nothing: it is refused.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pydantic import GetJsonSchemaHandler

from haltpoint.tools.errors import DeclarationError

_PATH: Final = re.compile(r"[A-Za-z0-9_-]{1,64}(\[\])?(\.[A-Za-z0-9_-]+(\[\])*)+")
_NAME: Final = re.compile(r"[^.\[\]]+")
_MARK: Final = "x-from-result"
_SAME_PLACE: Final = ("anyOf", "oneOf", "allOf")
_KNOWN: Final = frozenset({_MARK, "$ref", "$defs", "properties", "items", "prefixItems", *_SAME_PLACE})


@dataclass(frozen=True, slots=True)
class FromResult:
    """Marks a value: `Annotated[str, FromResult("lookup_contacts.contact_id")]`.

    `path` is a tool's name and the place under `data` of its successful receipts; `[]` stands for any element of a
    list: `search.hits[].id`. Raises DeclarationError for any other form.
    """

    path: str

    def __post_init__(self) -> None:
        if not _PATH.fullmatch(self.path):
            raise DeclarationError(
                f"FromResult({self.path!r}): write a tool's name, a dot and the place in its data, "
                "as in 'lookup_contacts.contact_id' or 'search.hits[].id'"
            )

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler(core_schema)
        return {**schema, _MARK: [*schema.get(_MARK, ()), self.path]}


def origins_in(schema: dict[str, Any], core_schema: Any) -> dict[str, str]:
    """The origins that the parameters of a tool name, by the place of the value: `recipient_id`, `letters[].to`.

    `core_schema` is pydantic's own, from which the JSON Schema was made. Raises DeclarationError for a mark whose value
    has no place, several origins for one, or several names.
    """
    marked = {mark.path for mark in _marks(core_schema)}
    if not marked:
        return {}
    if _has_other_names(core_schema):
        raise DeclarationError(
            "a value with FromResult could be given under another name: take AliasChoices, AliasPath and "
            "populate_by_name away from its parameters"
        )
    found: dict[str, str] = {}
    _find(schema, "", schema.get("$defs", {}), frozenset(), found)
    if dropped := marked - set(found.values()):
        raise DeclarationError(
            f"FromResult({dropped.pop()!r}) would protect nothing: it does not reach the parameters' JSON Schema; "
            "another annotation takes its place there, WithJsonSchema for one"
        )
    return found


def without_marks(value: Any) -> Any:
    """A schema as it is shown: its readers learn of origins in another way."""
    if isinstance(value, dict):
        return {name: without_marks(inner) for name, inner in value.items() if name != _MARK}
    return [without_marks(inner) for inner in value] if isinstance(value, list) else value


def _find(node: Any, place: str, definitions: dict[str, Any], within: frozenset[str], found: dict[str, str]) -> None:
    if not isinstance(node, dict):
        return
    for origin in node.get(_MARK, ()):
        if found.setdefault(place, origin) != origin:
            raise DeclarationError(f"{place} has one origin, not several FromResult")
    for inner in (one for key in _SAME_PLACE for one in node.get(key, ())):
        _find(inner, place, definitions, within, found)
    for name, inner in node.get("properties", {}).items():
        if _holds_a_mark(inner, definitions) and not _NAME.fullmatch(name):
            raise DeclarationError(f"{name!r} holds a FromResult: give it a name without dots and brackets")
        _find(inner, f"{place}.{name}" if place else name, definitions, within, found)
    _find(node.get("items"), f"{place}[]", definitions, within, found)
    for number, inner in enumerate(node.get("prefixItems", ())):
        _find(inner, f"{place}[{number}]", definitions, within, found)
    for key, inner in node.items():
        if key not in _KNOWN and _holds_a_mark(inner, definitions):
            raise DeclarationError(
                f"{place}: FromResult protects nothing here, since its value has no place that can be named; "
                "use fields of an object or a list of them, and no dict"
            )
    if name := _definition(node):
        if name not in within:
            _find(definitions[name], place, definitions, within | {name}, found)
        elif _holds_a_mark(definitions[name], definitions):
            raise DeclarationError(f"{place}: {name} holds a FromResult and itself; their places have no end")


def _definition(node: dict[str, Any]) -> str:
    return str(node.get("$ref", "")).rpartition("/")[2]


def _holds_a_mark(node: Any, definitions: dict[str, Any], seen: frozenset[str] = frozenset()) -> bool:
    if isinstance(node, list):
        return any(_holds_a_mark(inner, definitions, seen) for inner in node)
    if not isinstance(node, dict):
        return False
    if _MARK in node or any(_holds_a_mark(inner, definitions, seen) for inner in node.values()):
        return True
    name = _definition(node)
    return name in definitions and name not in seen and _holds_a_mark(definitions[name], definitions, seen | {name})


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
            raise DeclarationError(f"{one} belongs into the type, not behind it: Annotated[str, {one}]")
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
