"""Arguments of a tool on the command line: NAME=VALUE, each read as its parameter's schema wants
it.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from haltpoint.cli.errors import usage

_TYPES: Final = {
    bool: {"boolean"},
    int: {"integer", "number"},
    float: {"number"},
    list: {"array"},
    dict: {"object"},
    type(None): {"null"},
}
"""The types of JSON Schema that a value of JSON has; a text stays as it is."""


def texts_of(pairs: list[str]) -> dict[str, str]:
    """`k=v` pairs, as texts."""
    arguments: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise usage(
                f"{pair!r} is not an argument",
                "arguments are NAME=VALUE",
                "haltpoint tool show TOOL",
            )
        arguments[name] = value
    return arguments


def values_of(texts: Mapping[str, str], schema: dict[str, Any]) -> dict[str, Any]:
    """The texts as the schema of the parameters wants them: JSON of the wanted type is that value,
    where no text is allowed.
    """
    properties = schema.get("properties", {})
    return {
        name: _value(text, _types(properties.get(name, {}), schema)) for name, text in texts.items()
    }


def _value(text: str, wanted: set[str]) -> Any:
    if "string" in wanted:
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return text if wanted.isdisjoint(_TYPES.get(type(value), ())) else value


def _types(schema: dict[str, Any], root: dict[str, Any]) -> set[str]:
    """The types that a schema allows, also by a reference or in a union; lists and objects where it
    says none.
    """
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    branches = [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]
    inner = [root.get("$defs", {}).get(name, {})] if name else branches
    if inner:
        return set().union(*(_types(branch, root) for branch in inner))
    said = schema.get("type", ["array", "object"])
    return {said} if isinstance(said, str) else set(said)
