"""hp3_submit: a chain begins whole, once (R1, R2)."""

import msgspec
import pytest
from redis.asyncio import Redis

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.base import Ingress, derived_chain_id
from haltpoint.contracts.events import TaskSubmitted
from haltpoint.contracts.work.tasks import Budget, Task
from haltpoint.runtime.store.store import SubmitStatus, foreign_chain_id, new_chain_id
from tests.support.builders import literal_task
from tests.support.desk import Desk, desk_at

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def test_a_chain_begins_with_everything_that_it_needs(desk: Desk) -> None:
    task = literal_task(2, text="hello")
    submitted = await desk.store.submit(task, trace=TRACE)
    assert submitted.status is SubmitStatus.CREATED
    found = (await desk.store.load([submitted.chain_id]))[submitted.chain_id]
    assert found.chain.task == task
    assert found.chain.status is ChainStatus.ACCEPTED
    assert found.chain.created_at == submitted.at
    assert found.trace == TRACE
    (message,) = await desk.messages()
    assert isinstance(message, TaskSubmitted)
    assert message.subject == submitted.chain_id
    assert message.traceparent == TRACE
    assert await desk.redis.zscore(desk.key("timers"), submitted.chain_id) == found.chain.deadline
    assert (
        await desk.redis.zscore(desk.key("index", "status", "accepted"), submitted.chain_id)
        == submitted.at
    )


async def test_r2_the_same_body_again_finds_its_chain_and_changes_nothing(desk: Desk) -> None:
    chain = new_chain_id()
    await desk.submit(literal_task(), chain_id=chain)
    before = await desk.snapshot()
    again = await desk.store.submit(literal_task(), chain_id=chain)
    assert (again.status, again.chain_id) == (SubmitStatus.AGAIN, chain)
    assert await desk.snapshot() == before


async def test_r2_another_body_under_the_same_id_is_a_conflict(desk: Desk) -> None:
    chain = await desk.submit()
    before = await desk.snapshot()
    other = await desk.store.submit(literal_task(2), chain_id=chain)
    assert other.status is SubmitStatus.CONFLICT
    assert await desk.snapshot() == before


async def test_above_the_backlog_limit_nothing_is_accepted(redis: Redis) -> None:
    async with desk_at(redis, backlog_limit=2) as desk:
        statuses = [(await desk.store.submit(literal_task())).status for _ in range(3)]
        assert statuses == [SubmitStatus.CREATED, SubmitStatus.CREATED, SubmitStatus.BUSY]
        assert await desk.redis.zcard(desk.key("timers")) == 2


@pytest.mark.parametrize(
    ("task", "seconds"),
    [
        (Task(goal="x"), 600.0),
        (Task(goal="x", budget=Budget(seconds=5)), 5.0),
        (Task(goal="x", budget=Budget(seconds=900)), 600.0),
    ],
)
async def test_the_deadline_is_the_earliest_of_policy_and_budget(
    redis: Redis, task: Task, seconds: float
) -> None:
    async with desk_at(redis, chain_deadline=600.0) as desk:
        submitted = await desk.store.submit(task)
        assert (await desk.chain(submitted.chain_id)).deadline == submitted.at + seconds * 1000


def test_a_foreign_task_is_found_by_source_and_id_and_tenant() -> None:
    message = TaskSubmitted(id="order-17", source="shop", data=Task(goal="Tell John I am late"))
    assert foreign_chain_id(message) == derived_chain_id(Ingress.STREAM, None, "shop", "order-17")
    tenants = msgspec.structs.replace(message, data=Task(goal="Tell John I am late", tenant="acme"))
    assert foreign_chain_id(tenants) != foreign_chain_id(message)


def test_r2_a_task_from_a_stream_finds_no_chain_of_a_key_over_http_or_of_another_source() -> None:
    """Neither by a source that is called as a tenant, nor by separators in names."""
    ids = [
        derived_chain_id(Ingress.HTTP, "shop", "order-17"),
        derived_chain_id(Ingress.HTTP, None, "order-17"),
        derived_chain_id(Ingress.HTTP, None, "shop", "order-17"),
        *(
            foreign_chain_id(
                TaskSubmitted(id=key, source=source, data=Task(goal="x", tenant=tenant))
            )
            for tenant, source, key in (
                (None, "shop", "order-17"),
                ("shop", "order", "17"),
                (None, "shop\x00order", "17"),
                (None, "shop", "order\x0017"),
                ("shop\x00order", "x", "17"),
                ("shop", "order\x00x", "17"),
            )
        ),
    ]
    assert len(set(ids)) == len(ids)


def test_ids_of_chains_are_uuid7_in_order() -> None:
    ids = [new_chain_id() for _ in range(50)]
    assert all(len(one) == 32 and one[12] == "7" for one in ids)
    assert [one[:12] for one in ids] == sorted(one[:12] for one in ids)
