"""Tasks in and facts out, as a user of FastStream does it, against a real server and an executor in
this process.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from faststream import FastStream, TestApp
from faststream.redis import RedisBroker, TestRedisBroker

from haltpoint.contracts.base import JsonObject
from haltpoint.faststream import (
    ChainCompleted,
    ChainFailed,
    PublicFact,
    RequestOpened,
    TaskPublisher,
    TaskSubmitted,
    facts,
    stream_of,
)
from tests.integration.deciding import PARTITIONS, Bed, executing, working
from tests.support import wait_until
from tests.support.builders import literal_task

PLAN: Any = msgspec.to_builtins(literal_task(2, text="hi").plan)


@asynccontextmanager
async def serving(app: FastStream) -> AsyncIterator[None]:
    """The app from ready to stopped, as `faststream run` does it."""
    await app.start()
    try:
        yield
    finally:
        await app.stop()


async def test_a_task_starts_one_chain_in_whatever_format_it_comes(bed: Bed) -> None:
    task = TaskSubmitted.model_validate(
        {"id": "order-17", "source": "shop", "data": {"plan": PLAN}}
    )
    plain = task.model_dump_json()
    async with (
        RedisBroker(bed.url) as broker,
        executing(bed),
        working(bed),
    ):
        await broker.publish(task, stream=stream_of(task))
        await broker.publish(task, stream=stream_of(task, PARTITIONS))
        await bed.redis.xadd(stream_of(task), {"__data__": plain})

        async def done() -> bool:
            return await bed.backlog() == 0 and await bed.ended(task.chain_id)

        await wait_until(done)
    chains = [key async for key in bed.redis.scan_iter("hp:*:chain:*")]
    assert (chains, await bed.dead()) == (
        [bed.topology.key_of("chain", task.chain_id).encode()],
        [],
    )


@pytest.mark.parametrize("is_binary", [True, False])
async def test_a_bare_body_is_a_task_and_what_is_none_is_a_dead_letter_that_says_why(
    bed: Bed, is_binary: bool
) -> None:
    async with (
        RedisBroker(bed.url) as broker,
        executing(bed),
        working(bed),
    ):
        bodies: list[JsonObject] = [{"plan": PLAN}, {"gaol": "Tell John"}]
        for body in bodies:
            if is_binary:
                await broker.publish(body, stream="hp:{0}:events")
            else:
                await bed.redis.xadd("hp:{0}:events", {"__data__": json.dumps(body)})

        async def done() -> bool:
            keys = [key async for key in bed.redis.scan_iter("hp:*:chain:*")]
            names = [key.decode().rpartition(":")[2] for key in keys]
            return bool(await bed.dead()) and bool(names) and await bed.ended(*names)

        await wait_until(done)
    (letter,) = await bed.dead()
    assert letter[b"reason"] == b"bad_fields"
    assert b"data.gaol: no such field" in letter[b"detail"]


async def test_facts_from_before_the_group_and_after_it_reach_one_handler(bed: Bed) -> None:
    broker = RedisBroker(bed.url)
    app = FastStream(broker)
    tasks = TaskPublisher(broker, source="shop")
    heard: list[ChainCompleted | ChainFailed] = []

    @facts(app, "chain.completed", "chain.failed", group="shop")
    async def on_fact(fact: ChainCompleted | ChainFailed) -> None:
        heard.append(fact)

    async with executing(bed), working(bed):
        early = [await bed.submit(literal_task(1, text="hi")) for _ in range(8)]
        await wait_until(lambda: bed.ended(*early))
        async with serving(app):
            late = await tasks.publish(
                id="order-17", plan=PLAN, tenant="acme", conversation_id="c1"
            )
            failed = await tasks.publish(
                id="order-18", plan={"steps": [{"id": "a", "actions": [{"tool": "no"}]}]}
            )

            async def all_heard() -> bool:
                return {one.subject for one in heard} == {*early, late, failed}

            await wait_until(all_heard)

            async def acknowledged() -> bool:
                keys = [bed.topology.key(p, "facts") for p in range(PARTITIONS)]
                groups = [group for key in keys for group in await bed.redis.xinfo_groups(key)]
                return all((group["pending"], group["lag"]) == (0, 0) for group in groups)

            await wait_until(acknowledged)
    assert len(heard) == 10
    told = {one.subject: one for one in heard}
    good, bad = told[late], told[failed]
    assert isinstance(good, ChainCompleted)
    assert isinstance(bad, ChainFailed)
    assert good.id == f"{late}/chain.completed"
    assert (good.data.tenant, good.data.conversation_id, good.data.answer) == (
        "acme",
        "c1",
        '{"text":"hi"}',
    )
    assert "no" in bad.data.message


async def test_a_fact_whose_handler_fails_comes_again(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("haltpoint.faststream._AGAIN", 50)
    app = FastStream(RedisBroker(bed.url))
    heard: list[str] = []

    @facts(app, group="shop")
    async def on_fact(fact: PublicFact) -> None:
        heard.append(fact.id)
        if len(heard) == 1:
            raise ConnectionError("the shop's database is away")

    async with executing(bed), working(bed), serving(app):
        chain = await bed.submit(literal_task(1))

        async def twice() -> bool:
            return heard == [f"{chain}/chain.completed"] * 2

        await wait_until(twice)


async def test_a_handler_is_tested_without_a_server_as_any_of_faststream() -> None:
    app = FastStream(broker := RedisBroker())
    heard: list[RequestOpened] = []

    @facts(app, "request.opened", group="shop")
    async def on_fact(fact: RequestOpened) -> None:
        heard.append(fact)

    data = {
        "chain_id": "c",
        "request_id": "c.r1",
        "kind": "clarification",
        "question": "Which John?",
        "deadline": 1,
    }
    fact: JsonObject = {
        "id": "c.r1/request.opened",
        "source": "test",
        "subject": "c",
        "type": "request.opened.v1",
        "data": data,
    }
    async with TestRedisBroker(broker, connect_only=True), TestApp(app):
        await broker.publish(fact, stream="hp:{3}:facts")
        await broker.publish(fact | {"type": "request.expired.v1"}, stream="hp:{3}:facts")
    assert [one.data.question for one in heard] == ["Which John?"]
