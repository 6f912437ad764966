"""The public facts in the AsyncAPI document: a channel that any program may receive from."""

from typing import Any, Final

from pydantic.json_schema import models_json_schema

from haltpoint.contracts.catalogue import Party
from haltpoint.contracts.public_facts import PUBLIC

_CHANNEL: Final = "facts"


def with_facts(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the facts; it is changed."""
    schemas, definitions = models_json_schema(
        [(kind, "validation") for kind in PUBLIC.values()], ref_template="#/components/schemas/{model}"
    )
    types = {f"{name.value}.v1": kind for name, kind in PUBLIC.items()}
    messages = {
        name: {
            "name": name,
            "title": kind.__name__,
            "summary": (kind.__doc__ or "").strip().partition("\n")[0],
            "description": "From executor to any program.",
            "contentType": "application/json",
            "payload": schemas[kind, "validation"],
        }
        for name, kind in types.items()
    }
    document["channels"][_CHANNEL] = {
        "address": f"hp:{{partition}}:{_CHANNEL}",
        "description": "Public facts, for consumer groups of your own. Trimmed by age.",
        "parameters": {
            "partition": {"description": "The hash tag, braces included: {0} to {P-1}.", "examples": ["{0}"]}
        },
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in types},
    }
    for party, action in ((Party.EXECUTOR, "send"), (Party.CLIENT, "receive")):
        for name in types:
            document["operations"][f"{party.value}.{action}.{name}"] = {
                "action": action,
                "channel": {"$ref": f"#/channels/{_CHANNEL}"},
                "messages": [{"$ref": f"#/channels/{_CHANNEL}/messages/{name}"}],
                "tags": [{"name": party.value}],
            }
    document["components"]["messages"] |= messages
    document["components"]["schemas"] |= definitions["$defs"]
    return document
