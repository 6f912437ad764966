"""The parts of a JSON Schema, each with its place in a value that fits (CONTRACT C6, C13)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

Node = Mapping[str, Any]
"""A JSON Schema, or a part of one."""

_SAME_PLACE: Final = ("anyOf", "oneOf", "allOf")
_NO_SCHEMAS: Final = ("$defs", "default", "examples", "enum", "const", "required")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a schema."""

    node: Any
    path: tuple[str | None, ...] = ()
    """Where a value is that fits it: names, and None for any element of a list."""
    name: str = ""
    """The last name on its way."""
    loose: bool = False
    """Its values have no place, being in a dict or in a type that holds itself: the path is that of
    what they are in.
    """
    within: frozenset[str] = frozenset()
    """The references that lead to it."""

    @property
    def place(self) -> str:
        """The path as it is written, `letters[].to`."""
        steps = ["[]" if step is None else f".{step}" for step in self.path]
        return "".join(steps).removeprefix(".")

    def below(self, step: str | None, node: Any) -> "Part":
        """A part of its values."""
        path = self.path if self.loose else (*self.path, step)
        return replace(self, node=node, path=path, name=step or self.name)


def parts_of(schema: Node) -> Iterator[Part]:
    """All parts of a schema, an outer one first; a type inside of itself is entered once more."""
    waiting = [Part(schema)]
    while waiting:
        part = waiting.pop(0)
        if isinstance(part.node, dict):
            yield part
        if isinstance(part.node, dict | list):
            waiting[:0] = _inside(part, schema)


def _inside(part: Part, schema: Node) -> Iterator[Part]:
    """What is directly inside of a part, in its order."""
    node = part.node
    for key, inner in node.items() if isinstance(node, dict) else enumerate(node):
        if key in _SAME_PLACE:
            yield from (replace(part, node=branch) for branch in inner)
        elif key == "properties":
            yield from (part.below(name, field) for name, field in inner.items())
        elif key == "items":
            yield part.below(None, inner)
        elif key == "$ref":
            yield from _referred(part, inner, schema)
        elif key not in _NO_SCHEMAS and isinstance(inner, dict | list):
            yield replace(part, node=inner, loose=True)


def _referred(part: Part, reference: str, schema: Node) -> Iterator[Part]:
    is_inside = reference in part.within
    if is_inside and part.loose:
        return
    node: Any = schema
    path = reference.removeprefix("#/")
    for step in path.split("/"):
        node = node.get(step, {})
    within = part.within | {reference}
    loose = part.loose or is_inside
    yield replace(part, node=node, within=within, loose=loose)
