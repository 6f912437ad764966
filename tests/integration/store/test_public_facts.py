"""Public facts in Redis: written with the chain's end, for a time, and never at a chain's cost."""

import json

from redis.asyncio import Redis

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.public_facts import ChainFailed
from tests.integration.store.test_commit import decided, heard
from tests.support.builders import literal_task
from tests.support.desk import Desk, desk_at


async def told(desk: Desk) -> list[JsonObject]:
    """What a program outside reads."""
    return [
        json.loads(fields[b"__data__"]) for _, fields in await desk.redis.xrange(desk.key("facts"))
    ]


async def test_the_end_of_a_chain_is_one_message_whose_data_is_an_object(desk: Desk) -> None:
    chain_id = await desk.submit(literal_task(2))
    await desk.decide_all()
    assert await told(desk) == []
    await desk.run()
    (fact,) = await told(desk)
    assert (fact["type"], fact["subject"]) == ("chain.completed.v1", chain_id)
    assert fact["data"] == {"chain_id": chain_id, "answer": '{"done":true}'}


async def test_facts_are_forgotten_by_age(redis: Redis) -> None:
    async with desk_at(redis, facts_age=0.001) as desk:
        for _ in range(150):
            await desk.submit()
            await desk.run()
        assert (
            0 < await redis.xlen(desk.key("facts")) < 150
        )  # MINID ~ drops whole nodes of 100 entries


async def test_without_an_age_there_are_none(redis: Redis) -> None:
    async with desk_at(redis, facts_age=0) as desk:
        await desk.submit()
        await desk.run()
        await quarantined(desk)
        assert await redis.exists(desk.key("facts")) == 0


async def test_a_chain_that_could_not_be_written_has_failed_for_programs_outside_too(
    desk: Desk,
) -> None:
    await desk.submit()
    await desk.run()
    chain_id = await quarantined(desk)
    fact = ChainFailed.model_validate((await told(desk))[-1])
    assert (fact.id, fact.data.chain_id, fact.data.code) == (
        f"{chain_id}/chain.failed",
        chain_id,
        "HP-002",
    )


async def test_what_others_make_of_the_stream_fails_no_chain(desk: Desk) -> None:
    await desk.redis.set(desk.key("facts"), "not a stream")
    chain_id = await desk.submit()
    await desk.run()
    assert (await desk.chain(chain_id)).status is ChainStatus.COMPLETED


async def quarantined(desk: Desk) -> str:
    """A chain that cannot be written."""
    chain_id = await desk.submit()
    entry, received = (await heard(desk))[chain_id]
    await desk.redis.set(desk.key("log", chain_id), "not a list")
    await desk.store.commit(0, [await decided(desk, chain_id, entry, received)])
    return chain_id
