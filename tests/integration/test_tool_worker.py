"""The tool worker against a real server: its own app, in this process or as one of its own. The
executor is a desk.
"""

import asyncio
import json
import os
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import structlog
from redis.asyncio import Redis

import haltpoint
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.events import ToolCompleted
from haltpoint.contracts.results import Outcome
from haltpoint.contracts.tools import BUILT_IN
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.config.errors import BLOCKED, HaltpointError
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.store.dead_letters import RequeueStatus
from haltpoint.runtime.store.rows import Head, Key
from haltpoint.runtime.streams.pauses import Pauses
from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
from haltpoint.runtime.views.queues import read_queues, unserved
from haltpoint_tool_worker.app import run
from haltpoint_tool_worker.registry import load
from tests.chaos import nursery
from tests.chaos.nursery import Child
from tests.support import PATIENCE, wait_until, worker_tools
from tests.support.builders import line_plan
from tests.support.desk import Desk, desk_at

TOOLS = "tests.support.worker_tools"
LEASE, HEARTBEAT = 1.5, 0.15
"""Seconds that a process may take to start on a busy machine."""


@pytest.fixture
async def desk(redis: Redis) -> AsyncIterator[Desk]:
    worker_tools.GATE.close()
    async with desk_at(redis) as desk:
        desk.tools = {spec.name: spec for spec in load([TOOLS]).specs}
        yield desk
    worker_tools.GATE.open()


@pytest.fixture
def effects(tmp_path: Path) -> Path:
    path = tmp_path / "effects"
    path.touch()
    return path


class Bench:
    """Workers on the test's server, and what they did."""

    def __init__(self, desk: Desk, url: str, effects: Path) -> None:
        self.desk = desk
        self.url = url
        self.effects_file = effects

    def settings(self, **more: Any) -> Settings:
        given: JsonObject = {
            "redis_url": self.url,
            "partitions": 1,
            "tools": (TOOLS,),
            "lease": LEASE,
            "heartbeat": HEARTBEAT,
            "slots": 4,
        }
        return Settings(**(given | more), allow_unsafe=True)

    @asynccontextmanager
    async def worker(self, **more: Any) -> AsyncIterator["asyncio.Task[None]"]:
        """A worker in this process, ready; stopped in peace at the end."""
        before = set(await self.ready())
        task = asyncio.create_task(run(self.settings(**more)))

        async def is_ready() -> bool:
            if task.done():
                await task
            return bool(set(await self.ready()) - before)

        try:
            await wait_until(is_ready)
            yield task
        finally:
            task.cancel()
            await asyncio.wait([task], timeout=PATIENCE)
            assert task.done()

    async def ready(self) -> list[bytes]:
        keys: list[bytes] = await self.desk.redis.keys("hp:{0}:service:tool-worker:*")
        return keys

    async def order(self, tool: str, *, context: JsonObject | None = None, **arguments: Any) -> str:
        """Have the executor dispatch one call; returns the action's id."""
        given = {"effects": str(self.effects_file)} | (context or {})
        chain = await self.desk.submit(
            Task(goal="do it", plan=line_plan(1, tool, **arguments), context=given)
        )
        await self.desk.decide_all()
        return f"{chain}.s1.1"

    async def reports(self) -> list[ToolCompleted]:
        return [one for one in await self.desk.messages() if isinstance(one, ToolCompleted)]

    async def outcome(self, action: str) -> Outcome:
        """What is recorded of an action, a doubt included, once it is."""

        async def is_there() -> bool:
            return (await self.desk.action(action)).receipt is not None

        await wait_until(is_there)
        receipt = (await self.desk.action(action)).receipt
        assert receipt is not None
        return msgspec.json.decode(receipt.outcome, type=Outcome)

    async def data(self, action: str) -> Any:
        receipt = (await self.desk.action(action)).receipt
        return json.loads(receipt.data if receipt else "{}")

    def effects(self) -> list[str]:
        return [line.split()[0] for line in self.effects_file.read_text().splitlines()]

    async def spawn(
        self, *releases: Path, sleeps: str = "", held: float = 60, **more: Any
    ) -> Child:
        """Start a worker as a process of its own. `releases`: other sources; `sleeps` and `held`:
        tests/support/sleeper.py.
        """
        return await nursery.bear(
            "tests.support.sleeper:main",
            self.settings(**more).model_dump_json(exclude_defaults=True),
            sleeps,
            held,
            environment=os.environ,
            log=self.effects_file.with_name("log"),
            release=releases,
        )

    @asynccontextmanager
    async def process(self, *releases: Path, sleeps: str = "", **more: Any) -> AsyncIterator[Child]:
        """The same, ready; killed at the end when it still runs."""
        before = set(await self.ready())
        process = await self.spawn(*releases, sleeps=sleeps, **more)

        async def is_ready() -> bool:
            return bool(
                set(await self.ready()) - before
            )  # a process that sleeps is forgotten meanwhile

        try:
            await wait_until(is_ready)
            yield process
        finally:
            process.signal(signal.SIGKILL)
            await process.end


