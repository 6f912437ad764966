"""The AsyncAPI 3.0 document: the streams, made from the catalogue, and the public facts that any
program may read.
"""

from importlib.metadata import version
from typing import Any, Final

from pydantic import TypeAdapter

from haltpoint.contracts.catalogue import CATALOGUE, Party, Stream
from haltpoint.contracts.doors import door
from haltpoint.contracts.public_facts import PUBLIC

_FACTS: Final = "facts"
_PARTITION: Final = {"description": "The hash tag, braces included.", "examples": ["{0}"]}
_ADDRESSES: Final = {Stream.TOOLS.value: "hp:{partition}:tools:{queue}"}


def document() -> dict[str, Any]:
    """One document for the whole system; each operation has its party's tag."""
    arrows = [(row.stream.value, row.type, row.sender, row.receiver) for row in CATALOGUE]
    doors: dict[str, TypeAdapter[Any]] = {row.type: door(row.message) for row in CATALOGUE}
    for fact, kind in PUBLIC.items():
        arrows.append((_FACTS, f"{fact.value}.v1", Party.EXECUTOR, Party.CLIENT))
        doors[f"{fact.value}.v1"] = TypeAdapter(kind)
    keys, schemas = TypeAdapter.json_schemas(
        [(name, "validation", reads) for name, reads in doors.items()],
        ref_template="#/components/schemas/{model}",
    )
    channels = {name: _channel(name) for name in (*(stream.value for stream in Stream), _FACTS)}
    operations: dict[str, Any] = {}
    for stream, name, sender, receiver in arrows:
        channels[stream]["messages"][name] = {"$ref": f"#/components/messages/{name}"}
        operations[f"{sender.value}.send.{name}"] = _operation("send", sender, stream, name)
        operations[f"{receiver.value}.receive.{name}"] = _operation(
            "receive", receiver, stream, name
        )
    messages = {
        name: {"name": name, "contentType": "application/json", "payload": payload}
        for (name, _), payload in keys.items()
    }
    about = "Each entry of a stream has its message as JSON in the field `__data__`."
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "Haltpoint", "version": version("haltpoint"), "description": about},
        "servers": {"redis": {"host": "127.0.0.1:6379", "protocol": "redis"}},
        "channels": channels,
        "operations": operations,
        "components": {"messages": messages, "schemas": schemas["$defs"]},
    }


def _channel(stream: str) -> dict[str, Any]:
    address = _ADDRESSES.get(stream, f"hp:{{partition}}:{stream}")
    parameters = {"partition": _PARTITION}
    if "{queue}" in address:
        parameters["queue"] = {"description": "The queue that the tool declares."}
    return {"address": address, "parameters": parameters, "messages": {}}


def _operation(action: str, party: Party, stream: str, name: str) -> dict[str, Any]:
    channel = f"#/channels/{stream}"
    return {
        "action": action,
        "channel": {"$ref": channel},
        "messages": [{"$ref": f"{channel}/messages/{name}"}],
        "tags": [{"name": party.value}],
    }
