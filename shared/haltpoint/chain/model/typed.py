"""Values as a tool's JSON Schema means them (C9): what XML-like dialects and the command line write is text only.

Where the schema admits a text, a text stays as it is: the zip "19122", the part "6E123". Elsewhere a text becomes
what the schema asks for, if that loses nothing: an integer as Python writes it ("-7", not "007" or "+7"), a number that
JSON knows and a float holds ("2.50", not "1e400"), true or false, null, a list or an object in JSON. Where the schema
says nothing, objects and lists are read and all else stays text. In JSON only numbers are read from texts: a model has
said itself what is text. What becomes nothing stays as it is, for the check of the schema to refuse.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import partial
from typing import Any, Final

from haltpoint.chain.model.references import deeper_than, values_at
from haltpoint.contracts.base import MAX_DEPTH

_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,299}")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?")
_LONGEST: Final = 300  # characters of a number
_WORDS: Final = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_SAYS: Final = frozenset(
    {"type", "enum", "const", "items", "prefixItems", "properties", "patternProperties", "propertyNames"}
    | {"additionalProperties"}
)
_TYPES: Final = (str, bool, int, float, list, dict, type(None))
_NAMES: Final = ("string", "boolean", "integer", "number", "array", "object", "null")
_KINDS: Final[dict[type, str]] = dict(zip(_TYPES, _NAMES, strict=True))

_BRANCHES: Final = ("anyOf", "oneOf", "allOf")
_FURTHER: Final = frozenset({"$ref", *_BRANCHES})

Node = dict[str, Any]
Nodes = tuple[Node, ...]
"""The schemas that may describe one value."""


def typed(value: Any, schema: Any, *, text: bool = False) -> Any:
    """The value as the schema types it. `text`: all scalars in it are texts whose types are not known."""
    root = schema if isinstance(schema, dict) else {}
    return walked(value, schema, root, partial(_from_text, root) if text else exact)


def walked(value: Any, schema: Any, root: Node, scalar: Callable[[Any, Nodes], Any], *, filled: bool = False) -> Any:
    """The value with all scalars in it as `scalar` makes them of a scalar and its schemas; `filled`: with defaults."""
    leaves = tuple(node for node in nodes_of((schema,), root, _SAYS) if not _SAYS.isdisjoint(node))
    if not isinstance(value, list | dict):
        return scalar(value, leaves)
    leaf = _meant(value, leaves)
    if isinstance(value, list):
        return [walked(one, below(leaf, at), root, scalar, filled=filled) for at, one in enumerate(value)]
    given = {**dict(said(leaf, "default")), **value} if filled else value
    return {name: walked(one, below(leaf, name), root, scalar, filled=filled) for name, one in given.items()}


def exact(value: Any, leaves: Nodes) -> Any:
    """The number that a text is, where a number is asked for and nothing is lost; else the value."""
    if not isinstance(value, str) or len(value) > _LONGEST or not leaves:
        return value
    kinds = _kinds(leaves, value)
    if "string" in kinds:
        return value
    if not kinds.isdisjoint(("integer", "number")) and _INTEGER.fullmatch(value):
        return int(value)
    if "number" in kinds and _NUMBER.fullmatch(value):
        number = float(value)
        if math.isfinite(number) and Decimal(repr(number)) == Decimal(value):
            return number
    return value


def _from_text(root: Node, text: Any, leaves: Nodes) -> Any:
    if not isinstance(text, str):
        return text
    kinds, bare = _kinds(leaves, text) if leaves else {"object", "array"}, text.strip()
    if "string" in kinds:
        return text
    if bare in _WORDS and _KINDS[type(_WORDS[bare])] in kinds:
        return _WORDS[bare]
    if (number := exact(bare, leaves)) is not bare:
        return number
    found = _json(bare) if bare[:1] in ("{", "[") else None
    if found is None or _KINDS[type(found)] not in kinds:
        return text
    return walked(found, {"anyOf": [*leaves]}, root, exact)


def _meant(value: dict[str, Any] | list[Any], leaves: Nodes) -> Node:
    """The schema that an object or a list is of; an empty one when several fit, or none does. An object has what its
    schema requires, and is not marked as another one's.
    """
    fitting = [leaf for leaf in leaves if _KINDS.get(type(value)) in _admitted(leaf, "")]
    if isinstance(value, dict):
        fitting = [leaf for leaf in fitting if _fits(value, leaf)]
    return fitting[0] if len(fitting) == 1 else {}


def _fits(value: dict[str, Any], leaf: Node) -> bool:
    names = leaf.get("required")
    full = not isinstance(names, list) or value.keys() >= set(map(str, names))
    return full and all(value.get(name, mark) == mark for name, mark in said(leaf, "const"))


def _kinds(leaves: Nodes, text: str) -> set[str]:
    """The types that schemas admit of a value that is this text."""
    return set().union(*(_admitted(leaf, text) for leaf in leaves))


def _admitted(leaf: Node, text: str) -> set[str]:
    """The types that a schema admits; a text only where it may be this one."""
    options, kinds = leaf.get("enum", [leaf["const"]] if "const" in leaf else None), leaf.get("type")
    if isinstance(options, list):
        return {_KINDS.get(type(option), "") for option in options if not isinstance(option, str) or option == text}
    if isinstance(kinds, str | list):
        return {kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if isinstance(kind, str)}
    return {"array"} if "items" in leaf or "prefixItems" in leaf else {"object"}


def _json(text: str) -> Any:
    """The list or object that a text is, exactly and within the limits; None when it is none."""
    try:
        found = json.loads(text, object_pairs_hook=_object)
        json.dumps(found, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    return None if deeper_than(found, MAX_DEPTH) else found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key appears twice")
    return found


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
            head, *path = target.split("/")
            inside = tuple(part.replace("~1", "/").replace("~0", "~") for part in path)
            waiting += values_at(root, inside) if head == "#" else ()
        for branch in _BRANCHES:
            inner = one.get(branch)
            waiting += inner if isinstance(inner, list) else ()
    return tuple(found)


def below(node: Node, part: Any) -> Any:
    """The schema of what is under a name, or at a number, of a value; None where nothing is said."""
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
