"""Values as a tool's JSON Schema means them (C9): what XML-like dialects and the command line write is text only.

Where the schema admits a text, a text stays as it is: the zip "19122", the part "6E123". Elsewhere a text becomes
what the schema asks for, if that loses nothing: an integer as Python writes it ("-7", not "007" or "+7"), a number that
JSON knows and a float holds ("2.50", not "1e400"), true or false, null, a list or an object in JSON. Blanks around them
do not count. Where the schema says nothing, objects and lists are read and all else stays text.

In JSON a model has said itself what is text: there only numbers are read from texts, without blanks; bool and null are
strict. What does not become anything stays as it is, for the check of the schema to refuse.
"""

import json
import math
import re
from decimal import Decimal
from typing import Any, Final

from haltpoint.chain.nodes import Node, Nodes, below, nodes_of, said
from haltpoint.chain.references import deeper_than
from haltpoint.contracts.base import MAX_DEPTH

_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,299}")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?")
_LONGEST: Final = 300  # characters of a number
_WORDS: Final = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_SAYS: Final = frozenset({"type", "enum", "const", "properties", "items", "prefixItems", "additionalProperties"})
_KINDS: Final = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}

Schema = Any
"""JSON Schema as it is declared: an object, True or False, or whatever else an author wrote there."""


def typed(value: Any, schema: Schema, *, text: bool = False) -> Any:
    """The value as the schema types it. `text`: all scalars in it are texts of which nobody knows the type."""
    return _typed(value, schema, schema if isinstance(schema, dict) else {}, text=text)


def _typed(value: Any, schema: Schema, root: Node, *, text: bool) -> Any:
    leaves = leaves_of(schema, root)
    if isinstance(value, str):
        return _from_text(value, leaves, root) if text else number_of(value, kinds_of(leaves, value))
    if isinstance(value, dict):
        leaf = meant(value, leaves)
        return {name: _typed(item, below(leaf, name), root, text=text) for name, item in value.items()}
    if isinstance(value, list):
        leaf = meant(value, leaves)
        return [_typed(item, below(leaf, place), root, text=text) for place, item in enumerate(value)]
    return value


def leaves_of(schema: Schema, root: Node) -> Nodes:
    """The schemas behind one that say of what type a value is."""
    return tuple(node for node in nodes_of((schema,), root, _SAYS) if not _SAYS.isdisjoint(node))


def meant(value: dict[str, Any] | list[Any], leaves: Nodes) -> Node:
    """The only one of the schemas that may be meant by an object or a list; an empty one when there is no such one."""
    fitting = [leaf for leaf in leaves if _kind(value) in _admitted(leaf, "") and _may_be(value, leaf)]
    return fitting[0] if len(fitting) == 1 else {}


def _may_be(value: Any, leaf: Node) -> bool:
    """Whether an object has what this one of several schemas requires, and is not marked as another one's."""
    if isinstance(value, list):
        return True
    required = leaf.get("required")
    needed = required if isinstance(required, list) else []
    return all(str(name) in value for name in needed) and all(
        value[name] == mark for name, mark in said(leaf, "const") if name in value
    )


def _kind(value: Any) -> str:
    return "null" if value is None else _KINDS.get(type(value), "")


def _admitted(leaf: Node, text: str) -> set[str]:
    """The types that a schema admits; a text only where it may be this one."""
    options = leaf.get("enum", [leaf["const"]] if "const" in leaf else None)
    if isinstance(options, list):
        return {_kind(option) for option in options if not isinstance(option, str) or option == text}
    kinds = leaf.get("type")
    if isinstance(kinds, str):
        return {kinds}
    if isinstance(kinds, list):
        return {kind for kind in kinds if isinstance(kind, str)}
    return {"array"} if "items" in leaf or "prefixItems" in leaf else {"object"}


def kinds_of(leaves: Nodes, text: str) -> set[str]:
    """The types that schemas admit of a value that is this text."""
    return set().union(*(_admitted(leaf, text) for leaf in leaves))


def _from_text(text: str, leaves: Nodes, root: Node) -> Any:
    kinds = kinds_of(leaves, text) if leaves else {"object", "array"}
    bare = text.strip()
    if "string" in kinds:
        return text
    if bare in _WORDS and _kind(_WORDS[bare]) in kinds:
        return _WORDS[bare]
    number = number_of(bare, kinds)
    if number is not bare:
        return number
    found = _json(bare) if bare[:1] in ("{", "[") else None
    return text if found is None or _kind(found) not in kinds else _typed(found, {"anyOf": [*leaves]}, root, text=False)


def number_of(text: str, kinds: set[str]) -> Any:
    """The number that a text is, where a number is asked for and nothing is lost; else the text."""
    if "string" in kinds or len(text) > _LONGEST:
        return text
    if not kinds.isdisjoint(("integer", "number")) and _INTEGER.fullmatch(text):
        return int(text)
    if "number" in kinds and _NUMBER.fullmatch(text):
        number = float(text)
        if math.isfinite(number) and Decimal(repr(number)) == Decimal(text):
            return number
    return text


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
        raise ValueError("a key stands there twice")
    return found
