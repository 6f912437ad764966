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
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final, NoReturn

from haltpoint.chain.references import deeper_than
from haltpoint.contracts.base import MAX_DEPTH

_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,299}")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?")
_LONGEST: Final = 300  # characters of a number
_WORDS: Final = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_SAYS: Final = ("type", "enum", "const", "properties", "items", "prefixItems", "additionalProperties")
_KINDS: Final = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}

Schema = Any
"""JSON Schema as it is declared: an object, True or False, or whatever else an author wrote there."""


def typed(value: Any, schema: Schema, *, text: bool = False) -> Any:
    """The value as the schema types it. `text`: all scalars in it are texts of which nobody knows the type."""
    root = schema if isinstance(schema, dict) else {}
    return _typed(value, schema, root, text=text)


def _typed(value: Any, schema: Schema, root: dict[str, Any], *, text: bool) -> Any:
    leaves = list(_leaves(schema, root))
    if isinstance(value, str):
        return _from_text(value, leaves, root) if text else _number(value, _kinds(leaves, value))
    if not isinstance(value, (dict, list)):
        return value
    fitting = [leaf for leaf in leaves if _kind(value) in _admitted(leaf, "") and _may_be(value, leaf)]
    if len(fitting) == 1 or not leaves:
        return _inside(value, fitting[0] if fitting else {}, root, text=text)
    return value


def _may_be(value: Any, leaf: dict[str, Any]) -> bool:
    """Whether an object has what this one of several schemas requires, and is not marked as another one's."""
    if not isinstance(value, dict):
        return True
    named, required = leaf.get("properties"), leaf.get("required")
    marks = {name: one["const"] for name, one in _schemas(named).items() if "const" in one and name in value}
    needed = required if isinstance(required, list) else []
    return all(value[name] == mark for name, mark in marks.items()) and all(str(name) in value for name in needed)


def _schemas(named: object) -> dict[str, dict[str, Any]]:
    return {name: one for name, one in named.items() if isinstance(one, dict)} if isinstance(named, dict) else {}


def _inside(value: Any, leaf: dict[str, Any], root: dict[str, Any], *, text: bool) -> Any:
    if isinstance(value, dict):
        named, others = _schemas(leaf.get("properties")), leaf.get("additionalProperties")
        return {name: _typed(item, named.get(name, others), root, text=text) for name, item in value.items()}
    first, others = leaf.get("prefixItems"), leaf.get("items")
    first = first if isinstance(first, list) else []
    return [
        _typed(item, first[place] if place < len(first) else others, root, text=text)
        for place, item in enumerate(value)
    ]


def _leaves(schema: Schema, root: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schemas behind one that say of what type a value is: unions taken apart, each reference followed once."""
    waiting, followed = [schema], set[str]()
    while waiting:
        one = waiting.pop(0)
        if not isinstance(one, dict):
            continue
        target = one.get("$ref")
        if any(name in one for name in _SAYS):
            yield one
        elif isinstance(target, str) and target not in followed:
            followed.add(target)
            waiting.append(_at(root, target))
        else:
            for name in ("anyOf", "oneOf", "allOf"):
                inner = one.get(name)
                waiting += inner if isinstance(inner, list) else []


def _at(root: dict[str, Any], reference: str) -> Schema:
    """What a reference inside of the schema points at; None when it points nowhere."""
    found: Any = root
    head, *path = reference.split("/")
    for part in path:
        found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
    return found if head == "#" else None


def _kind(value: Any) -> str:
    return "null" if value is None else _KINDS.get(type(value), "")


def _admitted(leaf: dict[str, Any], text: str) -> set[str]:
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


def _kinds(leaves: list[dict[str, Any]], text: str) -> set[str]:
    return set().union(*(_admitted(leaf, text) for leaf in leaves))


def _from_text(text: str, leaves: list[dict[str, Any]], root: dict[str, Any]) -> Any:
    kinds = _kinds(leaves, text) if leaves else {"object", "array"}
    bare = text.strip()
    if "string" in kinds:
        return text
    if bare in _WORDS and _kind(_WORDS[bare]) in kinds:
        return _WORDS[bare]
    number = _number(bare, kinds)
    if number is not bare:
        return number
    found = _json(bare) if bare[:1] in ("{", "[") else None
    if found is None or _kind(found) not in kinds:
        return text
    return _typed(found, {"anyOf": leaves}, root, text=False)


def _number(text: str, kinds: set[str]) -> Any:
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
        found = json.loads(text, object_pairs_hook=_object, parse_constant=_no_value, parse_float=_float)
    except (ValueError, RecursionError):
        return None
    return None if deeper_than(found, MAX_DEPTH) else found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _no_value(text: str) -> NoReturn:
    raise ValueError(text)


def _float(text: str) -> float:
    return float(text) if math.isfinite(float(text)) else _no_value(text)
