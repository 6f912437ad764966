"""The executor in this process, against a real server and a worker that only records."""

import asyncio
import json
from collections import Counter
from typing import Any

import msgspec
import pytest

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.catalogue import GROUP, Stream
from haltpoint.contracts.commands import ToolRequested
from haltpoint.contracts.events import ToolCompleted
from haltpoint.contracts.policy import PolicyFile
from haltpoint.contracts.results import Outcome
from haltpoint.contracts.work.agents import Agents
from haltpoint.contracts.work.tasks import Budget, Task
from haltpoint.runtime.observability.telemetry import Tracing
from haltpoint.runtime.service.service import Service
from haltpoint.runtime.store.dead_letters import DeadLetters
from haltpoint.runtime.streams.delivery import Entry, Subscription
from haltpoint.runtime.streams.tasks import end
from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
from haltpoint.runtime.streams.wire import encode
from haltpoint_executor.cache import ChainCache
from haltpoint_executor.executor import Executor, Parts
from haltpoint_executor.world import CurrentWorld, ServerClock, policy_of
from tests.integration.deciding import PARTITIONS, Bed, executing, working
from tests.support import wait_until
from tests.support.builders import OK, literal_task, spec

DAY = 86_400_000


async def test_duplicates_of_every_message_change_nothing(bed: Bed) -> None:
    """Each message two to five times: the same log, one receipt each, nothing left over."""
    runs = 0

    def act(request: ToolRequested, arguments: str) -> tuple[Outcome, str]:
        nonlocal runs
        runs += 1
        return OK, arguments

    seen: set[bytes] = set()

    async def repeat_all() -> None:
        """Add one to four copies of whatever lies in a stream and was not copied yet."""
        for partition in range(PARTITIONS):
            for name in ("events", "tools:default"):
                key = bed.topology.key(partition, name)
                for _, fields in await bed.redis.xrange(key):
                    if fields[b"__data__"] not in seen:
                        seen.add(fields[b"__data__"])
                        for _ in range(1 + len(seen) % 4):
                            await bed.redis.xadd(key, fields)

    async def repeat_for_ever() -> None:
        while True:
            await repeat_all()

    await bed.announce(spec())
    ids = await asyncio.gather(*(bed.submit(literal_task(4, text="hi")) for _ in range(20)))
    await repeat_all()
    async with executing(bed):

        async def first_requests() -> bool:
            return await bed.backlog() == 20

        await wait_until(first_requests)
        await repeat_all()
        copier = asyncio.create_task(repeat_for_ever())
        async with working(bed, act):
            await wait_until(lambda: bed.ended(*ids))
            await end(copier)
            await say_again(bed, ids)

            async def all_read() -> bool:
                return await bed.backlog() == 0

            await wait_until(all_read)
        logs = [await bed.log(chain_id) for chain_id in ids]
        chains = [await bed.chain(chain_id) for chain_id in ids]
    assert {chain.status for chain in chains} == {ChainStatus.COMPLETED}
    assert all(log == logs[0] for log in logs)
    facts = Counter(fact for _, told in logs[0] for fact in told)
    assert (facts["action.completed"], facts["chain.completed"]) == (4, 1)
    assert runs >= 80 + 20, "copies did reach the worker"
    assert await bed.dead() == []


async def say_again(bed: Bed, ids: list[str]) -> None:
    """Every result once more, when all is over."""
    for chain_id in ids:
        for step in range(1, 5):
            action = f"{chain_id}.s{step}.1"
            done = ToolCompleted(
                id=f"{action}/1/done",
                source="haltpoint/tool-worker",
                subject=chain_id,
                data=ToolCompleted.Data(action_id=action, outcome=OK),
            )
            await bed.add_event(bed.topology.partition(chain_id), {"__data__": encode(done)})


