"""Parent and child in the real functions: begun, reported and cancelled with the commit that says
so, or not at all.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from haltpoint.chain.checks.core_tools import with_skills
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.events import MessageLost, ToolCompleted
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store.store import CommitStatus
from haltpoint.runtime.streams.connection import Argument
from haltpoint.runtime.streams.topology import PREFIX
from tests.support.builders import asks, call, literal_task, plan, tool_step
from tests.support.desk import LOOKUP, NOTE, SEND, Desk

TELL = ToolSpec(
    name="tell",
    kind=ToolKind.SKILL,
    may_clarify=True,
    parameters={"type": "object", "properties": {"who": {"type": "string"}}},
    plan=plan(
        tool_step("find", call("lookup", query={"$from": "input.who"})),
        tool_step("note", call("note", text={"$from": "find.data.id"}), after=("find",)),
    ),
)


ABOVE = msgspec.structs.replace(
    TELL,
    name="above",
    plan=plan(
        tool_step("a", call("tell", who={"$from": "input.who"})),
        tool_step("b", call("lookup"), after=("a",)),
    ),
)


@pytest.fixture
def desk(desk: Desk) -> Desk:
    desk.tools = with_skills({one.name: one for one in (NOTE, SEND, LOOKUP, TELL, ABOVE)})
    return desk


async def called(desk: Desk) -> tuple[str, str]:
    """A parent whose one step is the skill, and the child that has asked for its first action."""
    parent = await desk.submit(
        msgspec.structs.replace(literal_task(1, "tell", who="John"), tenant="t"), trace="00-a-b-01"
    )
    await desk.decide_all()
    child = f"{parent}~s1-1"
    await desk.decide_all()
    return parent, child


async def receipt(desk: Desk, parent: str) -> JsonObject:
    action = await desk.action(f"{parent}.s1.1")
    assert action.row.entry == "-", "no worker is asked"
    return json.loads(action.receipt.outcome) if action.receipt else {}


async def test_a_child_is_a_whole_chain_of_its_own_and_its_end_is_the_parents_receipt(
    desk: Desk,
) -> None:
    parent, child = await called(desk)
    one = await desk.chain(child)
    above = await desk.chain(parent)
    assert (one.status, one.deadline, one.task.tenant) == (
        ChainStatus.EXECUTING,
        above.deadline,
        "t",
    )
    assert above.actions[f"{parent}.s1.1"].child == child
    assert await desk.redis.zscore(desk.key("timers"), child) == one.deadline
    (order,) = await desk.orders()
    assert order.data.tenant == "t"
    await desk.finish(order, data='{"id":"john"}')
    await desk.run()
    for name in (parent, child):
        assert (await desk.chain(name)).status is ChainStatus.COMPLETED
        assert await desk.redis.zscore(desk.key("timers"), name) is None
        assert await desk.redis.llen(desk.key("log", name)) >= 2
        assert await desk.redis.ttl(desk.key("log", name)) > 0
    for key in await desk.redis.keys(f"*{parent}*"):
        assert await desk.redis.ttl(key) > 0, key
    ends = [
        json.loads(fields[b"__data__"])["subject"]
        for _, fields in await desk.redis.xrange(desk.key("facts"))
    ]
    assert ends == [parent]
    told = await receipt(desk, parent)
    assert (told["success"], told["metadata"]["action_id"]) == (True, f"{parent}.s1.1")
    assert (await desk.chain(parent)).end.answer == '{"done":true}'
    assert await desk.is_idle()


async def test_f1_what_succeeded_inside_of_a_skill_is_known_to_whoever_reads_the_chain_anew(
    desk: Desk,
) -> None:
    """A literal chain lets go of its receipts; which tools had one, also below it, stays in what
    its end says.
    """
    parent = await desk.submit(literal_task(1, "above", who="John"))
    while await desk.decide_all():
        pass
    (order,) = await desk.orders()
    await desk.finish(order, data='{"id":"john"}')
    await desk.run()

    assert (await receipt(desk, parent))["metadata"]["below"]["nested_successes"] == [
        "lookup",
        "note",
        "tell",
    ]


async def test_what_ends_the_parent_cancels_the_child_and_its_word_comes_too_late(
    desk: Desk,
) -> None:
    parent, child = await called(desk)
    (order,) = await desk.orders()
    await desk.finish(order, asks("a", "b"))
    await desk.decide_all()
    await desk.cancel(parent)
    await desk.run()
    for name in (parent, child):
        assert (await desk.chain(name)).status is ChainStatus.CANCELLED
    assert await desk.stored.head(child, "r1") == "withdrawn"
    assert (await receipt(desk, parent))["error"]["error_type"] == "DENIED"
    assert await desk.is_idle()


async def test_a_commit_that_is_sent_again_begins_and_reports_nothing_twice(desk: Desk) -> None:
    sent: list[tuple[Argument, ...]] = []
    call_through = desk.calls.call

    def overheard(*args: Argument, read: Callable[[Any], Any] | None = None) -> asyncio.Future[Any]:
        sent.append(args)
        return call_through(*args, read=read)

    desk.calls.call = overheard  # type: ignore[method-assign]

    async def again() -> None:
        """Every commit so far once more: each finds its own version, or a newer one, and writes
        nothing.
        """
        before = await desk.snapshot()
        for args in [one for one in sent if one[1] == f"{PREFIX}commit"]:
            await call_through(*args)
        assert await desk.snapshot() == before

    parent, child = await called(desk)
    await again()
    (order,) = await desk.orders()
    await desk.finish(order, data='{"id":"john"}')
    while await desk.decide_all():
        await again()
    await desk.work_all()
    while await desk.decide_all():
        await again()
    assert {(await desk.chain(name)).status for name in (parent, child)} == {ChainStatus.COMPLETED}


async def test_a_chain_that_is_not_the_actions_child_cannot_report_for_it(desk: Desk) -> None:
    parent, child = await called(desk)
    await desk.redis.hset(desk.key("chain", parent), "s1.1", "1-1 0 1 0 sent -")
    await desk.cancel(child)
    await desk.decide_all()
    assert (await desk.chain(child)).status is ChainStatus.CANCELLED
    assert (await desk.action(f"{parent}.s1.1")).receipt is None
    assert [one for one in await desk.messages() if isinstance(one, ToolCompleted)] == []


async def test_a_child_that_cannot_be_written_ends_its_parent_too(desk: Desk) -> None:
    parent, child = await called(desk)
    (order,) = await desk.orders()
    await desk.finish(order, data='{"id":"john"}')
    await desk.redis.delete(desk.key("log", child))
    await desk.redis.set(desk.key("log", child), "no list")
    await desk.decide_all()
    assert desk.commits[-1] is CommitStatus.QUARANTINED
    (lost,) = [one for one in await desk.messages() if isinstance(one, MessageLost)]
    assert (lost.subject, lost.data.message_id) == (parent, f"{parent}.s1.1/child/done")
    await desk.decide_all()
    ended = await desk.chain(parent)
    assert ended.status is ChainStatus.FAILED
    assert ended.end.error is not None
    assert ended.end.error.code == "HP-211"


async def test_a_parent_that_cannot_be_written_takes_its_children_with_it(desk: Desk) -> None:
    steps = plan(*(tool_step(one, call("tell", who=one)) for one in ("John", "Jane")))
    parent = await desk.submit(Task(goal="Tell both", plan=steps, parallel=2))
    await desk.decide_all()
    await desk.decide_all()
    for order in await desk.orders():
        await desk.finish(order, asks("a", "b"))
    await desk.decide_all()
    await desk.redis.delete(desk.key("log", parent))
    await desk.redis.set(desk.key("log", parent), "no list")
    await desk.cancel(parent)
    await desk.decide_all()
    assert desk.commits[-1] is CommitStatus.QUARANTINED
    await desk.run()
    children = [await desk.chain(f"{parent}~{one}-1") for one in ("John", "Jane")]
    assert [one.status for one in children] == [ChainStatus.CANCELLED] * 2
    assert await desk.backlog(Stream.EVENTS) == 0
