"""hp3_record_thought: a thought is recorded once, and the executor hears of it once (R2)."""

import msgspec

from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.events import PlanDrafted
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store.chain_reader import ChainReader
from haltpoint.runtime.store.receipts import Lease, Recorded
from haltpoint.runtime.store.rows import Part, local
from haltpoint.runtime.streams.topology import EntryRef
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
    assert field in await reader.names(reply.subject)
    assert await reader.data(reply.subject, field) == {field.encode(): b"{}"}


async def test_a_planner_keeps_and_hands_back_what_it_thinks_about(desk: Desk) -> None:
    ref, _ = await asked(desk)
    assert await desk.receipt_store.heartbeat([Lease(ref)]) == [True]
    assert await desk.receipt_store.release(Lease(ref)) is True
    assert await desk.receipt_store.heartbeat([Lease(ref)]) == [False]
    ((again, _),) = await desk.read(Stream.PLANS, consumer="two")
    assert again != ref
