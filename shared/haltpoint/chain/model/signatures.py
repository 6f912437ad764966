"""The signature of a call (CONTRACT C14): its tool, and the canonical JSON of its arguments with defaults filled in."""

import hashlib
import json
from functools import lru_cache
from typing import Any, Final

from haltpoint.chain.model.references import read_json
from haltpoint.chain.model.schemas import Compiled

_DIGITS: Final = 16


@lru_cache(maxsize=2048)
def signature_of(known: Compiled, text: str) -> str:
    """Sixteen hex digits that equal calls of a tool have in common; `text` are the arguments as JSON.

    Equal are calls whose arguments are the same JSON values: names in any order, 7.0 for 7, and a default said or left
    out. Two spellings of one address are two calls.
    """
    parameters = known.spec.parameters
    arguments = with_defaults(read_json(text), parameters)
    canonical = json.dumps([known.spec.name, _with_integers(arguments)], sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:_DIGITS]


def with_defaults(value: Any, schema: Any) -> Any:
    """The value with the schema's defaults for what it leaves out, also in its objects."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(value, dict) or not isinstance(properties, dict):
        return value
    filled = dict(value)
    for name, inner in properties.items():
        if name in value:
            filled[name] = with_defaults(value[name], inner)
        elif isinstance(inner, dict) and "default" in inner:
            filled[name] = inner["default"]
    return filled


def _with_integers(value: Any) -> Any:
    """The value with each number without a fraction as an integer, as JSON knows one kind of number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _with_integers(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_integers(inner) for inner in value]
    return value