@pytest.fixture
def bench(desk: Desk, server: Any, effects: Path) -> Bench:
    return Bench(desk, server.url, effects)


def said(bench: Bench, words: str) -> bool:
    """Whether a process has logged this."""
    return words in bench.effects_file.with_name("log").read_text()


def assert_blocked(outcome: Outcome, tool: str) -> None:
    """The outcome of a call that blocked its worker: what happened, what to do, and not again."""
    assert outcome.error is not None
    assert f"{tool} did not answer within 0.3 s: " in outcome.error.message
    words = " blocked the event loop of its worker. Its author: declare it with def"
    assert words in outcome.error.message
    assert not outcome.metadata.again


def error_of(outcome: Outcome) -> str:
    assert outcome.error is not None
    return outcome.error.error_type.value


# ---- one call
# --------------------------------------------------------------------------------------------------


async def test_a_receipt_is_recorded_once_and_the_executor_hears_of_it(bench: Bench) -> None:
    async with bench.worker():
        action = await bench.order("lookup", query="john")
        outcome = await bench.outcome(action)
    assert (outcome.success, outcome.next_action) == (True, "continue")
    assert await bench.data(action) == {"contact_id": "john"}
    meta = outcome.metadata
    assert (meta.tool, meta.action_id, meta.attempt, meta.whole) == ("lookup", action, 1, None)
    assert meta.started_at > 0
    (report,) = await bench.reports()
    assert (report.id, report.data.action_id) == (f"{action}/1/done", action)
    assert await bench.desk.backlog(Stream.TOOLS, "default") == 0
    await bench.desk.run()
    assert (await bench.desk.chain(action.partition(".")[0])).status == "completed"


async def test_the_tools_are_in_the_catalogue_and_what_they_need_lives_as_long_as_the_worker(
    bench: Bench,
) -> None:
    async with bench.worker():
        assert worker_tools.BOOK.open
        listed = await ToolCatalogue(bench.desk.calls, bench.desk.topology).read()
    assert {name: spec for name, spec in listed.items() if name not in BUILT_IN} == bench.desk.tools
    assert not worker_tools.BOOK.open


# ---- effects (R3, R4, R8, E5)
# ---------------------------------------------------------------------------------------


async def test_an_entry_that_came_twice_has_one_effect(bench: Bench) -> None:
    action = await bench.order("send", text="hi")
    stream = bench.desk.topology.stream(0, Stream.TOOLS, "default")
    ((_, fields),) = await bench.desk.redis.xrange(stream)
    await bench.desk.redis.xadd(stream, fields)
    async with bench.worker():
        await bench.outcome(action)

        async def is_empty() -> bool:
            return await bench.desk.backlog(Stream.TOOLS, "default") == 0

        await wait_until(is_empty)
    assert bench.effects() == [action]
    assert len(await bench.reports()) == 1


