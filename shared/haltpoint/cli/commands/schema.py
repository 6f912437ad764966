"""`haltpoint schema`: the contracts as documents for other languages and tools."""

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Union

import typer

from haltpoint.cli.shell import Shell, verb

if TYPE_CHECKING:
    from haltpoint.contracts.base import JsonObject


class Document(StrEnum):
    """What there is."""

    OPENAPI = "openapi"
    ASYNCAPI = "asyncapi"
    EVENTS = "events"


app = typer.Typer()


@verb(app, "schema")
def schema(shell: Shell, document: Annotated[Document, typer.Argument()]) -> None:
    """Print a schema as JSON: HTTP API, streams, or messages and public facts."""
    made = _MAKERS[document]()
    if shell.json:
        shell.emit(made)
    else:
        print(json.dumps(made, indent=2, ensure_ascii=False))


def _openapi() -> "JsonObject":
    from haltpoint.runtime.config.settings import Settings
    from haltpoint.runtime.observability.telemetry import Tracing, start_tracing
    from haltpoint.runtime.streams.connection import AutoPipeline, connect
    from haltpoint.runtime.streams.topology import Topology
    from haltpoint_gateway.app import assemble
    from haltpoint_gateway.http_api import make_api

    # The routes want a gateway to be made of; this one is never asked anything and opens no
    # connection.
    redis, settings = connect("redis://127.0.0.1"), Settings()
    tracing: Tracing = start_tracing("schema")
    gateway = assemble(
        settings, redis, AutoPipeline(redis), Topology(settings.partitions), tracing, ""
    )
    return make_api(gateway).openapi()


def _asyncapi() -> "JsonObject":
    from haltpoint.cli.asyncapi import document

    return document()


def _events() -> "JsonObject":
    from pydantic import Field, TypeAdapter

    from haltpoint.contracts.commands import AnyMessage
    from haltpoint.contracts.public_facts import PUBLIC

    union: Any = Annotated[Union[AnyMessage, *PUBLIC.values()], Field(discriminator="type")]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **TypeAdapter(union).json_schema(),
    }


_MAKERS = {
    Document.OPENAPI: _openapi,
    Document.ASYNCAPI: _asyncapi,
    Document.EVENTS: _events,
}