async def test_a_task_that_somebody_put_on_any_stream_is_submitted_once(bed: Bed) -> None:
    message = {
        "id": "order-17",
        "source": "shop",
        "type": "task.submitted.v1",
        "data": {"goal": "Tell John I am late", "plan": msgspec.to_builtins(literal_task(2).plan)},
    }
    async with executing(bed), working(bed):
        for partition in range(PARTITIONS):
            await bed.add_event(partition, {"__data__": json.dumps(message)})
            await bed.add_event(
                partition, {"__data__": json.dumps(message | {"subject": "orders"})}
            )

        async def completed() -> int:
            return sum(
                [
                    await bed.redis.zcard(bed.topology.key(p, "index:status:completed"))
                    for p in range(PARTITIONS)
                ]
            )

        async def one() -> bool:
            return await completed() == 1 and await bed.backlog() == 0

        await wait_until(one)
        await bed.add_event(
            0, {"__data__": json.dumps(message | {"data": {"goal": "Something else"}})}
        )

        async def refused() -> bool:
            return bool(await bed.dead())

        await wait_until(refused)
        assert await completed() == 1
    (letter,) = await bed.dead()
    assert letter[b"reason"] == b"conflict"
    assert b"Something else" in letter[b"__data__"]
    (audited,) = await bed.audited()
    assert (audited.deed, audited.by, audited.way) == ("submitted", "shop", "stream")
    assert (await bed.chain(audited.about)).task.handed.submitted_by == "shop"


@pytest.mark.parametrize(
    "data", [{}, {"goal": ""}, {"goal": " \n\t"}, {"goal": "\u00a0", "plan": None}]
)
async def test_a_task_on_a_stream_that_wants_nothing_is_put_aside_as_http_refuses_it(
    bed: Bed, data: dict[str, str]
) -> None:
    message = {"id": "order-18", "source": "shop", "type": "task.submitted.v1", "data": data}
    async with executing(bed):
        await bed.add_event(0, {"__data__": json.dumps(message)})

        async def put_aside() -> bool:
            return bool(await bed.dead()) and await bed.backlog() == 0

        await wait_until(put_aside)
    (letter,) = await bed.dead()
    assert (letter[b"reason"], letter[b"detail"]) == (
        b"bad_fields",
        b"The task has neither a goal nor a plan.",
    )
    assert not [key async for key in bed.redis.scan_iter("hp:*chain:*")]


def hostile() -> list[dict[str, bytes | str]]:
    good = json.loads(
        encode(
            ToolCompleted(id="x", source="w", data=ToolCompleted.Data(action_id="a", outcome=OK))
        )
    )

    def changed(**more: object) -> dict[str, bytes | str]:
        return {"__data__": json.dumps(good | more)}

    kinds: list[dict[str, bytes | str]] = [
        {"nothing": "here"},
        {"__data__": ""},
        {"__data__": "null"},
        {"__data__": "[1,2,3]"},
        {"__data__": "{"},
        {"__data__": b'{"id":"\xff\xfe"}'},
        {"__data__": encode_text(good), "__body__": b"\xc3\x28"},
        {"__data__": "[" * 100_000},
        {"__data__": '{"a":' * 100_000},
        {"__data__": encode_text(good), "__body__": "[" * 100_000},
        {"__data__": "x" * 5_000_000},
        {"__data__": encode_text(good), "__body__": "1" * 5_000_000},
        changed(type="tool.completed.v9"),
        changed(type="tool.requested.v1"),
        changed(type="rm -rf"),
        changed(type=7),
        changed(id=""),
        changed(data=None),
        changed(data={"action_id": 7, "outcome": "fine"}),
        changed(data={"action_id": "a", "outcome": {"success": True, "next_action": "error"}}),
        changed(id="x" * 100_000),
        {"__data__": json.dumps(good).replace('"x"', "NaN")},
        {"__data__": json.dumps(good).replace('"x"', "1" * 5000)},
        changed(subject="no such chain"),
        changed(subject="\ud800"),
    ]
    return kinds


def encode_text(message: object) -> str:
    return json.dumps(message)