async def test_a_result_that_comes_while_a_tool_is_being_stopped_is_taken(bench: Bench) -> None:
    async with bench.worker():
        action = await bench.order("stubborn")
        assert (await bench.outcome(action)).success
    assert await bench.data(action) == {"value": "after all"}


@pytest.mark.parametrize("how", ["raises", "declares", "warns", "older"])
async def test_c15_what_is_private_is_in_no_words_of_a_result_and_no_log(
    bench: Bench, how: str
) -> None:
    private = {"token": "s3cret\nother line", "users": [{"name": "Anna Berg"}], "place": "Rome"}
    with structlog.testing.capture_logs() as lines:
        async with bench.worker():
            chain = await bench.desk.submit(
                Task(plan=line_plan(1, "blab", how=how), private=private)
            )
            await bench.desk.decide_all()
            outcome = await bench.outcome(f"{chain}.s1.1")
    words = str(outcome) + str(lines)
    assert not [one for one in ("s3cret", "other line", "Anna") if one in words]
    assert "of *** in Rome" in str(outcome), "what is short may be there by chance"
    assert how != "raises" or "blab raised RuntimeError: cannot use ***" in str(lines)


async def test_a_worker_that_lost_its_lease_changes_nothing(bench: Bench) -> None:
    async with bench.worker():
        action = await bench.order("wait")
        await wait_until(lambda: worker_tools.GATE.inside == 1)
        await bench.desk.stored.change(action, epoch=7)  # as if somebody had taken it over
        await wait_until(lambda: worker_tools.GATE.inside == 0)
        assert worker_tools.GATE.passed == 0, "the run was cancelled"
        assert (await bench.desk.action(action)).receipt is None
        assert await bench.reports() == []
        await bench.desk.stored.change(action, epoch=0)
        worker_tools.GATE.open()
        assert (await bench.outcome(action)).success, "and the action is taken up again"


async def test_a_tool_that_blocks_the_event_loop_does_not_lose_its_lease(bench: Bench) -> None:
    async with bench.process():
        action = await bench.order("block_the_loop", seconds=2 * LEASE)

        async def is_pending() -> bool:
            return await bench.desk.pending(Stream.TOOLS, "default") == 1

        await wait_until(is_pending)
        async with bench.worker():
            outcome = await bench.outcome(action)
    assert outcome.success
    assert (await bench.desk.action(action)).row.epoch == 0


async def test_e2_a_call_that_blocked_beyond_its_time_comes_too_late_and_does_not_run_again(
    bench: Bench,
) -> None:
    """It has let go of the loop before the worker had to end, or not: that makes no difference to
    its chain.
    """
    async with bench.process():
        action = await bench.order("block_briefly", seconds=1)
        outcome = await bench.outcome(action)
    assert said(bench, "block_briefly (")
    assert_blocked(outcome, "block_briefly")


@pytest.mark.parametrize(
    ("tool", "kind", "happened"),
    [("send_and_block", "IN_DOUBT", 1), ("block_briefly", "TIMEOUT", 0)],
)
async def test_e2_a_call_that_blocks_ends_its_worker_and_is_recorded_before(
    bench: Bench, tool: str, kind: str, happened: int
) -> None:
    async with bench.process() as process:
        action = await bench.order(tool, seconds=10 * PATIENCE)
        assert await process.end == BLOCKED
        outcome = await bench.outcome(action)
        assert await bench.desk.pending(Stream.TOOLS, "default") == 0
    assert said(bench, f"HP-038 {tool} (")
    assert_blocked(outcome, tool)
    assert error_of(outcome) == kind
    assert (outcome.metadata.tool, outcome.metadata.action_id, outcome.metadata.attempt) == (
        tool,
        action,
        1,
    )
    assert bench.effects() == [action] * happened


