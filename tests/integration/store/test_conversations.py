"""C15: what was said before in a conversation comes along with its next task, bounded, and to
nobody else.
"""

import json
import time
from typing import Any

import msgspec
import pytest

from haltpoint.contracts.work.tasks import Earlier, Task
from haltpoint.runtime.config.settings import LimitSettings
from haltpoint.runtime.store.conversations import MOST, ROOM
from haltpoint.runtime.store.rows import Data, Key
from haltpoint.runtime.store.store import Store, Submitted
from haltpoint.runtime.streams.topology import Topology
from tests.support.desk import Desk

TOPOLOGY = Topology(4)


@pytest.fixture
def store(desk: Desk) -> Store:
    return Store(desk.calls, TOPOLOGY, LimitSettings(retention=1000))


async def accept(store: Store, task: Task) -> Submitted:
    """Submit a task in a millisecond of its own: those of one millisecond have no order."""
    before = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 == before:
        pass  # the server's clock is this machine's
    return await store.submit(task)


async def said(store: Store, goal: str, conversation: str | None = "c1", **more: Any) -> str:
    return (await accept(store, Task(goal=goal, conversation_id=conversation, **more))).chain_id


async def end(desk: Desk, chain: str, **ended: Any) -> None:
    await desk.redis.hset(TOPOLOGY.key_of(Key.DATA, chain), Data.END, json.dumps(ended))


async def earlier(desk: Desk, chain: str) -> tuple[Earlier, ...]:
    stored = await desk.redis.hget(TOPOLOGY.key_of(Key.DATA, chain), Data.TASK)
    return msgspec.json.decode(stored or b"", type=Task).handed.earlier


async def goals(desk: Desk, chain: str) -> list[str]:
    return [one.goal for one in await earlier(desk, chain)]


async def test_c15_a_task_gets_the_goals_and_answers_before_it_the_oldest_first(
    desk: Desk, store: Store
) -> None:
    first = await said(store, "Find John", user="ann")
    await end(desk, first, answer="John is u1.", error=None)
    second = await said(store, "Find Jane", user="bob")
    await end(desk, second, answer=None, error={"code": "HP-204", "message": "no contact matches"})
    third = await said(store, "Write to them", user="ann")
    assert await earlier(desk, third) == (
        Earlier(chain_id=first, goal="Find John", user="ann", answer="John is u1."),
        Earlier(
            chain_id=second, goal="Find Jane", user="bob", answer="It failed: no contact matches"
        ),
    )
    fourth = await said(store, "And now?")
    assert (await earlier(desk, fourth))[-1] == Earlier(
        chain_id=third, goal="Write to them", user="ann", answer=""
    )
    assert await earlier(desk, first) == ()


async def test_c15_nothing_of_a_conversation_reaches_another_one_or_another_tenant(
    desk: Desk, store: Store
) -> None:
    names: list[tuple[str | None, str | None]] = [
        (None, "c1"),
        ("", "c1"),
        ("null", "c1"),
        ("acme", "c1"),
        ("acme", "c2"),
        ("acm", "ec1"),
        ('acme","c1', "c1"),
        ("acme", None),
        ("c1", "acme"),
        ("ACME", "c1"),
        ("acme ", "c1"),
    ]
    for tenant, conversation in names:
        await said(store, f"said by {tenant} in {conversation}", conversation, tenant=tenant)
    for tenant, conversation in names:
        chain = await said(store, "next", conversation, tenant=tenant)
        own = [] if conversation is None else [f"said by {tenant} in {conversation}"]
        assert await goals(desk, chain) == own


async def test_c15_only_the_last_tasks_come_along_and_only_so_much_of_them(
    desk: Desk, store: Store
) -> None:
    for number in range(MOST + 3):
        await said(store, f"goal {number}")
    last = await said(store, "last")
    assert await goals(desk, last) == [f"goal {number}" for number in range(3, MOST + 3)]
    (key,) = await desk.redis.keys("*conversation*")
    assert (await desk.redis.zcard(key), 0 < await desk.redis.ttl(key) <= 1000) == (MOST, True)

    for number in range(4):
        await end(desk, await said(store, f"{number}{'g' * 9000}"), answer="a" * 9000)
    told = await earlier(desk, await said(store, "last"))
    assert [one.goal[0] for one in told] == ["3"]
    assert sum(len(one.goal) + len(one.answer) for one in told) <= ROOM
