"""hp3_dead_letter and hp3_requeue: nothing is dropped silently (R9)."""

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.events import ToolCompleted
from haltpoint.contracts.results import ErrorType
from haltpoint.runtime.store.dead_letters import DeadAction, Orphan, RequeueStatus
from haltpoint.runtime.streams.topology import EntryRef
from haltpoint.runtime.streams.wire import DeadLetterReason
from tests.support.builders import literal_task
from tests.support.desk import Desk, Order


def dead(order: Order) -> DeadAction:
    return DeadAction(order.action, order.data.attempt, "given up after 5 deliveries")


async def garbage(desk: Desk, stream: Stream, fields: dict[bytes, bytes]) -> EntryRef:
    key = desk.topology.stream(0, stream)
    entry = await desk.redis.xadd(key, fields)
    await desk.read(stream)
    return EntryRef.of(key, entry.decode())


async def test_r9_an_entry_is_kept_with_its_bytes_and_its_reason(desk: Desk) -> None:
    fields = {b"stream": b"\xff\x00", b"__data__": b"{nonsense"}
    ref = await garbage(desk, Stream.EVENTS, fields)
    letter = await desk.letters.add(
        ref, DeadLetterReason.BAD_JSON, "expected a key", about=Orphan("c1")
    )
    ((found, kept),) = await desk.redis.execute_command("XRANGE", desk.key("dead"), "-", "+")
    assert found.decode() == letter
    flat = [item for pair in kept.items() for item in pair] if isinstance(kept, dict) else kept
    assert b"bad_json" in flat
    assert await desk.is_idle()
    assert await desk.letters.add(ref, DeadLetterReason.BAD_JSON) is None
    assert letter is not None
    assert await desk.letters.requeue(0, letter) is RequeueStatus.REQUEUED
    ((_, back),) = await desk.redis.xrange(desk.topology.stream(0, Stream.EVENTS))
    assert back == fields


async def test_r9_a_letter_is_requeued_once(desk: Desk) -> None:
    ref = await garbage(desk, Stream.EVENTS, {b"__data__": b"{}"})
    letter = await desk.letters.add(ref, DeadLetterReason.BAD_FIELDS)
    assert letter is not None
    assert await desk.letters.requeue(0, letter) is RequeueStatus.REQUEUED
    assert await desk.letters.requeue(0, letter) is RequeueStatus.GONE
    assert await desk.letters.requeue(0, "1-1") is RequeueStatus.GONE
    assert await desk.redis.xlen(desk.key("dead")) == 0
    assert await desk.backlog(Stream.EVENTS) == 1


async def test_a_chain_hears_that_its_action_was_given_up(desk: Desk) -> None:
    order = await desk.order_of()
    letter = await desk.letters.add(
        order.ref, DeadLetterReason.DELIVERIES_EXHAUSTED, about=dead(order)
    )
    assert letter is not None
    (message,) = await desk.messages()
    assert isinstance(message, ToolCompleted)
    assert message.data.outcome.error is not None
    assert message.data.outcome.error.error_type is ErrorType.SERVER
    assert message.data.outcome.error.recoverable is False
    ((_, fields),) = await desk.redis.xrange(desk.key("dead"))
    assert fields[b"chain"].decode() == order.chain
    assert fields[b"id"].decode() == order.action
    await desk.decide_all()
    assert (await desk.chain(fields[b"chain"].decode())).status is ChainStatus.FAILED
    assert await desk.letters.requeue(0, letter) is RequeueStatus.DONE


async def test_e5_a_started_action_with_effects_is_given_up_in_doubt(desk: Desk) -> None:
    order = await desk.order_of(literal_task(1, "send"))
    await desk.claim(order)
    await desk.letters.add(order.ref, DeadLetterReason.DELIVERIES_EXHAUSTED, about=dead(order))
    await desk.decide_all()
    chain = await desk.chain(order.chain)
    assert chain.status is ChainStatus.ESCALATED