@pytest.mark.parametrize(
    ("tool", "kind", "words", "happened"),
    [
        (
            "delete_slowly",
            "TIMEOUT",
            "delete_slowly was not called: the preview of delete_slowly (",
            0,
        ),
        ("picky", "TIMEOUT", "picky was not called: picky blocked the event loop", 0),
        (
            "send_and_review",
            "IN_DOUBT",
            "send_and_review started and may have taken effect: send_and_review did not answer",
            1,
        ),
    ],
)
async def test_e2_what_blocks_beside_the_tool_ends_the_worker_as_the_tool_would(
    bench: Bench, tool: str, kind: str, words: str, happened: int
) -> None:
    """A preview, a check of the arguments, a post-hook: what has happened by then is known."""
    async with bench.process(hooks=("tests.support.worker_tools:slow_review",)) as process:
        action = await bench.order(tool, seconds=10 * PATIENCE)
        assert await process.end == BLOCKED
        outcome = await bench.outcome(action)
    assert outcome.error is not None
    assert outcome.error.message.startswith(words)
    assert error_of(outcome) == kind
    assert not outcome.metadata.again
    assert bench.effects() == [action] * happened


async def test_a_worker_whose_event_loop_is_blocked_serves_no_queue(bench: Bench) -> None:
    """HP-102 is told, also while the call that blocks is within its time."""
    async with bench.process() as process:
        await bench.order("block_the_loop", seconds=10 * PATIENCE)

        async def is_told() -> bool:
            return [
                one.queue for one in await unserved(bench.desk.redis, bench.desk.topology, specs)
            ] == ["default"]

        specs = bench.desk.tools.values()
        await wait_until(is_told)
        assert process.code is None


# ---- slots, stopping
# ------------------------------------------------------------------------------------------------


async def test_never_more_run_than_there_are_slots_and_none_waits_for_the_slowest(
    bench: Bench,
) -> None:
    actions = [await bench.order("wait") for _ in range(10)]
    async with bench.worker(slots=4):
        await wait_until(lambda: worker_tools.GATE.inside == 4)
        assert await bench.desk.pending(Stream.TOOLS, "default") == 4, "no more is held than runs"
        worker_tools.GATE.open()
        for action in actions:
            assert (await bench.outcome(action)).success
    assert worker_tools.GATE.most == 4


async def test_e7_a_repeatable_call_that_has_waited_long_does_not_begin_when_its_chain_is_cancelled(
    bench: Bench,
) -> None:
    worker_tools.GATE.open()
    action = await bench.order("wait")
    chain = bench.desk.topology.key_of(Key.CHAIN, action.partition(".")[0])
    await bench.desk.redis.hset(chain, Head.RESUME, "cancelled")
    await asyncio.sleep(1)  # longer than a call may wait without a look at its chain
    async with bench.worker():
        assert error_of(await bench.outcome(action)) == "DENIED"
    assert worker_tools.GATE.passed == 0


async def test_a_paused_queue_is_left_alone_and_what_runs_ends(bench: Bench) -> None:
    pauses = Pauses(bench.desk.calls, bench.desk.topology)
    async with bench.worker():
        running = await bench.order("wait")
        await wait_until(lambda: worker_tools.GATE.inside == 1)
        await pauses.pause("default")
        await asyncio.sleep(2)  # by then every worker has seen it
        waiting = await bench.order("add", left=1, right=1)
        worker_tools.GATE.open()
        assert (await bench.outcome(running)).success
        await asyncio.sleep(2 * LEASE)
        assert (await bench.desk.action(waiting)).receipt is None
    async with bench.worker():
        await asyncio.sleep(1)
        assert (await bench.desk.action(waiting)).receipt is None
        await pauses.resume("default")
        assert (await bench.outcome(waiting)).success


async def test_a_worker_ends_when_calls_that_do_not_end_hold_all_slots(bench: Bench) -> None:
    async with bench.worker(slots=1, lease=2 * LEASE) as worker:
        assert error_of(await bench.outcome(await bench.order("wait_in_a_thread"))) == "TIMEOUT"
        later = await bench.order("add", left=1, right=1)

        async def told() -> bool:
            (queue,) = await read_queues(bench.desk.redis, bench.desk.topology, ["default"])
            return queue.left_over == 1

        await wait_until(told)
        with pytest.raises(HaltpointError, match="HP-036 1 of 1 slots"):
            await worker
    assert await bench.ready() == []
    async with bench.worker(slots=1):
        assert (await bench.outcome(later)).success
    worker_tools.GATE.open()


