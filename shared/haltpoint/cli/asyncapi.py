"""The AsyncAPI 3.0 document: the streams, made from the catalogue, and the public facts that any
program may read.
"""

from importlib.metadata import version
from typing import Any, Final

from pydantic import TypeAdapter

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.catalogue import CATALOGUE, Party, Stream
from haltpoint.contracts.doors import door
from haltpoint.contracts.public_facts import PUBLIC

_FACTS: Final = "facts"
_SCHEMAS: Final = "#/components/schemas/{model}"
_PARTITION: Final = {"description": "The hash tag, braces included.", "examples": ["{0}"]}
_ADDRESSES: Final = {Stream.TOOLS.value: "hp:{partition}:tools:{queue}"}


def document() -> JsonObject:
    """One document for the whole system; each operation has its party's tag."""
    rows: list[tuple[str, str, Party, Party, TypeAdapter[Any]]] = []
    for row in CATALOGUE:
        reads: TypeAdapter[Any] = door(row.message)
        rows.append((row.stream.value, row.type, row.sender, row.receiver, reads))
    for fact, kind in PUBLIC.items():
        rows.append((_FACTS, f"{fact.value}.v1", Party.EXECUTOR, Party.CLIENT, TypeAdapter(kind)))
    payloads, schemas = TypeAdapter.json_schemas(
        [(name, "validation", reads) for _, name, _, _, reads in rows], ref_template=_SCHEMAS
    )
    channels: JsonObject = {}
    operations: JsonObject = {}
    messages: JsonObject = {}
    for stream, name, sender, receiver, _ in rows:
        payload = payloads[name, "validation"]
        messages[name] = {"name": name, "contentType": "application/json", "payload": payload}
        channel = channels.setdefault(stream, _channel(stream))
        channel["messages"][name] = {"$ref": f"#/components/messages/{name}"}
        for verb, party in (("send", sender), ("receive", receiver)):
            place = f"#/channels/{stream}"
            operations[f"{party.value}.{verb}.{name}"] = {
                "action": verb,
                "channel": {"$ref": place},
                "messages": [{"$ref": f"{place}/messages/{name}"}],
                "tags": [{"name": party.value}],
            }
    about = "Each entry of a stream has its message as JSON in the field `__data__`."
    info = {"title": "Haltpoint", "version": version("haltpoint"), "description": about}
    return {
        "asyncapi": "3.0.0",
        "info": info,
        "servers": {"redis": {"host": "127.0.0.1:6379", "protocol": "redis"}},
        "channels": channels,
        "operations": operations,
        "components": {"messages": messages, "schemas": schemas["$defs"]},
    }


def _channel(stream: str) -> JsonObject:
    address = _ADDRESSES.get(stream, f"hp:{{partition}}:{stream}")
    parameters = {"partition": _PARTITION}
    if "{queue}" in address:
        parameters["queue"] = {"description": "The queue that the tool declares."}
    return {"address": address, "parameters": parameters, "messages": {}}
