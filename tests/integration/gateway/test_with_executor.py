"""The gateway's part in the first case, which John: with the real executor, and tools that are
played here.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, cast

import msgspec
import pytest

from haltpoint.client import Client
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.catalogue import GROUP, Stream
from haltpoint.contracts.commands import ToolRequested
from haltpoint.contracts.results import Clarification, NextAction, Option, Outcome
from haltpoint.contracts.tools import ToolSpec
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.store.receipts import Finished, ReceiptStore
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.topology import EntryRef
from haltpoint_executor import app as executor
from tests.integration.gateway.conftest import ADMIN, LOOKUP, System
from tests.support.builders import OK

SEND = ToolSpec(
    name="send_message",
    parameters={
        "type": "object",
        "properties": {"recipient_id": {"type": "string"}, "content": {"type": "string"}},
        "required": ["recipient_id", "content"],
    },
)
WHICH_JOHN = Outcome(
    success=True,
    next_action=NextAction.CLARIFICATION_NEEDED,
    clarification=Clarification(
        type="contact_selection",
        question="Which John?",
        options=(
            Option(id="u1", title="John Smith", value={"contact_id": "u1"}),
            Option(id="u2", title="John Doe", value={"contact_id": "u2"}),
        ),
    ),
)
TELL_JOHN: JsonObject = {
    "goal": "Tell John I am late",
    "plan": {
        "steps": [
            {
                "id": "find",
                "required_tools": ["lookup_contacts"],
                "actions": [
                    {
                        "tool": "lookup_contacts",
                        "arguments": {"query": "John"},
                        "expected": "John's id",
                    }
                ],
            },
            {
                "id": "send",
                "required_tools": ["send_message"],
                "dependencies": ["find"],
                "actions": [
                    {
                        "tool": "send_message",
                        "arguments": {
                            "recipient_id": {"$from": "find.data.contact_id"},
                            "content": "late",
                        },
                    }
                ],
            },
        ]
    },
}


@pytest.fixture
async def client(system: System, server: EmbeddedServer, url: str) -> AsyncIterator[Client]:
    """A client of a system with an executor and somebody who plays the tools."""
    await system.gateway.catalogue.announce([LOOKUP, SEND])
    await system.topology.ensure(system.redis, [LOOKUP.queue])
    settings = system.gateway.settings.model_copy(update={"redis_url": server.url})
    async with Client(url, ADMIN) as client, AutoPipeline(system.redis) as calls:
        tasks = [
            asyncio.create_task(executor.run(settings)),
            asyncio.create_task(_play_tools(system, calls)),
        ]
        yield client
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _play_tools(system: System, calls: AutoPipeline) -> None:
    """lookup_contacts is not sure which John, send_message sends."""
    receipt_store = ReceiptStore(calls, system.topology, "player")
    keys = {system.topology.stream(p, Stream.TOOLS, LOOKUP.queue): ">" for p in range(2)}
    while True:
        read: Any = await system.redis.xreadgroup(
            GROUP[Stream.TOOLS], "player", cast("Any", keys), block=500
        )
        for key, batches in (read or {}).items():
            for entry, fields in (each for batch in batches for each in batch):
                wanted = msgspec.json.decode(fields[b"__data__"], type=ToolRequested).data
                ref = EntryRef.of(key.decode(), entry.decode())
                claimed = await receipt_store.claim(ref, wanted.action_id)
                outcome = WHICH_JOHN if wanted.tool == LOOKUP.name else OK
                data = json.dumps({} if wanted.tool == LOOKUP.name else {"sent": True})
                await receipt_store.complete(
                    Finished(ref, wanted.action_id, claimed.epoch, wanted.attempt, outcome, data)
                )


async def _told_john(client: Client) -> str:
    """The id of a chain in which a person chose John Doe."""
    run = await client.run(task=TELL_JOHN)
    request = await run.expects_request("clarification")
    await client.answer(request.id, option_id="u2")
    assert (await run.result()).status == "completed"
    return run.id


async def test_a_person_says_that_an_action_was_wrong(client: Client) -> None:
    chain_id = await _told_john(client)

    await client.feedback(chain_id, "the other John", action_id="send.1")
    await client.feedback(chain_id, wrong=False)

    events = [event async for event in client.events(chain_id)]
    assert events[-1].type == "chain.completed", "who watches hears of the end once"
    assert "answer" in events[-1].details
    behind = [event async for event in client.events(chain_id, after=events[-1].id)]
    assert [(one.type, one.details) for one in behind] == [
        (
            "feedback.given",
            {
                "wrong": True,
                "action_id": f"{chain_id}.send.1",
                "words": "the other John",
                "by": "admin",
            },
        ),
        ("feedback.given", {"wrong": False, "words": "", "by": "admin"}),
    ]
    stats = await client.stats(1)
    (lookup,) = [row for row in stats.tools if row.name == "lookup_contacts"]
    (send,) = [row for row in stats.tools if row.name == "send_message"]
    assert (lookup.asked, lookup.answered, lookup.none, lookup.corrections) == (1, 1, 0, 0)
    assert (send.asked, send.corrections) == (0, 1)
