"""What could not be processed is told to the chain that waits for it, by whoever put it aside: R1,
R9.
"""

import json

import pytest

from haltpoint.chain.decide import decide
from haltpoint.chain.model.limits import World
from haltpoint.chain.model.outputs import Decision
from haltpoint.chain.model.state import Chain
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.events import Received, ToolCompleted
from haltpoint.runtime.store.rows import Data
from haltpoint_executor import executor
from tests.integration.deciding import Bed, executing, working
from tests.support import wait_until
from tests.support.builders import literal_task, spec
from tests.support.stored import Stored


def garbage(
    chain_id: str, message_id: str, kind: str = "tool.completed.v1"
) -> dict[str, bytes | str]:
    data = {"id": message_id, "source": "w", "subject": chain_id, "type": kind, "data": {}}
    return {"__data__": json.dumps(data)}


async def dispatched(bed: Bed) -> str:
    """A chain whose first action lies in a queue."""
    await bed.announce(spec())
    chain_id = await bed.submit(literal_task(1))

    async def sent() -> bool:
        return await Stored(bed.redis, bed.topology).action(f"{chain_id}.s1.1") is not None

    await wait_until(sent)
    return chain_id


async def error_of(bed: Bed, chain_id: str) -> JsonObject:
    await wait_until(lambda: bed.ended(chain_id))  # what comes back five times takes five leases
    end: JsonObject = json.loads(await Stored(bed.redis, bed.topology).data(chain_id, Data.END))
    error: JsonObject = end["error"]
    return error


async def test_r1_an_unreadable_result_ends_the_chain_that_waits_for_it(bed: Bed) -> None:
    async with executing(bed):
        chain_id = await dispatched(bed)
        partition = bed.topology.partition(chain_id)
        action = f"{chain_id}.s1.1"
        for harmless in (
            garbage(chain_id, "what you like"),
            garbage(chain_id, f"{action}/2/done"),
            garbage(chain_id, f"{action}/1/done", "tool.completed.v7"),
        ):
            await bed.add_event(partition, harmless)

        async def put_aside() -> bool:
            return len(await bed.dead()) == 3 and await bed.backlog() == 1

        await wait_until(put_aside)
        assert (await bed.chain(chain_id)).status is ChainStatus.EXECUTING
        await bed.add_event(partition, garbage(chain_id, f"{action}/1/done"))
        error = await error_of(bed, chain_id)
    assert error["code"] == "HP-211"
    assert f"{action}/1/done could not be processed: bad_fields" in error["message"]
    letters = await bed.dead()
    assert [(letter[b"reason"], letter[b"chain"].decode()) for letter in letters] == [
        (b"bad_fields", chain_id),
        (b"bad_fields", chain_id),
        (b"unknown_version", chain_id),
        (b"bad_fields", chain_id),
    ]


async def test_r1_an_event_that_cannot_be_decided_on_ends_its_chain_and_no_other(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    cursed: list[str] = []

    def faulty(chain: Chain, received: Received, world: World, now: int) -> Decision:
        if chain.id in cursed and isinstance(received.message, ToolCompleted):
            raise RuntimeError("a fault of ours")
        return decide(chain, received, world, now)

    monkeypatch.setattr(executor, "decide", faulty)
    async with executing(bed), working(bed):
        cursed.append(await bed.submit(literal_task(2)))
        healthy = await bed.submit(literal_task(2))
        error = await error_of(bed, cursed[0])
        await wait_until(lambda: bed.ended(healthy))
        assert (await bed.chain(healthy)).status is ChainStatus.COMPLETED
    assert error["code"] == "HP-211"
    assert "never finished" in error["message"]
    (letter,) = await bed.dead()
    assert letter[b"reason"] == b"deliveries_exhausted"


async def test_r1_a_chain_that_cannot_be_decided_on_at_all_is_made_a_fault(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(chain: Chain, received: Received, world: World, now: int) -> Decision:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(executor, "decide", faulty)
    async with executing(bed):
        chain_id = await bed.submit(literal_task(2))
        error = await error_of(bed, chain_id)
    assert error["code"] == "HP-002"
    assert sorted(letter[b"reason"] for letter in await bed.dead()) == [
        b"deliveries_exhausted",
        b"quarantined",
    ]
    assert (
        await bed.redis.xlen(bed.topology.stream(bed.topology.partition(chain_id), Stream.EVENTS))
        == 0
    )
