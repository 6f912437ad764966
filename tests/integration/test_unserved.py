"""A queue that no worker serves is told of wherever somebody may look: HP-102."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis

from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.views.chains import ChainView
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.streams.pauses import Pauses
from haltpoint.runtime.views.queues import unserved
from haltpoint.runtime.views.story import tell
from haltpoint.runtime.views.views import Views
from tests.integration.deciding import Bed, bed_at, executing
from tests.support import wait_until
from tests.support.builders import literal_task, spec
from tests.support.stored import Stored

TOOLS = [
    spec("lookup_contacts", queue="contacts"),
    spec("send_message", queue="contacts"),
    spec("note", queue="notes"),
]
LONG_AGO = "1000000-0"
"""The id of an entry that has waited for decades: no test has to wait."""


@pytest.fixture
async def bed(server: EmbeddedServer, redis: Redis) -> AsyncIterator[Bed]:
    async with bed_at(server, redis) as bed:
        await bed.announce(*TOOLS)
        yield bed


async def serve(bed: Bed, *queues: str) -> None:
    """What a live worker tells of itself."""
    key = bed.topology.key(0, "service", "tool-worker", "w1")
    await bed.redis.set(
        key, json.dumps({"name": "tool-worker", "instance": "w1", "pid": 1, "queues": queues})
    )
    await bed.redis.sadd(bed.topology.key(0, "services"), key)


async def wait_in(bed: Bed, partition: int, queue: str, entry: str = "*") -> None:
    await bed.redis.xadd(
        bed.topology.stream(partition, Stream.TOOLS, queue), {"__data__": "x"}, id=entry
    )


async def test_orders_that_wait_for_long_are_told_by_queue(bed: Bed) -> None:
    await wait_in(bed, 0, "contacts", LONG_AGO)
    await wait_in(bed, 1, "contacts")
    await wait_in(bed, 1, "notes")
    (found,) = await unserved(bed.redis, bed.topology, TOOLS)
    assert (found.queue, found.tools, found.steps) == (
        "contacts",
        ("lookup_contacts", "send_message"),
        2,
    )
    told = str(found.error)
    assert told.startswith(
        'HP-102 No worker serves the queue "contacts" (tools lookup_contacts, '
        "send_message): 2 calls in it, the oldest for "
    )
    assert told.endswith(". Start one: haltpoint up tool-worker --queue contacts")
    await serve(bed, "contacts")
    assert await unserved(bed.redis, bed.topology, TOOLS) == []


async def test_a_queue_that_is_paused_is_told_at_once(bed: Bed) -> None:
    await serve(bed, "contacts", "notes")
    await Pauses(bed.calls, bed.topology).pause("notes")
    (found,) = await unserved(bed.redis, bed.topology, TOOLS)
    assert (found.queue, found.paused, found.steps) == ("notes", True, 0)
    assert str(found.error).startswith('HP-102 The queue "notes" (tool note) is paused: ')
    assert found.error.fix == "Let it continue: haltpoint queue resume notes"


async def test_a_chain_says_that_it_waits_for_a_worker(bed: Bed) -> None:
    async def view() -> ChainView:
        found = await Views(bed.redis, bed.calls, bed.topology).chain(
            chain_id, visible_to=lambda _: True
        )
        assert found is not None
        return found

    def waiting(chain: ChainView) -> Any:
        assert chain.current is not None
        return chain.current.waiting_for

    for partition in range(bed.topology.partitions):
        await wait_in(bed, partition, "contacts", LONG_AGO)
    async with executing(bed):
        chain_id = await bed.submit(literal_task(1, "lookup_contacts"))
        action, stored = f"{chain_id}.s1.1", Stored(bed.redis, bed.topology)

        async def sent() -> bool:
            return await stored.action(action) is not None

        await wait_until(sent)
    chain = await view()
    found = waiting(chain)
    assert (found.code, found.queue) == ("HP-102", "contacts")
    assert found.hint == "Start one: haltpoint up tool-worker --queue contacts"
    assert 'No worker serves the queue "contacts"' in found.message
    await serve(bed, "contacts")
    assert waiting(await view()) is None
    await Pauses(bed.calls, bed.topology).pause("contacts")
    shown = await view()
    words = 'The queue "contacts" (tool lookup_contacts) is paused.'
    assert waiting(shown).message == words
    assert f"HP-102 {words}" in [line.text for line in tell(shown)]
