"""Marks in types (CONTRACT A, C6, C13): where a value must come from, to whom or where it goes, who
writes it.

A mark is on a parameter or a result, or anywhere inside of its type: a field of a model, a
dataclass or a TypedDict, what a list holds, behind an alias or an Optional. It is found where
pydantic finds it, in the JSON Schema, so that the place of its value is the one under which a model
writes it. A mark for which there is no such place would protect nothing: it is refused.
"""

import re
from collections.abc import Iterator
from typing import Any, ClassVar, Final

from pydantic import GetJsonSchemaHandler

from haltpoint.contracts.doors import TARGET_MARK
from haltpoint.tools.errors import DeclarationError
from haltpoint.tools.parts import Node, parts_of

GOAL: Final = "goal"
_PATH: Final = re.compile(r"goal|[A-Za-z0-9_-]{1,64}(\[\])?(\.[A-Za-z0-9_-]+(\[\]|\{\})*)+")
_FORM: Final = (
    "write a tool's name, a dot and the place in its data, as in "
    "FromResult('lookup_contacts.contact_id') or FromResult('search.hits[].id'), or "
    "FromResult('goal') for the user's words"
)
_NAME: Final = re.compile(r"[^.\[\]]+")
_FROM_RESULT: Final = "x-from-result"
NOT_TARGET: Final = "x-not-target"
FOREIGN: Final = "x-foreign"
_MARKS: Final = {
    _FROM_RESULT: "FromResult",
    TARGET_MARK: "Target",
    NOT_TARGET: "NotTarget",
    FOREIGN: "Foreign",
}


class FromResult:
    """Marks a value: `Annotated[str, FromResult("lookup_contacts.contact_id", "goal")]`. Any one
    origin is enough.

    An origin is a tool's name and the place under `data` of its successful receipts, or `goal`, the
    user's words; `[]` is any element of a list (`search.hits[].id`), `{}` any key or value of an
    object. Raises DeclarationError for any other form.
    """

    def __init__(self, *origins: str) -> None:
        self.origins = origins
        if not origins or not all(map(_PATH.fullmatch, map(str, origins))):
            raise DeclarationError(f"FromResult{origins}: {_FORM}")

    def __get_pydantic_json_schema__(
        self, core_schema: Any, handler: GetJsonSchemaHandler | None = None
    ) -> dict[str, Any]:
        if handler is None:  # pydantic calls it of the class: the mark has no origins
            raise DeclarationError(f"FromResult without brackets: {_FORM}")
        schema = handler(core_schema)
        return {**schema, _FROM_RESULT: [*schema.get(_FROM_RESULT, ()), self.origins]}


class _Mark:
    """A mark that says nothing but itself."""

    name: ClassVar[str]

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: Any, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(core_schema), cls.name: True}


class NotTarget(_Mark):
    """Marks a value that is no target, whatever its name: `Annotated[str, NotTarget]` for the slug
    of a new page.
    """

    name = NOT_TARGET


class Foreign(_Mark):
    """Marks a field of a result that strangers write, a sender or a file name: `Annotated[str,
    Foreign]`.
    """

    name = FOREIGN


def origins_in(schema: dict[str, Any], core_schema: Any) -> dict[str, tuple[str, ...]]:
    """The origins that the parameters of a tool name, by the place of the value: `recipient_id`,
    `letters[].to`.

    `core_schema` is pydantic's own, from which the JSON Schema was made. Raises DeclarationError
    for a mark whose value has no place, several marks for one, or several names.
    """
    marked = {mark.origins for mark in _marks(core_schema)}
    if not marked:
        return {}
    if any(map(_has_other_names, _inside(core_schema))):
        raise DeclarationError(
            "a value with FromResult could be given under another name: remove "
            "AliasChoices, AliasPath and "
            "populate_by_name from its parameters"
        )
    origins_by_place: dict[str, tuple[str, ...]] = {}
    for place, marks in _marked(_FROM_RESULT, schema):
        origins = origins_by_place.setdefault(place, marks[0])
        if set(marks) != {origins}:
            raise DeclarationError(
                f"{place} has several FromResult: name its origins in one of them"
            )
    if dropped := marked.difference(origins_by_place.values()):
        raise DeclarationError(
            f"FromResult{dropped.pop()} would protect nothing: another annotation, "
            "WithJsonSchema for one, takes its place in the parameters' JSON Schema"
        )
    return origins_by_place


def places_of(mark: str, schema: Node) -> tuple[str, ...]:
    """The places that an author marks with `Target`, `NotTarget` or `Foreign` (C13). Raises
    DeclarationError.
    """
    return tuple(place for place, _ in _marked(mark, schema))


def without_marks(value: Any) -> Any:
    """A schema as it is shown: its readers learn of marks in another way."""
    if isinstance(value, list):
        return [without_marks(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {name: without_marks(inner) for name, inner in value.items() if name not in _MARKS}


def _marked(mark: str, schema: Node) -> Iterator[tuple[str, Any]]:
    """The places with a mark, and what it says. Raises DeclarationError for a place without a
    name.
    """
    for part in parts_of(schema):
        if mark not in part.node:
            continue
        names = [name for name in part.path if name is not None]
        if part.loose or not all(map(_NAME.fullmatch, names)):
            raise DeclarationError(
                f"{part.place}: {_MARKS[mark]} protects nothing here, since its value has no place "
                "that can be named; use fields of an object or a list of them, no dict, no type "
                "that holds itself, and names without dots and brackets"
            )
        yield part.place, part.node[mark]


def _inside(core: Any) -> Iterator[Any]:
    """Everything in pydantic's own schema."""
    yield core
    parts = core if isinstance(core, list | tuple) else ()
    for inner in core.values() if isinstance(core, dict) else parts:
        yield from _inside(inner)


def _marks(core: Any) -> Iterator[FromResult]:
    for part in _inside(core):
        owner = getattr(part, "__self__", None)
        if isinstance(part, FromResult):
            raise DeclarationError(
                "FromResult belongs in the type, not after it: Annotated[str, FromResult(...)]"
            )
        if isinstance(owner, FromResult):
            yield owner


def _has_other_names(core: Any) -> bool:
    """Whether a value could be given under another name than the one in the JSON Schema."""
    if not isinstance(core, dict):
        return False
    config = core.get("config") or {}
    by_name = config.get("populate_by_name") or config.get("validate_by_name")
    return bool(by_name) or isinstance(core.get("validation_alias"), list)
