"""What a JSON Schema says of one value: references inside of it followed, unions taken apart. It may hold anything."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

_BRANCHES: Final = ("anyOf", "oneOf", "allOf")
_FURTHER: Final = frozenset({"$ref", *_BRANCHES})

Node = dict[str, Any]
Nodes = tuple[Node, ...]
"""The schemas that may describe one value."""


def nodes_of(schemas: Iterable[Any], root: Node, ends: frozenset[str] = frozenset()) -> Nodes:
    """The schemas themselves, those that they refer to and the branches of their unions, each reference followed once.

    Behind a schema with one of the keys `ends` none is looked for.
    """
    waiting, found, followed = list(schemas), list[Node](), set[str]()
    for one in waiting:  # grows while it is walked
        if not isinstance(one, dict):
            continue
        found.append(one)
        if _FURTHER.isdisjoint(one) or not ends.isdisjoint(one):
            continue
        target = one.get("$ref")
        if isinstance(target, str) and target not in followed:
            followed.add(target)
            waiting.append(_at(root, target))
        for branch in _BRANCHES:
            inner = one.get(branch)
            waiting += inner if isinstance(inner, list) else ()
    return tuple(found)


def below(node: Node, part: Any) -> Any:
    """The schema of what is under a name, or at a number (None: any), of a value; None where nothing is said."""
    if isinstance(part, str):
        properties = node.get("properties")
        return (properties if isinstance(properties, dict) else {}).get(part, node.get("additionalProperties"))
    first = node.get("prefixItems")
    if isinstance(first, list) and isinstance(part, int) and part < len(first):
        return first[part]
    return node.get("items")


def said(node: Node, key: str) -> Iterator[tuple[str, Any]]:
    """What the schemas of an object's properties say under a key, `default` for one."""
    properties = node.get("properties")
    for name, one in properties.items() if isinstance(properties, dict) else ():
        if isinstance(one, dict) and key in one:
            yield name, one[key]


def _at(root: Node, reference: str) -> Any:
    """What a reference inside of the schema points at; None when it points nowhere."""
    found: Any = root
    head, *path = reference.split("/")
    for part in path:
        found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
    return found if head == "#" else None
