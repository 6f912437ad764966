"""The AsyncAPI 3.0 document: the streams, made from the catalogue, and the public facts that any
program may read.
"""

from importlib.metadata import version
from typing import Any, Final

from pydantic import TypeAdapter

from haltpoint.contracts.catalogue import CATALOGUE, GROUP, Party, Stream
from haltpoint.contracts.doors import door
from haltpoint.contracts.public_facts import PUBLIC

_SCHEMA: Final = "#/components/schemas/{model}"
_FACTS: Final = "facts"


def document() -> dict[str, Any]:
    """One document for the whole system; each operation has its party's tag."""
    facts = {f"{name.value}.v1": kind for name, kind in PUBLIC.items()}
    doors = {row.type: door(row.message) for row in CATALOGUE} | {
        name: TypeAdapter(kind) for name, kind in facts.items()
    }
    keys, schemas = TypeAdapter.json_schemas(
        [(name, "validation", reads) for name, reads in doors.items()], ref_template=_SCHEMA
    )
    payloads = {name: reference for (name, _), reference in keys.items()}
    channels: dict[str, Any] = {}
    messages: dict[str, Any] = {}
    operations: dict[str, Any] = {}

    def add(
        stream: str, name: str, message: type, sender: Party, receiver: Party, about: str
    ) -> None:
        """A message of a stream, as its sender sends it and its receiver receives it."""
        messages[name] = {
            "name": name,
            "title": message.__name__,
            "summary": (message.__doc__ or "").strip().partition("\n")[0],
            "description": about,
            "contentType": "application/json",
            "payload": payloads[name],
        }
        channels[stream]["messages"][name] = {"$ref": f"#/components/messages/{name}"}
        for party, action in ((sender, "send"), (receiver, "receive")):
            operations[f"{party.value}.{action}.{name}"] = {
                "action": action,
                "channel": {"$ref": f"#/channels/{stream}"},
                "messages": [{"$ref": f"#/channels/{stream}/messages/{name}"}],
                "tags": [{"name": party.value}],
            }

    for stream in Stream:
        channels[stream.value] = _channel(
            stream.value,
            f"Read by the consumer group `{GROUP[stream].value}`.",
            queues=stream is Stream.TOOLS,
        )
    for row in CATALOGUE:
        body = f" `__body__`: {row.body}." if row.body else ""
        about = f"From {row.sender.value} to {row.receiver.value}.{body}"
        add(row.stream.value, row.type, row.message, row.sender, row.receiver, about)
    channels[_FACTS] = _channel(
        _FACTS, "Public facts, for consumer groups of your own. Trimmed by age."
    )
    for name, kind in facts.items():
        add(_FACTS, name, kind, Party.EXECUTOR, Party.CLIENT, "From executor to any program.")
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Haltpoint",
            "version": version("haltpoint"),
            "description": "Messages on Redis Streams. Each entry has the field `__data__` "
            "with the message as JSON "
            "and, where the message says so, `__body__` with JSON beside it.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {"redis": {"host": "127.0.0.1:6379", "protocol": "redis"}},
        "channels": channels,
        "operations": operations,
        "components": {"messages": messages, "schemas": schemas.get("$defs", {})},
    }


def _channel(stream: str, description: str, *, queues: bool = False) -> dict[str, Any]:
    partition = {"description": "The hash tag, braces included: {0} to {P-1}.", "examples": ["{0}"]}
    queue = (
        {"queue": {"description": "The queue that the tool declares.", "default": "default"}}
        if queues
        else {}
    )
    return {
        "address": f"hp:{{partition}}:{stream}" + (":{queue}" if queues else ""),
        "description": description,
        "parameters": {"partition": partition, **queue},
        "messages": {},
    }
