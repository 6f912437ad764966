"""R11: a living chain has something under way, an open question or a timer. One that has lost that
is found within a minute, and goes on or ends with a code.
"""

from collections.abc import Awaitable, Callable

import pytest

from haltpoint.chain.model.statuses import ChainStatus, Code
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.results import ErrorInfo, ErrorType
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store.dead_letters import Orphan
from haltpoint.runtime.store.receipts import Rest, Rested
from haltpoint.runtime.streams.wire import DeadLetterReason
from haltpoint_executor import parked
from tests.support.builders import asks, fails_with, literal_task
from tests.support.desk import Desk

MINUTE = 61.0


async def look_round(desk: Desk) -> None:
    """A minute in which nothing changes, and what the executor's looks find then."""
    await desk.later(MINUTE)
    place = await parked.look(desk.store, 0, 0, ["default"])
    while place:
        place = await parked.look(desk.store, 0, place, ())


async def empty(desk: Desk, stream: Stream, queue: str = "") -> None:
    """Remove what is in a stream, as no part of Haltpoint does."""
    assert await desk.redis.xtrim(desk.topology.stream(0, stream, queue), maxlen=0)


async def ended(desk: Desk, chain_id: str) -> str | None:
    """How the chain ends: its code, or nothing when it completes."""
    await desk.run()
    chain = await desk.chain(chain_id)
    assert chain.status.final
    error = chain.end.error
    return None if error is None else error.code


async def its_first_message(desk: Desk) -> str:
    chain_id = await desk.submit()
    await empty(desk, Stream.EVENTS)
    return chain_id


async def its_order(desk: Desk) -> str:
    chain_id = await desk.submit(literal_task(1, "send"))
    await desk.decide_all()
    await empty(desk, Stream.TOOLS, "default")
    return chain_id


async def the_order_of_a_call_that_was_started(desk: Desk) -> str:
    order = await desk.order_of(literal_task(1, "send"))
    await desk.claim(order)
    await empty(desk, Stream.TOOLS, "default")
    return order.chain


async def its_thought(desk: Desk) -> str:
    chain_id = await desk.submit(Task(goal="write a note"))
    await desk.decide_all()
    await empty(desk, Stream.PLANS)
    return chain_id


async def its_answer(desk: Desk) -> str:
    chain_id = await a_question(desk)
    await desk.redis.hset(desk.key("chain", chain_id), "r1", "answered")
    return chain_id


async def a_question(desk: Desk) -> str:
    order = await desk.order_of(literal_task(1, "lookup"))
    await desk.finish(order, asks("a", "b"))
    await desk.decide_all()
    return order.chain


@pytest.mark.parametrize(
    "lose",
    [
        its_first_message,
        its_order,
        the_order_of_a_call_that_was_started,
        its_thought,
        its_answer,
    ],
)
async def test_r11_a_chain_whose_message_is_gone_ends_with_a_code(
    desk: Desk, lose: Callable[[Desk], Awaitable[str]]
) -> None:
    chain_id = await lose(desk)
    await look_round(desk)
    assert await ended(desk, chain_id) == Code.MESSAGE_LOST


async def test_r4_what_was_started_is_in_doubt_then(desk: Desk) -> None:
    chain_id = await the_order_of_a_call_that_was_started(desk)
    await look_round(desk)
    await desk.run()
    action = await desk.action(f"{chain_id}.s1.1")
    assert action.resolution is not None
    assert ErrorType.IN_DOUBT in action.resolution.outcome


async def test_r11_a_result_that_is_on_record_is_told_again(desk: Desk) -> None:
    order = await desk.order_of(literal_task(2))
    await desk.finish(order)
    await empty(desk, Stream.EVENTS)
    await look_round(desk)
    assert await ended(desk, order.chain) is None


async def test_r1_a_chain_without_a_timer_gets_one(desk: Desk) -> None:
    chain_id = await a_question(desk)
    await desk.redis.zrem(desk.key("timers"), chain_id)
    await look_round(desk)
    assert (await desk.store.fire_due(0)).count == 1
    await desk.decide_all()
    deadline = await desk.redis.zscore(desk.key("timers"), chain_id)
    assert deadline == (await desk.chain(chain_id)).requests[0].deadline


async def a_call_in_its_queue(desk: Desk) -> str:
    return (await desk.order_of()).chain


async def a_thought_under_way(desk: Desk) -> str:
    chain_id = await desk.submit(Task(goal="write a note"))
    await desk.decide_all()
    return chain_id


async def a_thought_that_rests(desk: Desk) -> str:
    chain_id = await a_thought_under_way(desk)
    ((ref, request),) = await desk.read(Stream.PLANS)
    rest = Rest("HP-301", "away", after=7200, longest=7200)
    rested = await desk.receipt_store.rest_thought(ref, request.message.data, rest)  # type: ignore[arg-type]
    assert rested is Rested.RESTING
    return chain_id


async def an_event(desk: Desk) -> str:
    return await desk.submit()


async def a_letter_that_a_newer_release_reads(desk: Desk) -> str:
    order = await desk.order_of()
    about = Orphan(order.chain, order.action)
    await desk.letters.add(order.ref, DeadLetterReason.UNKNOWN_VERSION, about=about)
    return order.chain


@pytest.mark.parametrize(
    "wait",
    [
        a_call_in_its_queue,
        a_thought_under_way,
        a_thought_that_rests,
        a_question,
        an_event,
        a_letter_that_a_newer_release_reads,
    ],
)
async def test_r11_a_chain_that_waits_for_something_is_left_alone(
    desk: Desk, wait: Callable[[Desk], Awaitable[str]]
) -> None:
    chain_id = await wait(desk)
    before = await desk.redis.hgetall(desk.key("chain", chain_id))
    messages = await desk.messages()
    await look_round(desk)
    assert await desk.messages() == messages
    assert await desk.redis.hgetall(desk.key("chain", chain_id)) == before


async def test_r11_a_call_that_rests_waits_for_its_timer(desk: Desk) -> None:
    order = await desk.order_of()
    fault = ErrorInfo(ErrorType.RATE_LIMIT, "5/h", retry_after=3600.0)
    held_back = fails_with(fault, limit="5/h")
    await desk.finish(order, held_back)
    await desk.decide_all()
    await look_round(desk)
    assert await desk.messages() == []
    assert (await desk.chain(order.chain)).status is ChainStatus.EXECUTING