async def test_a_worker_that_is_stopped_finishes_what_runs_and_leaves_the_rest_to_others(
    bench: Bench,
) -> None:
    async with bench.worker(slots=2) as stopped:
        running = [await bench.order("wait") for _ in range(2)]
        await wait_until(lambda: worker_tools.GATE.inside == 2)
        rest = [await bench.order("wait") for _ in range(3)]
        stopped.cancel()
        assert not stopped.done()
        worker_tools.GATE.open()
        await stopped
    for action in running:
        assert (await bench.outcome(action)).success
    async with bench.worker():
        for action in rest:
            assert (await bench.outcome(action)).success


# ---- what cannot start
# ----------------------------------------------------------------------------------------------


async def test_fewer_slots_than_streams_are_refused(bench: Bench) -> None:
    with pytest.raises(HaltpointError, match="HALTPOINT_SLOTS=4"):
        await run(bench.settings(slots=3, partitions=4))


async def test_r1_an_order_that_cannot_be_read_ends_the_chain_that_waits_for_it(
    bench: Bench,
) -> None:
    action = await bench.order("add", left=1, right=2)
    chain = action.partition(".")[0]
    key = bench.desk.topology.stream(0, Stream.TOOLS, "default")
    await bench.desk.redis.xtrim(key, maxlen=0, approximate=False)
    order = {
        "id": f"{action}/1",
        "source": "x",
        "subject": chain,
        "type": "tool.requested.v1",
        "data": {},
    }
    await bench.desk.redis.xadd(key, {"__data__": json.dumps(order)})
    async with bench.worker():
        await wait_until(bench.desk.decide_all)
    assert await bench.desk.redis.hget(bench.desk.key("chain", chain), "status") == b"failed"


# ---- another release (R9, R1, R4)
# -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def another_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of a release that knows another version of tool.requested, and not ours."""
    sources = tmp_path_factory.mktemp("release")
    copied = shutil.copytree(Path(haltpoint.__file__).parent, sources / "haltpoint")
    for file in (copied / "contracts").glob("*.py"):
        file.write_text(file.read_text().replace("tool.requested.v1", "tool.requested.v2"))
    return sources


async def put_aside(bench: Bench, letters: int = 1) -> list[tuple[str, dict[bytes, bytes]]]:
    """The dead letters, once there are so many."""
    key = bench.desk.key("dead")

    async def there() -> bool:
        return int(await bench.desk.redis.xlen(key)) == letters

    await wait_until(there)
    return [(entry.decode(), fields) for entry, fields in await bench.desk.redis.xrange(key)]


@pytest.mark.parametrize(
    ("tool", "arguments"), [("lookup", {"query": "john"}), ("send", {"text": "hi"})]
)
async def test_r9_an_order_for_another_release_is_given_back_and_done_once(
    bench: Bench, another_release: Path, tool: str, arguments: JsonObject
) -> None:
    action = await bench.order(tool, **arguments)
    chain = action.partition(".")[0]
    async with bench.process(another_release):
        ((letter, fields),) = await put_aside(bench)
        assert (fields[b"reason"], fields[b"chain"].decode()) == (b"unknown_version", chain)
        assert await bench.desk.letters.requeue(0, letter) is RequeueStatus.REQUEUED
        ((again, _),) = await put_aside(
            bench
        )  # it still cannot read it, and nothing is lost by that
        assert again != letter
    assert (await bench.desk.chain(chain)).status == "executing"
    assert await bench.desk.letters.requeue(0, again) is RequeueStatus.REQUEUED
    async with bench.worker():
        assert (await bench.outcome(action)).success
        await bench.desk.run()
    assert (await bench.desk.chain(chain)).status == "completed"
    assert bench.effects() == ([] if tool == "lookup" else [action])
    assert await bench.desk.letters.requeue(0, again) is RequeueStatus.GONE