async def test_hostile_entries_are_put_aside_and_stop_nobody(bed: Bed) -> None:
    """200 of them among the events of 200 chains."""
    kinds = hostile()
    assert 200 % len(kinds) == 0
    bad = kinds * (200 // len(kinds))
    async with executing(bed), working(bed):
        ids: list[str] = []
        for number, fields in enumerate(bad):
            ids.append(await bed.submit(literal_task(1)))
            await bed.add_event(number % PARTITIONS, fields)

        async def all_done() -> bool:
            return await bed.backlog() == 0 and await bed.ended(*ids)

        await wait_until(all_done)
        assert {(await bed.chain(chain_id)).status for chain_id in ids} == {ChainStatus.COMPLETED}
    letters = await bed.dead()
    assert (len(ids), len(letters)) == (200, 200)
    reasons = Counter(letter[b"reason"].decode() for letter in letters)
    assert set(reasons) == {
        *("no_data", "too_large", "bad_encoding", "bad_json", "too_deep"),
        *("unknown_version", "unknown_message", "bad_fields", "unknown_chain"),
    }
    assert all(letter[b"detail"] for letter in letters)


async def test_deadlines_go_off_by_the_clock_of_the_server(bed: Bed) -> None:
    async with executing(bed):
        ids = [await bed.submit(Task(goal="think")) for _ in range(250)]

        async def planning() -> bool:
            chains = [
                await bed.redis.hget(bed.topology.key_of("chain", one), "status") for one in ids
            ]
            return set(chains) == {b"planning"}

        await wait_until(planning)
        for partition in range(PARTITIONS):
            await bed.redis.set(bed.topology.key(partition, "clock"), 8 * DAY)
        await wait_until(lambda: bed.ended(*ids))
        chain = await bed.chain(ids[0])
        assert chain.status is ChainStatus.FAILED
        assert chain.updated_at > chain.created_at + 7 * DAY
        late = await bed.submit(Task(goal="think", budget=Budget(seconds=3600)))
        created = await bed.chain(late)
        assert created.deadline == created.created_at + 3_600_000


async def test_two_that_decide_for_one_partition_lose_and_double_nothing(bed: Bed) -> None:
    """Both caches are stale after each event of the other: every commit conflicts, is decided again
    and fits.
    """
    world = CurrentWorld(
        ToolCatalogue(bed.calls, bed.topology),
        Agents(),
        policy_of(bed.settings.limits, PolicyFile()),
    )
    dead_letters, silent = DeadLetters(bed.calls, bed.topology), Tracing()

    async def decide_alternately(partition: int) -> None:
        pair = [
            Executor(
                partition,
                Parts(bed.store, ChainCache(), world, dead_letters, silent),
                ServerClock(),
            )
            for _ in range(2)
        ]
        key = bed.topology.stream(partition, Stream.EVENTS)
        turn = 0
        while True:
            read = await bed.redis.xreadgroup(
                GROUP[Stream.EVENTS], "both", {key: ">"}, count=1, block=500
            )
            for (batch,) in read.values() if read else ():
                for entry, fields in batch:
                    turn += 1
                    await pair[turn % 2].handle([Entry(key, entry.decode(), fields)])

    async with working(bed):
        await world.refresh()
        deciders = [asyncio.create_task(decide_alternately(p)) for p in range(PARTITIONS)]
        ids = [await bed.submit(literal_task(6)) for _ in range(10)]
        try:
            await wait_until(lambda: bed.ended(*ids))
        finally:
            await end(*deciders)
    for chain_id in ids:
        assert (await bed.chain(chain_id)).status is ChainStatus.COMPLETED
        assert [kind for kind, _ in await bed.log(chain_id)] == ["task.submitted"] + [
            "tool.completed"
        ] * 6


async def owners(bed: Bed) -> list[bytes | None]:
    return [await bed.redis.get(bed.topology.key(p, "owner")) for p in range(PARTITIONS)]


async def test_executors_share_the_partitions_and_hand_them_over(bed: Bed) -> None:
    async def shares(*expected: int) -> bool:
        held = Counter(owner for owner in await owners(bed) if owner)
        return sorted(held.values()) == sorted(expected)

    async with working(bed), executing(bed):
        await wait_until(lambda: shares(4))
        async with executing(bed):
            await wait_until(lambda: shares(2, 2))
            ids = [await bed.submit(literal_task(5)) for _ in range(50)]
            await wait_until(lambda: bed.ended(*ids))
        ids += [await bed.submit(literal_task(5)) for _ in range(50)]
        await wait_until(lambda: bed.ended(*ids))
        await wait_until(lambda: shares(4))
    assert await owners(bed) == [None] * PARTITIONS, "given up at once"
    assert {(await bed.chain(chain_id)).status for chain_id in ids} == {ChainStatus.COMPLETED}


async def test_a_partition_whose_reader_did_not_start_is_tried_again(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    subscribe, refused = Service.subscribe, iter(range(2))

    def subscribe_at_last(here: Service, *about: Any, **how: Any) -> Subscription:
        if next(refused, None) is not None:
            raise ConnectionError("the server went away just now")
        return subscribe(here, *about, **how)

    monkeypatch.setattr(Service, "subscribe", subscribe_at_last)
    async with executing(bed), working(bed):
        ids = [await bed.submit(literal_task(1)) for _ in range(20)]
        await wait_until(lambda: bed.ended(*ids))
    assert {bed.topology.partition(chain_id) for chain_id in ids} == set(range(PARTITIONS))
