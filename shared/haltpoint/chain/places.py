"""The values of a call with their places and what the tool's schema says of each (CONTRACT C6, C13)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from haltpoint.chain.plain_text import words_of
from haltpoint.contracts.tools import ToolSpec

_FORMATS: Final = frozenset({"email", "idn-email", "uri", "url", "iri", "uuid"})
_BRANCHES: Final = ("anyOf", "oneOf", "allOf")
_PATHS: Final = frozenset({"path", "paths", "file", "files", "filename", "folder", "dir", "directory"})

Nodes = tuple[dict[str, Any], ...]
"""The schemas that may describe one value."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar of the arguments. `place` has numbers, `parameter` has none; `named` by the table of targets.

    `nodes` are the schemas at its place; `default`: the tool declares it as a default.
    """

    place: str
    parameter: str
    value: str | int | float
    named: bool
    nodes: Nodes
    default: bool

    @property
    def is_path(self) -> bool:
        """Whether its parameter has the name of a path."""
        return not _PATHS.isdisjoint(words_of(self.parameter.rpartition(".")[2]).split("_"))

    def is_at(self, places: Any) -> bool:
        """Whether one of the declared places is this value's, or its list's."""
        return self.parameter in places or self.place in places or self.parameter.removesuffix("[]") in places


def leaves(arguments: dict[str, Any], spec: ToolSpec, named: Callable[[str], bool]) -> Iterator[Leaf]:
    """Each text and number of a call; null, true and false name nothing.

    A value inside of an object has the name of the object where none of the object's own names is in the table.
    """
    defined = _definitions(spec.parameters)

    def walk(value: Any, place: str, parameter: str, inherited: bool, nodes: Nodes, default: bool) -> Iterator[Leaf]:
        default = default or is_default(value, nodes)
        if isinstance(value, dict):
            own = {name: named(name) for name in value}
            inherited = inherited and not any(own.values())
            dot = "." if place else ""
            for name, inner in value.items():
                below = nodes_below(nodes, name, defined)
                at = f"{place}{dot}{name}", f"{parameter}{dot}{name}"
                yield from walk(inner, *at, own[name] or inherited, below, default)
        elif isinstance(value, list):
            for number, inner in enumerate(value):
                below = nodes_below(nodes, number, defined)
                yield from walk(inner, f"{place}[{number}]", f"{parameter}[]", inherited, below, default)
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            yield Leaf(place, parameter, value, inherited or parameter in spec.targets, nodes, default)

    yield from walk(arguments, "", "", False, (spec.parameters,), False)  # noqa: FBT003


def is_target(leaf: Leaf, spec: ToolSpec) -> bool:
    """Whether a value says to whom or where: by its declaration, its format or its name, and not made by the call.

    A value that the tool lists itself is none by its name alone.
    """
    if leaf.is_at(spec.targets) or leaf.is_at(spec.provenance):
        return True
    if leaf.is_at(spec.new):
        return False
    listed = any("enum" in node or "const" in node for node in leaf.nodes)
    return (leaf.named and not listed) or any(node.get("format") in _FORMATS for node in leaf.nodes)


def nodes_at(spec: ToolSpec, path: tuple[Any, ...]) -> Nodes:
    """The schemas of the value at a path of the arguments."""
    nodes: Nodes = (spec.parameters,)
    for part in path:
        nodes = nodes_below(nodes, part, _definitions(spec.parameters))
    return nodes


def nodes_below(nodes: Nodes, part: Any, defined: dict[str, Any]) -> Nodes:
    """The schemas of what is under a name, or at a number (None: any), of a value."""
    found: list[Any] = []
    for node in nodes:
        if isinstance(part, str):
            found.append(node.get("properties", {}).get(part, node.get("additionalProperties")))
        else:
            items = node.get("prefixItems", ())
            found.append(items[part] if part is not None and part < len(items) else node.get("items"))
    return tuple(one for node in found for one in _expanded(node, defined, ()))


def is_default(value: Any, nodes: Nodes) -> bool:
    """Whether the tool declares the value as a default: then it needs no origin."""
    return any("default" in node and node["default"] == value for node in nodes)


def _definitions(schema: dict[str, Any]) -> dict[str, Any]:
    defined = schema.get("$defs", schema.get("definitions"))
    return defined if isinstance(defined, dict) else {}


def _expanded(node: Any, defined: dict[str, Any], within: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    if not isinstance(node, dict):
        return
    yield node
    name = str(node.get("$ref", "")).rpartition("/")[2]
    if name in defined and name not in within:
        yield from _expanded(defined[name], defined, (*within, name))
    for branch in _BRANCHES:
        for inner in node.get(branch, ()):
            yield from _expanded(inner, defined, within)
