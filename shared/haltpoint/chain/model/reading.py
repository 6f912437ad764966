"""Arguments as the schema of their tool reads them, once and exactly (CONTRACT C9).

Models write null for what they leave out, and a number, a list or an object as a text that holds its JSON. Where the
schema allows no text, such a text is that value; where it allows one, a text stays a text.
"""

import json
from collections.abc import Iterator
from typing import Any, Final, cast

from haltpoint.chain.model.schemas import compiled
from haltpoint.contracts.tools import ToolSpec

_DEEPEST: Final = 32
_UNIONS: Final = ("anyOf", "oneOf", "allOf")

Node = dict[str, Any]


def read_arguments(spec: ToolSpec, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a model's call; what does not fit stays as it is, for the check of the schema to refuse."""
    fits = compiled(spec).fits
    if fits is not None and fits(arguments):
        return arguments
    return cast("dict[str, Any]", _read(arguments, [spec.parameters], spec.parameters, _DEEPEST))


def _read(value: Any, schemas: list[Any], root: Node, levels: int) -> Any:
    """The value under any of these schemas."""
    if levels == 0:
        return value
    nodes = [node for schema in schemas for node in _alternatives(schema, root, _DEEPEST)]
    if isinstance(value, str):
        found = _from_text(value, nodes)
        return value if isinstance(found, str) else _read(found, schemas, root, levels - 1)
    if isinstance(value, list):
        items = [node["items"] for node in nodes if "items" in node]
        return [_read(item, items, root, levels - 1) for item in value]
    if isinstance(value, dict):
        members = {name: _schemas_of(name, nodes) for name in value}
        return {
            name: _read(member, members[name], root, levels - 1)
            for name, member in value.items()
            if member is not None or not _may_be_left_out(name, nodes, members[name], root)
        }
    return value


def _alternatives(schema: Any, root: Node, levels: int) -> Iterator[Node]:
    """The plain schemas that a value may be under, references and unions followed."""
    if not isinstance(schema, dict) or levels == 0:
        return
    yield schema
    further = [_referred(schema["$ref"], root)] if "$ref" in schema else []
    for union in _UNIONS:
        inner = schema.get(union)
        further += inner if isinstance(inner, list) else []
    for node in further:
        yield from _alternatives(node, root, levels - 1)


def _referred(reference: Any, root: Node) -> Any:
    """What `#/$defs/Name` names; None for anything else."""
    _, _, place = str(reference).partition("#/")
    node: Any = root
    for part in place.split("/"):
        node = node.get(part) if isinstance(node, dict) else None
    return node


def _schemas_of(name: str, nodes: list[Node]) -> list[Any]:
    """The schemas of a member of an object."""
    named = [node["properties"] for node in nodes if isinstance(node.get("properties"), dict)]
    found = [properties[name] for properties in named if name in properties]
    return found or [node["additionalProperties"] for node in nodes if "additionalProperties" in node]


def _may_be_left_out(name: str, nodes: list[Node], schemas: list[Any], root: Node) -> bool:
    """Whether null stands for nothing: the member is optional and cannot be null."""
    required = any(name in node.get("required", ()) for node in nodes)
    types = _types([node for schema in schemas for node in _alternatives(schema, root, _DEEPEST)])
    return not required and bool(types) and "null" not in types


def _types(nodes: list[Node]) -> set[str]:
    """The types that schemas allow; empty where they do not say."""
    types: set[str] = set()
    for node in nodes:
        said = node.get("type", [])
        types.update(said if isinstance(said, list) else [said])
        values = [node["const"]] if "const" in node else node.get("enum", [])
        types.update(_type_of(value) for value in values)
    return types


def _from_text(text: str, nodes: list[Node]) -> Any:
    """The value whose JSON a text is, where no text is allowed and this value is; else the text."""
    types = _types(nodes)
    if not types or "string" in types:
        return text
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text
    kind = _type_of(value)
    is_number = kind == "integer" and "number" in types
    return value if kind in types or is_number else text


def _refuse(word: str) -> None:
    """JSON has no NaN and no infinity."""
    raise ValueError(word)


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "integer", float: "number", list: "array", dict: "object"}
    return names.get(type(value), "null")
