"""Slots: never more held than there are, nobody waits for the slowest, and a suspect runs alone."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haltpoint_tool_worker.running.slots import Slots


@pytest.mark.parametrize(
    ("capacity", "streams", "share"), [(16, 4, 2), (4, 4, 1), (16, 1, 8), (1, 1, 1)]
)
def test_a_reader_asks_for_half_of_what_its_stream_could_have(
    capacity: int, streams: int, share: int
) -> None:
    assert Slots(capacity, streams).share == share


async def test_a_suspect_has_all_slots_and_readers_wait_until_it_has_ended() -> None:
    slots = Slots(2, 1)
    slots.hold(1, promised=1)
    slots.pause()
    reader = asyncio.create_task(slots.promise())
    assert await slots.begin(), "what is in hand runs, so that there is an end to it"
    slots.end()
    slots.reserve()
    slots.hold(1)
    assert await slots.begin(suspect=True)
    slots.hold(1, promised=0)
    late = asyncio.create_task(slots.begin())
    await asyncio.sleep(0)
    slots.end()
    await asyncio.sleep(0)
    assert not late.done()
    assert not reader.done()
    slots.resume()
    assert await late
    assert await reader == 1


async def test_one_that_waits_to_be_alone_with_a_suspect_is_not_stuck() -> None:
    slots = Slots(2, 1)
    slots.pause()
    reader = asyncio.create_task(slots.promise())
    await asyncio.sleep(0)
    assert slots.stuck_for(left_over=0) == 0, "no call that does not end holds anything"
    slots.resume()
    assert await reader == 1


async def test_a_reader_that_finds_more_gets_its_part_of_all_slots() -> None:
    slots = Slots(16, 2)
    slots.hold(4, promised=4)
    assert await slots.promise(more=True) == 8
    slots.hold(8, promised=8)
    slots.hold(4, promised=4)
    first = asyncio.create_task(slots.promise(more=True))
    second = asyncio.create_task(slots.promise(more=True))
    await asyncio.sleep(0)
    for _ in range(8):
        slots.end()
    assert await first == 4, "another one waits"
    assert await second == 4, "there is no more"


async def test_calls_that_come_one_by_one_get_all_slots() -> None:
    slots = Slots(16, 1)
    promised = slots.share
    for _ in range(15):
        slots.hold(1, promised=promised)
        promised = await asyncio.wait_for(slots.promise(), 1)
    slots.hold(1, promised=promised)
    reader = asyncio.create_task(slots.promise())
    await asyncio.sleep(0.02)
    assert not reader.done()
    slots.end()
    assert await reader == 1


async def test_a_closed_one_sends_everybody_away() -> None:
    slots = Slots(1, 1)
    slots.hold(2, promised=1)
    assert await slots.begin()
    slots.reserve()
    reader, second = asyncio.create_task(slots.promise()), asyncio.create_task(slots.begin())
    await asyncio.sleep(0)
    slots.close()
    await reader
    assert not await second
    assert not await slots.begin()
    await slots.promise()


@given(
    st.integers(1, 8),
    st.integers(1, 3),
    st.lists(st.tuples(st.sampled_from(["read", "end"]), st.integers(0, 7)), max_size=60),
)
def test_readers_never_hold_more_than_there_are_slots(
    more: int, streams: int, moves: list[tuple[str, int]]
) -> None:
    async def play() -> None:
        slots = Slots(streams + more, streams)
        free: list[asyncio.Task[int] | None] = [None] * streams
        for move, number in moves:
            reader = free[number % streams]
            if move == "read" and (reader is None or reader.done()):
                promised = reader.result() if reader else slots.share
                found = 1 + number % promised
                slots.hold(found, promised=promised)
                free[number % streams] = asyncio.create_task(slots.promise(more=found == promised))
            elif move == "end" and slots.held:
                slots.end()
            await asyncio.sleep(0)
            assert 0 <= slots.held <= slots.capacity
        slots.close()

    asyncio.run(play())
