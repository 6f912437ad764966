"""What a chain leaves in Redis: the same value when it is read again, little while it waits,
nothing for ever.
"""

import msgspec

from haltpoint.contracts.answers import WhyNot
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.people.humans import Answer, RequestKind
from haltpoint.runtime.store.chain_codec import end_of
from haltpoint.runtime.store.rows import Data, Key
from haltpoint.runtime.streams.topology import PREFIX
from tests.support.builders import asks, literal_task
from tests.support.desk import Desk

CHOICE = Answer(kind=RequestKind.CLARIFICATION, option_id="a")


async def test_f1_what_a_cancelled_chain_did_not_reach_is_kept_with_its_end(desk: Desk) -> None:
    desk.tools["note"] = msgspec.structs.replace(desk.tools["note"], read_only=False)
    chain_id = await desk.submit(literal_task(2))
    await desk.decide_all()
    await desk.cancel(chain_id)
    await desk.decide_all()
    end = await desk.redis.hget(desk.topology.key_of(Key.DATA, chain_id), Data.END)
    assert end is not None
    (one,) = end_of(end).not_done
    assert (one.tool, one.why) == ("note", WhyNot.NEVER_EXECUTED)


async def keys_without_expiry(desk: Desk) -> set[str]:
    keys = [key.decode() for key in await desk.redis.keys("*")]
    return {key for key in keys if await desk.redis.ttl(key) == -1}


async def test_r1_a_finished_chain_leaves_nothing_for_ever(desk: Desk) -> None:
    await desk.submit(literal_task(3, text="x"))
    await desk.run()
    order = await desk.order_of(literal_task(2, "lookup"))
    await desk.finish(order, asks())
    await desk.decide_all()
    chain_id = order.chain
    await desk.answer(f"{chain_id}.r1", CHOICE)
    await desk.run()
    kept = {
        key
        for key in await keys_without_expiry(desk)
        if not key.endswith(("events", "plans", "humans", ":default"))
    }
    assert kept == {
        "hp:{0}:deployment",  # the deployment itself
        desk.key("audit"),  # trimmed by age
        desk.key("feed"),  # trimmed by age
        "hp:{0}:sent",  # the queues that were used
        desk.key("seq", PREFIX),  # counts calls
        desk.key("terms", PREFIX),  # trimmed by length
        desk.key("facts"),  # trimmed by age
        desk.key("totals"),  # a few counters
        desk.key("index", "status", "completed"),  # forgets with the chains
    }
    for stream in (Stream.EVENTS, Stream.PLANS):
        assert await desk.backlog(stream) == 0


async def waiting(desk: Desk, length: int) -> str:
    order = await desk.order_of(literal_task(length, "lookup", q="x" * 1000))
    await desk.finish(order, asks("user_abc123", "user_def456"), "{}")
    await desk.decide_all()
    return order.chain


async def test_a_chain_of_five_steps_is_a_listpack(desk: Desk) -> None:
    chain_id = await waiting(desk, 5)
    key = desk.key("chain", chain_id)
    assert await desk.redis.object("ENCODING", key) == b"listpack"
    assert all(len(value) <= 64 for value in (await desk.redis.hgetall(key)).values())


async def allocated(desk: Desk, value: bytes) -> int:
    """What the server sets aside for the bytes of one value."""
    sizes = []
    for content in (value, b""):
        await desk.redis.set("sample", content)
        sizes.append(await desk.redis.memory_usage("sample"))
    return int(sizes[0] - sizes[1])


async def test_a_waiting_chain_is_small_beside_its_payload(desk: Desk) -> None:
    """Everything counted: three keys, and three members of sorted sets."""
    chain_id = await waiting(desk, 5)
    keys = [desk.key(key, chain_id) for key in Key]
    assert set(keys) == {key.decode() for key in await desk.redis.keys(f"*{chain_id}*")}
    size = sum([await desk.redis.memory_usage(key, samples=0) for key in keys])
    data = await desk.redis.hgetall(desk.key(Key.DATA, chain_id))
    payload = sum([await allocated(desk, value) for name, value in data.items() if name != b"plan"])
    indexed = 3 * (len(chain_id) + 64)  # its members of timers, status index and open requests
    assert size + indexed - payload <= 1600, (size, indexed, payload)
