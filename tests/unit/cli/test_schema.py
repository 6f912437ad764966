"""The contracts as documents: whole, and true."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from haltpoint.cli.asyncapi import document
from haltpoint.cli.main import app
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.catalogue import CATALOGUE, Stream
from haltpoint.contracts.doors import in_full
from haltpoint.contracts.events import HumanAnswered
from haltpoint.contracts.people.humans import Answer, RequestKind
from haltpoint.contracts.public_facts import PUBLIC


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for each in value.values():
            yield from references(each)
    elif isinstance(value, list):
        for each in value:
            yield from references(each)


def resolve(document: JsonObject, reference: str) -> Any:
    assert reference.startswith("#/")
    value: Any = document
    for part in reference[2:].split("/"):
        value = value[part]
    return value


def printed(name: str) -> JsonObject:
    result = CliRunner().invoke(app, ["schema", name])
    assert result.exit_code == 0
    made: JsonObject = json.loads(result.stdout)
    return made


def test_every_reference_of_asyncapi_leads_somewhere() -> None:
    made = document()
    found = set(references(made))
    assert found
    for reference in found:
        assert resolve(made, reference)


def test_asyncapi_says_all_that_the_catalogue_says() -> None:
    made = document()
    assert set(made["channels"]) == {*(stream.value for stream in Stream), "facts"}
    for row in CATALOGUE:
        assert row.type in made["channels"][row.stream.value]["messages"]
        for party, verb in ((row.sender, "send"), (row.receiver, "receive")):
            assert f"{party.value}.{verb}.{row.type}" in made["operations"]
    for name in PUBLIC:
        assert f"{name}.v1" in made["channels"]["facts"]["messages"]
        assert {f"executor.send.{name}.v1", f"client.receive.{name}.v1"} <= set(made["operations"])
    assert len(made["operations"]) == 2 * (len(CATALOGUE) + len(PUBLIC))


def test_a_message_fits_its_payload_and_another_does_not() -> None:
    made = document()
    message = HumanAnswered(
        id="c1.r1/answer",
        source="haltpoint/gateway",
        data=HumanAnswered.Data(
            request_id="c1.r1", answer=Answer(kind=RequestKind.CLARIFICATION, option_id="u1"), at=1
        ),
    )
    schema = {"$ref": "#/components/schemas/HumanAnswered", "components": made["components"]}
    jsonschema.validate(in_full(message), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(
            {"id": "x", "source": "y", "type": "human.answered.v1", "data": {}}, schema
        )


def test_events_are_one_union_of_all_messages_and_public_facts() -> None:
    made = printed("events")
    messages = {row.type for row in CATALOGUE}
    assert set(made["discriminator"]["mapping"]) == messages | {f"{name}.v1" for name in PUBLIC}
