"""The AsyncAPI 3.0 document of the streams, made from the catalogue."""

from importlib.metadata import version
from typing import Any, Final

from pydantic import TypeAdapter

from haltpoint.contracts.catalogue import CATALOGUE, GROUP, Party, Row, Stream
from haltpoint.contracts.doors import door
from haltpoint.runtime.service.asyncapi_facts import with_facts

_SCHEMA: Final = "#/components/schemas/{model}"


def document() -> dict[str, Any]:
    """One document for the whole system; each operation has its party's tag."""
    keys, schemas = TypeAdapter.json_schemas(
        [(row.type, "validation", door(row.message)) for row in CATALOGUE], ref_template=_SCHEMA
    )
    payloads = {name: reference for (name, _), reference in keys.items()}
    streams: dict[str, Any] = {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Haltpoint",
            "version": version("haltpoint"),
            "description": "Messages on Redis Streams. Each entry has the field `__data__` with the message as JSON "
            "and, where the message says so, `__body__` with JSON beside it.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {"redis": {"host": "127.0.0.1:6379", "protocol": "redis"}},
        "channels": {stream.value: _channel(stream) for stream in Stream},
        "operations": dict(
            operation
            for row in CATALOGUE
            for operation in (_operation(row, row.sender, "send"), _operation(row, row.receiver, "receive"))
        ),
        "components": {
            "messages": {row.type: _message(row, payloads[row.type]) for row in CATALOGUE},
            "schemas": schemas.get("$defs", {}),
        },
    }
    return with_facts(streams)


def _channel(stream: Stream) -> dict[str, Any]:
    tools = stream is Stream.TOOLS
    parameters = {
        "partition": {"description": "The hash tag, braces included: {0} to {P-1}.", "examples": ["{0}"]},
        **({"queue": {"description": "The queue that the tool declares.", "default": "default"}} if tools else {}),
    }
    return {
        "address": f"hp:{{partition}}:{stream.value}" + (":{queue}" if tools else ""),
        "description": f"Read by the consumer group `{GROUP[stream].value}`.",
        "parameters": parameters,
        "messages": {
            row.type: {"$ref": f"#/components/messages/{row.type}"} for row in CATALOGUE if row.stream is stream
        },
    }


def _operation(row: Row, party: Party, action: str) -> tuple[str, dict[str, Any]]:
    return f"{party.value}.{action}.{row.type}", {
        "action": action,
        "channel": {"$ref": f"#/channels/{row.stream.value}"},
        "messages": [{"$ref": f"#/channels/{row.stream.value}/messages/{row.type}"}],
        "tags": [{"name": party.value}],
    }


def _message(row: Row, payload: Any) -> dict[str, Any]:
    body = f" `__body__`: {row.body}." if row.body else ""
    return {
        "name": row.type,
        "title": row.message.__name__,
        "summary": (row.message.__doc__ or "").strip().partition("\n")[0],
        "description": f"From {row.sender.value} to {row.receiver.value}.{body}",
        "contentType": "application/json",
        "payload": payload,
    }
