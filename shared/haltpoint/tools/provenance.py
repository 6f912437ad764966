"""Marks in types (CONTRACT A, C6, C13): where a value must come from, to whom or where it goes, who
writes it.

A mark is on a parameter or a result, or anywhere inside of its type: a field of a model, a
dataclass or a TypedDict, what a list holds, behind an alias or an Optional. It is found where
pydantic finds it, in the JSON Schema, so that the place of its value is the one under which a model
writes it. A mark for which there is no such place would protect nothing: it is refused.
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
NOT_TARGET: Final = "x-not-target"
FOREIGN: Final = "x-foreign"
_MARKS: Final = {
    _FROM_RESULT: "FromResult",
    TARGET_MARK: "Target",
    NOT_TARGET: "NotTarget",
    FOREIGN: "Foreign",
}
_SAME_PLACE: Final = ("anyOf", "oneOf", "allOf")
_KNOWN: Final = frozenset(
    {*_MARKS, "$ref", "$defs", "properties", "items", "prefixItems", *_SAME_PLACE}
)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class FromResult:
    """Marks a value: `Annotated[str, FromResult("lookup_contacts.contact_id", "goal")]`. Any one
    origin is enough.

    An origin is a tool's name and the place under `data` of its successful receipts, or `goal`, the
    user's words; `[]` is any element of a list (`search.hits[].id`), `{}` any key or value of an
    object. Raises DeclarationError for any other form.
    """

    origins: tuple[str, ...]

    def __init__(self, *origins: str) -> None:
        object.__setattr__(self, "origins", origins)
        if not origins or not all(map(_PATH.fullmatch, origins)):
            raise DeclarationError(
                f"{self}: write a tool's name, a dot and the place in its data, "
                "as in 'lookup_contacts.contact_id' or 'search.hits[].id', or 'goal' for "
                "the user's words"
            )

    def __repr__(self) -> str:
        return f"FromResult({', '.join(map(repr, self.origins))})"

    def __get_pydantic_json_schema__(
        self, core_schema: Any, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        schema = handler(core_schema)
        return {**schema, _FROM_RESULT: [*schema.get(_FROM_RESULT, ()), self.origins]}


class NotTarget:
    """Marks a value that is no target, whatever its name: `Annotated[str, NotTarget]` for the slug
    of a new page.
    """

    @staticmethod
    def __get_pydantic_json_schema__(
        core_schema: Any, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Called by pydantic."""
        return {**handler(core_schema), NOT_TARGET: True}


class Foreign:
    """Marks a field of a result that strangers write, a sender or a file name: `Annotated[str,
    Foreign]`.
    """

    @staticmethod
    def __get_pydantic_json_schema__(
        core_schema: Any, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Called by pydantic."""
        return {**handler(core_schema), FOREIGN: True}


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
            "a value with FromResult could be given under another name: take "
            "AliasChoices, AliasPath and "
            "populate_by_name away from its parameters"
        )
    origins_by_place: dict[str, tuple[str, ...]] = {}
    for place, marks in _Marked(_FROM_RESULT, schema).places():
        origins = origins_by_place.setdefault(place, marks[0])
        if any(mark != origins for mark in marks):
            raise DeclarationError(
                f"{place} has several FromResult: name its origins in one of them"
            )
    if dropped := marked.difference(origins_by_place.values()):
        raise DeclarationError(
            f"{FromResult(*dropped.pop())} would protect nothing: it does not reach the "
            "parameters' JSON Schema; "
            "another annotation takes its place there, WithJsonSchema for one"
        )
    return origins_by_place


def places_of(mark: str, schema: dict[str, Any]) -> tuple[str, ...]:
    """The places that an author marks with `Target`, `NotTarget` or `Foreign` (C13). Raises
    DeclarationError.
    """
    return tuple(place for place, _ in _Marked(mark, schema).places())


def without_marks(value: Any) -> Any:
    """A schema as it is shown: its readers learn of marks in another way."""
    if isinstance(value, list):
        return [without_marks(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {name: without_marks(inner) for name, inner in value.items() if name not in _MARKS}


class _Marked:
    """The places of a schema that have a mark, and what each mark says."""

    def __init__(self, mark: str, schema: dict[str, Any]) -> None:
        self._mark = mark
        self._name = _MARKS[mark]
        self._schema = schema
        self._definitions: dict[str, Any] = schema.get("$defs", {})

    def places(self) -> Iterator[tuple[str, Any]]:
        """Each place. Raises DeclarationError for one that cannot be named."""
        return self._below(self._schema, "", frozenset())

    def _below(self, node: Any, place: str, within: frozenset[str]) -> Iterator[tuple[str, Any]]:
        if not isinstance(node, dict):
            return
        self._check_rest(node, place)
        if self._mark in node:
            yield place, node[self._mark]
        for inner, inner_place in self._parts(node, place):
            yield from self._below(inner, inner_place, within)
        name = _definition(node)
        defined = self._definitions.get(name)
        if name not in within:
            yield from self._below(defined, place, within | {name})
        elif self._is_in(defined):
            raise DeclarationError(
                f"{place}: {name} holds a {self._name} and itself; their places have no end"
            )

    def _parts(self, node: dict[str, Any], place: str) -> Iterator[tuple[Any, str]]:
        """What stands inside, each with its place."""
        for key in _SAME_PLACE:
            for branch in node.get(key, ()):
                yield branch, place
        for name, inner in node.get("properties", {}).items():
            if self._is_in(inner) and not _NAME.fullmatch(name):
                raise DeclarationError(
                    f"{name!r} holds a {self._name}: give it a name without dots and brackets"
                )
            yield inner, f"{place}.{name}" if place else name
        yield node.get("items"), f"{place}[]"
        for number, inner in enumerate(node.get("prefixItems", ())):
            yield inner, f"{place}[{number}]"

    def _check_rest(self, node: dict[str, Any], place: str) -> None:
        rest = [inner for key, inner in node.items() if key not in _KNOWN]
        if self._is_in(rest):
            raise DeclarationError(
                f"{place}: {self._name} protects nothing here, since its value has no "
                "place that can be named; "
                "use fields of an object or a list of them, and no dict"
            )

    def _is_in(self, node: Any, seen: frozenset[str] = frozenset()) -> bool:
        """Whether it has the mark, at any depth."""
        if isinstance(node, list):
            return any(self._is_in(inner, seen) for inner in node)
        if not isinstance(node, dict):
            return False
        if self._mark in node or self._is_in(list(node.values()), seen):
            return True
        name = _definition(node)
        if name in seen:
            return False
        inside = self._definitions.get(name)
        return self._is_in(inside, seen | {name})


def _definition(node: dict[str, Any]) -> str:
    return str(node.get("$ref", "")).rpartition("/")[2]


def _inside(core: Any) -> Iterator[Any]:
    """Everything in pydantic's schema of what comes in."""
    yield core
    if isinstance(core, dict):
        outgoing = ("serialization", "computed_fields") if isinstance(core.get("type"), str) else ()
        parts = [inner for key, inner in core.items() if key not in outgoing]
    else:
        parts = list(core) if isinstance(core, list | tuple) else []
    for inner in parts:
        yield from _inside(inner)


def _marks(core: Any) -> Iterator[FromResult]:
    for part in _inside(core):
        owner = getattr(part, "__self__", None)
        if isinstance(part, FromResult):
            raise DeclarationError(
                f"{part} belongs in the type, not after it: Annotated[str, {part}]"
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
