"""What a thousand watchers of one chain cost: a read for each block and wake-up, and its bytes
once.
"""

import asyncio
from datetime import UTC, datetime
from functools import partial
from time import monotonic
from typing import cast

import pytest

from haltpoint.contracts.views.chains import EventView
from haltpoint.runtime.views.views import LogSlice, Views
from haltpoint_gateway import shared_logs
from haltpoint_gateway.shared_logs import LINES, Block, SharedLogs
from haltpoint_gateway.watchers import Watched, Watchers
from tests.support import wait_until

NOW = datetime.now(UTC)


class PlayedLog:
    """A log in memory in place of the views; one fact a line. It counts what is read."""

    def __init__(self, lines: int = 0, text: str = "") -> None:
        self.events = [self._event(number, text) for number in range(lines)]
        self.reads = 0
        self.under_way = 0
        self.most_under_way = 0

    @property
    def views(self) -> Views:
        return cast("Views", self)

    def _event(self, number: int, text: str = "", kind: str = "step.started") -> EventView:
        return EventView(f"{number}.0", NOW, kind, {"text": text})

    def tell(self, kind: str = "step.started") -> None:
        self.events.append(self._event(len(self.events), kind=kind))

    def has_been_read(self, times: int) -> bool:
        return self.reads == times and not self.under_way

    async def log(self, chain_id: str, first: int, count: int) -> LogSlice:
        self.reads += 1
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        events = tuple(self.events[first : first + count])
        await asyncio.sleep(0.001)
        self.under_way -= 1
        more = len(self.events) > first + count
        over = any(event.type == "chain.completed" for event in events)
        return LogSlice(events, len(events), None, more=more, over=over)


async def _watch(logs: SharedLogs, watchers: Watchers) -> bytes:
    pieces = [bytes(piece) async for piece in logs.follow(watchers, "c", None)]
    return b"".join(pieces)


async def test_a_thousand_watchers_of_a_long_log_cost_as_many_reads_as_one() -> None:
    played, watchers = PlayedLog(lines=10 * LINES), Watchers()
    played.tell("chain.completed")
    logs = SharedLogs(played.views)

    seen = await asyncio.gather(*(_watch(logs, watchers) for _ in range(1000)))

    assert played.reads == 11, "one for each block"
    assert set(seen) == {b"".join(shared_logs.as_sse(event, event.id) for event in played.events)}


async def test_each_wake_up_is_one_read_for_all_watchers() -> None:
    played, watchers = PlayedLog(lines=3), Watchers()
    logs = SharedLogs(played.views)
    streams = [asyncio.create_task(_watch(logs, watchers)) for _ in range(100)]
    kinds = ("step.started", "step.completed", "chain.completed")
    for reads, kind in enumerate(kinds, start=1):
        await wait_until(partial(played.has_been_read, reads))
        await asyncio.sleep(0)  # what was read is sent
        played.tell(kind)
        watchers.wake("c")

    seen = await asyncio.gather(*streams)

    assert played.reads == 4, "the first look, and three wake-ups"
    assert {text.count(b"event: ") for text in seen} == {6}


async def test_a_look_behind_a_wake_up_is_never_answered_by_an_older_read() -> None:
    played, chain = PlayedLog(lines=1), Watched("c")
    logs = SharedLogs(played.views)
    early = asyncio.create_task(logs.block(chain, 0, monotonic()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)  # the read is under way, and the log is longer now
    played.tell()
    late = await logs.block(chain, 0, monotonic())
    assert (await early).lines == 1
    assert late.lines == 2


async def test_a_look_in_the_moment_in_which_a_read_ends_begins_another() -> None:
    class Tells(PlayedLog):
        ended = asyncio.Event()

        async def log(self, chain_id: str, first: int, count: int) -> LogSlice:
            part = await super().log(chain_id, first, count)
            self.ended.set()  # who waits for it comes before those who wait for the read
            return part

    played, chain = Tells(lines=1), Watched("c")
    logs = SharedLogs(played.views)

    async def second() -> Block:
        await played.ended.wait()
        return await logs.block(chain, 0, monotonic())

    async with asyncio.timeout(5):
        await asyncio.gather(logs.block(chain, 0, monotonic()), second())
    assert played.reads == 2


async def test_few_reads_are_under_way_at_once() -> None:
    played = PlayedLog(lines=1)
    logs = SharedLogs(played.views)
    chains = [Watched(f"c{number}") for number in range(100)]
    await asyncio.gather(*(logs.block(chain, 0, monotonic()) for chain in chains))
    assert played.reads == 100
    assert played.most_under_way == 4


async def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_logs, "_KEPT", 100_000)
    played, chain = PlayedLog(lines=100 * LINES, text="x" * 1000), Watched("c")
    logs = SharedLogs(played.views)
    for number in range(100):
        await logs.block(chain, number, monotonic())
    kept = sum(len(block.data) for block in logs._kept.values())
    assert 50_000 < kept <= 100_000
    again = await logs.block(chain, 0, monotonic())
    assert again.full, "a block that was forgotten is read again"


async def test_what_waits_for_a_client_that_does_not_read_is_a_piece_of_shared_bytes() -> None:
    played, watchers = PlayedLog(lines=LINES, text="x" * 10_000), Watchers()
    logs = SharedLogs(played.views)
    pieces = [await anext(logs.follow(watchers, "c", None)) for _ in range(300)]
    (block,) = logs._kept.values()
    assert len(block.data) > 300_000
    for piece in pieces:
        assert isinstance(piece, memoryview)
        assert len(piece) == 16 * 1024
        assert piece.obj is block.data


async def test_a_read_that_fails_is_told_to_all_who_wait_and_tried_anew() -> None:
    class Fails(PlayedLog):
        async def log(self, chain_id: str, first: int, count: int) -> LogSlice:
            if self.reads == 0:
                self.reads += 1
                await asyncio.sleep(0)
                raise ConnectionError("away")
            return await super().log(chain_id, first, count)

    played, chain = Fails(lines=1), Watched("c")
    logs = SharedLogs(played.views)
    looks = (logs.block(chain, 0, monotonic()) for _ in range(2))
    told = await asyncio.gather(*looks, return_exceptions=True)
    assert [str(error) for error in told] == ["away", "away"]
    assert (await logs.block(chain, 0, monotonic())).lines == 1
