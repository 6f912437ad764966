"""One signature per call, however a model spells it (CONTRACT C14).

Names in any order, defaults of the schema filled in, texts without blanks around them, numbers as the schema types
them: "7" is 7 where an integer is asked for, 7.0 is 7 everywhere. All else tells two calls apart.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from haltpoint.chain import human_tool
from haltpoint.chain.references import read_json
from haltpoint.chain.schemas import Compiled, compiled
from haltpoint.contracts.tools import ToolSpec

_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,299})(\.[0-9]{1,300})?")
_SHORT: Final = 2000  # characters of arguments whose signature is remembered

Schema = dict[str, Any]


def signature_of(spec: ToolSpec, text: str) -> str:
    """The signature of a call whose arguments are JSON text; short ones are remembered."""
    known = compiled(spec)
    return _remembered(known, text) if len(text) <= _SHORT else signature(spec, read_json(text))


@lru_cache(maxsize=8192)
def _remembered(known: Compiled, text: str) -> str:
    return signature(known.spec, read_json(text))


def signature(spec: ToolSpec, arguments: dict[str, Any]) -> str:
    """Sixteen hex digits over the tool and its arguments; of askHuman over what the question says."""
    if spec.name == human_tool.NAME:
        arguments = human_tool.asked_in(arguments)
    canonical = [spec.name, _canonical(arguments, spec.parameters, spec.parameters)]
    return hashlib.sha256(json.dumps(canonical, sort_keys=True).encode()).hexdigest()[:16]


def _canonical(value: Any, schema: Any, root: Schema) -> Any:
    if not isinstance(value, (str, list, dict)):
        return int(value) if isinstance(value, float) and value.is_integer() else value
    schema = _meant(value, schema, root)
    if isinstance(value, dict):
        named, others = schema.get("properties"), schema.get("additionalProperties")
        named = named if isinstance(named, dict) else {}
        defaults = {name: one["default"] for name, one in named.items() if isinstance(one, dict) and "default" in one}
        filled = {name: _canonical(one, {}, root) for name, one in defaults.items() if name not in value}
        return filled | {name: _canonical(one, named.get(name, others), root) for name, one in value.items()}
    if isinstance(value, list):
        return [_canonical(one, schema.get("items"), root) for one in value]
    return _number(value.strip(), _types(schema))


def _number(text: str, types: set[str]) -> Any:
    """The number that a text is, where one is asked for and no text is; else the text."""
    found = None if "string" in types else _NUMBER.fullmatch(text)
    if found is None or types.isdisjoint(("integer", "number")):
        return text
    return int(text) if found[1] is None else _canonical(float(text), {}, {})


def _types(schema: Schema) -> set[str]:
    said = schema.get("type")
    return {one for one in (said if isinstance(said, list) else [said]) if isinstance(one, str)}


def _meant(value: Any, schema: Any, root: Schema) -> Schema:
    """The one schema that the value is read by: references followed, unions decided; an empty one if none can be."""
    found = [one for one in _leaves(schema, root, 8) if _admits(one, value)]
    return found[0] if len(found) == 1 else {}


def _leaves(schema: Any, root: Schema, levels: int) -> Iterator[Schema]:
    if not isinstance(schema, dict) or not levels:
        return
    parts = [schema["$ref"]] if "$ref" in schema else []
    parts = [_at(root, target) for target in parts]
    for name in ("anyOf", "oneOf", "allOf"):
        inner = schema.get(name)
        parts += inner if isinstance(inner, list) else []
    if not parts:
        yield schema
    for part in parts:
        yield from _leaves(part, root, levels - 1)


def _at(root: Schema, target: Any) -> Any:
    """What a reference inside of the schema points at."""
    found: Any = root
    for part in str(target).split("/")[1:]:
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _admits(schema: Schema, value: Any) -> bool:
    """Whether a value of this kind may be meant: a text may be a number, an object has the marks that are asked for."""
    types = _types(schema)
    if isinstance(value, str):
        return types != {"null"} and types.isdisjoint(("boolean", "array", "object"))
    if isinstance(value, list):
        return not types or "array" in types
    named = schema.get("properties")
    marks = named.items() if isinstance(named, dict) else ()
    fits = all(value.get(name) == one["const"] for name, one in marks if isinstance(one, dict) and "const" in one)
    return fits and (not types or "object" in types)
