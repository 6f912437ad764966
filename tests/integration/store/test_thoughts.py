"""hp3_record_thought and hp3_rest_thought: a thought is recorded once, and the executor hears of it
once (R2); one that its model cannot have now is asked for again.
"""

import time

import msgspec

from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.events import PlanDrafted
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint.runtime.store.chain_reader import ChainReader
from haltpoint.runtime.store.receipts import Lease, Recorded, Rest, Rested
from haltpoint.runtime.store.rows import Key, Part, local
from haltpoint.runtime.streams.topology import EntryRef
from tests.support import wait_until
from tests.support.builders import line_plan
from tests.support.desk import Desk


async def asked(desk: Desk) -> tuple[EntryRef, PlanDrafted]:
    """A chain that waits for its plan: the planner's entry, and a reply to it."""
    chain_id = await desk.submit(Task(goal="write a note"))
    await desk.decide_all()
    ((ref, request),) = await desk.read(Stream.PLANS)
    thought = request.message.id
    drafted = PlanDrafted.Data(thought_id=thought, plan=line_plan(2, text="hello ☎"))
    return ref, PlanDrafted(
        id=f"{thought}/reply", source="haltpoint/planner", subject=chain_id, data=drafted
    )


async def test_a_thought_is_recorded_with_its_words_and_told(desk: Desk) -> None:
    ref, reply = await asked(desk)
    assert (
        await desk.receipt_store.record_thought(ref, reply, raw="I think \ud800 so", own=b"{}")
        is Recorded.RECORDED
    )
    assert await desk.messages() == [reply]
    assert await desk.backlog(Stream.PLANS) == 0
    kept = await desk.stored.thought(reply.data.thought_id)
    assert kept is not None
    assert (kept.type, kept.raw) == ("plan.drafted.v1", "I think ? so")
    assert msgspec.json.decode(kept.data, type=PlanDrafted.Data) == reply.data
    reader = ChainReader(desk.calls, desk.topology)
    field = f"{local(reply.data.thought_id)}.{Part.OWN}"
    assert field in await reader.data(reply.subject)
    assert await reader.data(reply.subject, field) == {field: "{}"}


async def test_a_planner_keeps_and_hands_back_what_it_thinks_about(desk: Desk) -> None:
    ref, _ = await asked(desk)
    assert await desk.receipt_store.heartbeat([Lease(ref)]) == [True]
    assert await desk.receipt_store.release(Lease(ref)) is True
    assert await desk.receipt_store.heartbeat([Lease(ref)]) == [False]
    ((again, _),) = await desk.read(Stream.PLANS, consumer="two")
    assert again != ref


def question(thought: str, seconds: float = 60.0) -> ThoughtRequest:
    deadline = round((time.time() + seconds) * 1000)
    return ThoughtRequest(thought_id=thought, kind=ThoughtKind.PLAN, deadline=deadline)


REST = Rest("HP-302", 'it says "no"', after=0.0, longest=1.0, shortest=0.05)


async def test_a_thought_that_rests_is_asked_for_again_when_its_time_has_come(desk: Desk) -> None:
    ref, reply = await asked(desk)
    request = question(reply.data.thought_id)
    for _ in range(2):  # a reply that was lost is asked for again
        assert await desk.receipt_store.rest_thought(ref, request, REST) is Rested.RESTING
    assert await desk.backlog(Stream.PLANS) == 0

    async def back() -> bool:
        await desk.store.fire_due(ref.partition)
        return await desk.backlog(Stream.PLANS) == 1

    await wait_until(back)
    ((again, message),) = await desk.read(Stream.PLANS)
    assert again != ref
    assert message.message.id == reply.data.thought_id
    assert await desk.receipt_store.record_thought(again, reply) is Recorded.RECORDED
    await desk.store.fire_due(ref.partition)
    assert await desk.backlog(Stream.PLANS) == 0
    stored = await ChainReader(desk.calls, desk.topology).data(reply.subject)
    assert not [name for name in stored if name.endswith(f".{Part.REST}")]


async def test_a_thought_without_time_is_handed_back_to_its_planner(desk: Desk) -> None:
    ref, reply = await asked(desk)
    request = question(reply.data.thought_id, seconds=0.5)
    assert await desk.receipt_store.rest_thought(ref, request, REST) is Rested.LATE
    assert await desk.backlog(Stream.PLANS) == 1
    assert await desk.receipt_store.record_thought(ref, reply) is Recorded.RECORDED
    assert await desk.receipt_store.rest_thought(ref, request, REST) is Rested.FINAL


async def test_a_thought_that_rests_is_forgotten_with_its_chain(desk: Desk) -> None:
    ref, reply = await asked(desk)
    rested = await desk.receipt_store.rest_thought(ref, question(reply.data.thought_id), REST)
    assert rested is Rested.RESTING
    await desk.redis.hset(desk.topology.key_of(Key.CHAIN, reply.subject), "status", "cancelled")
    resting = desk.topology.key(ref.partition, "resting")

    async def gone() -> bool:
        await desk.store.fire_due(ref.partition)
        return not await desk.redis.zcard(resting)

    await wait_until(gone)
    assert await desk.backlog(Stream.PLANS) == 0
