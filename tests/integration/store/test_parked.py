"""R11: a living chain has something under way, an open question or a timer. A chain that has lost
that is found within about a minute, and goes on or ends with a code. A chain that lives is never
told that something is lost.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, Final

import pytest

from haltpoint.chain.model.statuses import ChainStatus, Code
from haltpoint.contracts.base import chain_of
from haltpoint.contracts.catalogue import GROUP, Stream
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.events import ActionProposed, AnswerDrafted, MessageLost, PlanDrafted
from haltpoint.contracts.people.humans import Answer, RequestKind
from haltpoint.contracts.results import ErrorInfo, ErrorType
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import Proposal, ThoughtKind
from haltpoint.runtime.store.committing import Loaded
from haltpoint.runtime.store.dead_letters import Orphan
from haltpoint.runtime.store.inbox import Verdict
from haltpoint.runtime.store.receipts import Completion, Lease, Rest, Rested
from haltpoint.runtime.store.store import Store
from haltpoint.runtime.streams.topology import EntryRef
from haltpoint.runtime.streams.wire import DeadLetterReason, Decoded, decode
from tests.support.builders import (
    OK,
    asks,
    call,
    failed,
    fails_with,
    line_plan,
    literal_task,
    plan,
    tool_step,
)
from tests.support.desk import Desk, Order

JOHN: Final = Answer(kind=RequestKind.CLARIFICATION, option_id="a")
HELD_BACK: Final = fails_with(ErrorInfo(ErrorType.RATE_LIMIT, "5/h", retry_after=40.0), limit="5/h")
AWAY: Final = Rest("HP-301", "away", after=7200, longest=7200)
SKILL: Final = ToolSpec(
    name="skill", kind=ToolKind.SKILL, plan=plan(tool_step("find", call("lookup")))
)


@pytest.fixture
def desk(desk: Desk) -> Desk:
    desk.tools["skill"] = SKILL
    desk.tools["far"] = ToolSpec(name="far", queue="slow", read_only=True)
    return desk


async def look_round(desk: Desk) -> None:
    """A time in which nothing changes, and what the looks of an executor find then."""
    await desk.later(31)
    place = await desk.store.move_parked(0, 0)
    assert place == 0


async def empty(desk: Desk, stream: Stream, queue: str = "") -> None:
    """Remove what is in a stream, as no part of Haltpoint does."""
    assert await desk.redis.xtrim(desk.topology.stream(0, stream, queue), maxlen=0)


async def ended(desk: Desk, chain_id: str) -> str | None:
    """How the chain ends: its code, or nothing when it completes."""
    await desk.run()
    chain = await desk.chain(chain_id)
    assert chain.status.final
    error = chain.end.error
    return None if error is None else error.code


# ---- what was removed
# --------------------------------------------------------------------------------------------------


async def its_first_message(desk: Desk) -> str:
    chain_id = await desk.submit()
    await empty(desk, Stream.EVENTS)
    return chain_id


async def its_order(desk: Desk) -> str:
    chain_id = await desk.submit(literal_task(1, "send"))
    await desk.decide_all()
    await empty(desk, Stream.TOOLS, "default")
    return chain_id


async def the_order_of_a_call_that_was_started(desk: Desk) -> str:
    order = await desk.order_of(literal_task(1, "send"))
    await desk.claim(order)
    await empty(desk, Stream.TOOLS, "default")
    queue = desk.topology.stream(0, Stream.TOOLS, "default")
    assert await desk.redis.xack(queue, GROUP[Stream.TOOLS], order.ref.entry)
    return order.chain


async def its_thought(desk: Desk) -> str:
    chain_id = await desk.submit(Task(goal="write a note"))
    await desk.decide_all()
    await empty(desk, Stream.PLANS)
    return chain_id


async def its_child(desk: Desk) -> str:
    chain_id = await desk.submit(literal_task(1, "skill"))
    await desk.decide_all()
    await desk.redis.delete(desk.key("chain", f"{chain_id}~s1-1"))
    await empty(desk, Stream.EVENTS)
    return chain_id


@pytest.mark.parametrize(
    "lose",
    [its_first_message, its_order, the_order_of_a_call_that_was_started, its_thought, its_child],
)
async def test_r11_a_chain_whose_message_is_gone_ends_with_a_code(
    desk: Desk, lose: Callable[[Desk], Awaitable[str]]
) -> None:
    chain_id = await lose(desk)
    await look_round(desk)
    assert await ended(desk, chain_id) == Code.MESSAGE_LOST


async def test_r11_no_number_of_dead_letters_ends_the_search(desk: Desk) -> None:
    chain_id = await its_order(desk)
    letter = {"stream": "events", "entry": "1-1", "reason": "poison", "detail": "d" * 100_000}
    for _ in range(400):  # 40 MB
        await desk.redis.xadd(desk.key("dead"), {**letter, "chain": "", "id": "", "at": "1"})
    await look_round(desk)
    assert await ended(desk, chain_id) == Code.MESSAGE_LOST


async def test_r4_what_was_started_is_in_doubt_then(desk: Desk) -> None:
    chain_id = await the_order_of_a_call_that_was_started(desk)
    await look_round(desk)
    await desk.decide_all()
    action = await desk.action(f"{chain_id}.s1.1")
    assert action.resolution is not None
    assert ErrorType.IN_DOUBT in action.resolution.outcome


async def its_result(desk: Desk) -> str:
    order = await desk.order_of(literal_task(2))
    await desk.finish(order)
    await empty(desk, Stream.EVENTS)
    return order.chain


async def its_answer(desk: Desk) -> str:
    chain_id = await a_question(desk)
    assert await desk.answer(f"{chain_id}.r1", JOHN, 'ann "a" ☎') is Verdict.TAKEN
    await empty(desk, Stream.EVENTS)
    return chain_id


async def a_late_result_that_settles_a_doubt(desk: Desk) -> str:
    order = await desk.order_of(literal_task(1, "send"))
    started, found = await desk.claim(order), await desk.claim(order)
    await desk.finish(order, failed(ErrorType.IN_DOUBT), epoch=found.epoch)
    await desk.decide_all()
    late = await desk.finish(order, OK, epoch=started.epoch, token=started.token)
    assert late is Completion.RECORDED
    await empty(desk, Stream.EVENTS)
    return order.chain


async def the_report_of_a_child(desk: Desk) -> str:
    chain_id = await desk.submit(literal_task(1, "skill"))
    while not (
        await desk.messages() and await desk.redis.hget(desk.key("data", chain_id), "s1.1.receipt")
    ):
        await desk.decide_all()
        await desk.work_all()
    await empty(desk, Stream.EVENTS)
    return chain_id


@pytest.mark.parametrize(
    "lose", [its_result, its_answer, a_late_result_that_settles_a_doubt, the_report_of_a_child]
)
async def test_r11_what_is_on_record_is_told_again(
    desk: Desk, lose: Callable[[Desk], Awaitable[str]]
) -> None:
    chain_id = await lose(desk)
    await look_round(desk)
    assert await ended(desk, chain_id) is None


async def test_r1_a_chain_without_a_timer_gets_one(desk: Desk) -> None:
    chain_id = await a_question(desk)
    await desk.redis.zrem(desk.key("timers"), chain_id)
    await look_round(desk)
    assert (await desk.store.fire_due(0)).count == 1
    await desk.decide_all()
    deadline = await desk.redis.zscore(desk.key("timers"), chain_id)
    assert deadline == (await desk.chain(chain_id)).requests[0].deadline


async def test_each_living_chain_is_looked_at_in_pages(desk: Desk) -> None:
    await desk.submit(Task(goal="write a note"))
    await desk.decide_all()  # in another state than the others
    chains = [await desk.submit() for _ in range(510)]
    await empty(desk, Stream.EVENTS)
    await desk.later(31)
    place = await desk.store.move_parked(0, 0)
    assert place == 500
    assert await desk.store.move_parked(0, place) == 0
    assert {message.subject for message in await desk.messages()} == set(chains)


# ---- what waits
# --------------------------------------------------------------------------------------------------


async def a_question(desk: Desk) -> str:
    order = await desk.order_of(literal_task(1, "lookup"))
    await desk.finish(order, asks("a", "b"))
    await desk.decide_all()
    return order.chain


async def a_call_in_its_queue(desk: Desk) -> str:
    return (await desk.order_of()).chain


async def a_call_that_a_worker_has(desk: Desk) -> str:
    order = await desk.order_of()
    await empty(desk, Stream.TOOLS, "default")
    return order.chain


async def a_call_of_a_release_that_noted_no_queues(desk: Desk) -> str:
    order = await desk.order_of()
    await desk.redis.delete(desk.key("sent"))
    return order.chain


async def a_call_that_was_handed_back(desk: Desk) -> str:
    """Its queue is known since then, from another release than dispatched it."""
    await desk.redis.xgroup_create(
        desk.key("tools:slow"), GROUP[Stream.TOOLS], id="0", mkstream=True
    )
    await desk.submit(literal_task(1, "far"))
    await desk.decide_all()
    (order,) = await desk.orders("slow")
    await desk.redis.delete(desk.key("sent"))
    await desk.order_of()  # it notes its own queue
    await desk.receipt_store.release(Lease(order.ref, order.action, 0))
    return order.chain


async def a_call_that_rests(desk: Desk) -> str:
    order = await desk.order_of()
    await desk.finish(order, HELD_BACK)
    await desk.decide_all()
    return order.chain


async def a_call_that_rests_until_the_deadline(desk: Desk) -> str:
    order = await desk.order_of()
    fault = ErrorInfo(ErrorType.RATE_LIMIT, "5/y", retry_after=10.0**7)
    await desk.finish(order, fails_with(fault, limit="5/y"))
    await desk.decide_all()
    return order.chain


async def a_chain_of_a_skill(desk: Desk) -> str:
    chain_id = await desk.submit(literal_task(1, "skill"))
    await desk.decide_all()
    await desk.decide_all()
    return chain_id


async def a_thought_under_way(desk: Desk) -> str:
    chain_id = await desk.submit(Task(goal="write a note"))
    await desk.decide_all()
    return chain_id


async def a_thought_that_rests(desk: Desk) -> str:
    chain_id = await a_thought_under_way(desk)
    ((ref, request),) = await desk.read(Stream.PLANS)
    rested = await desk.receipt_store.rest_thought(ref, request.message.data, AWAY)  # type: ignore[arg-type]
    assert rested is Rested.RESTING
    return chain_id


async def an_event(desk: Desk) -> str:
    return await desk.submit()


async def a_letter_that_a_newer_release_reads(desk: Desk) -> str:
    order = await desk.order_of()
    about = Orphan(order.chain, order.action)
    await desk.letters.add(order.ref, DeadLetterReason.UNKNOWN_VERSION, about=about)
    return order.chain


@pytest.mark.parametrize(
    "wait",
    [
        a_call_in_its_queue,
        a_call_that_a_worker_has,
        a_call_of_a_release_that_noted_no_queues,
        a_call_that_was_handed_back,
        a_call_that_rests,
        a_call_that_rests_until_the_deadline,
        a_chain_of_a_skill,
        a_thought_under_way,
        a_thought_that_rests,
        a_question,
        an_event,
        a_letter_that_a_newer_release_reads,
    ],
)
async def test_r11_a_chain_that_waits_for_something_is_left_alone(
    desk: Desk, wait: Callable[[Desk], Awaitable[str]]
) -> None:
    await wait(desk)
    await desk.later(31)
    before = await desk.snapshot()
    await desk.store.move_parked(0, 0)
    assert await desk.snapshot() == before


# ---- while others go on
# --------------------------------------------------------------------------------------------------


def between(desk: Desk, step: Callable[[], Awaitable[object]]) -> None:
    """Let something happen after each look and before what it has found is told."""
    load = desk.store.load

    async def load_between(chain_ids: Sequence[str]) -> dict[str, Loaded]:
        await step()
        loaded = await load(chain_ids)
        await step()
        return loaded

    desk.store.load = load_between  # type: ignore[method-assign]


async def test_r11_a_chain_whose_rest_ends_between_look_and_word_lives(desk: Desk) -> None:
    chain_id = await a_call_that_rests(desk)
    due = await desk.redis.zscore(desk.key("timers"), chain_id)
    deadline = (await desk.chain(chain_id)).deadline
    await desk.redis.zadd(desk.key("timers"), {chain_id: deadline})  # so that a look finds it
    decided = replace(desk, store=Store(desk.calls, desk.topology))

    async def rest_ends() -> None:
        await desk.redis.zadd(desk.key("timers"), {chain_id: due})
        await desk.later(60)
        await desk.store.fire_due(0)
        await decided.decide_all()

    between(desk, rest_ends)
    await look_round(desk)
    assert await decided.messages() == []
    assert (await decided.chain(chain_id)).actions[f"{chain_id}.s1.1"].attempt == 2
    assert await ended(decided, chain_id) is None


def reply_to(request: ThoughtRequest) -> PlanDrafted | ActionProposed | AnswerDrafted:
    """What a model says."""
    thought = request.thought_id
    about: dict[str, Any] = {
        "id": f"{thought}/reply",
        "source": "test",
        "subject": chain_of(thought),
    }
    match request.kind:
        case ThoughtKind.PLAN:
            plan = line_plan(1, "send")
            return PlanDrafted(data=PlanDrafted.Data(thought_id=thought, plan=plan), **about)
        case ThoughtKind.ACT:
            proposal = Proposal(calls=(call("send"),))
            data = ActionProposed.Data(thought_id=thought, step_id="s1", proposal=proposal)
            return ActionProposed(data=data, **about)
        case _:
            return AnswerDrafted(data=AnswerDrafted.Data(thought_id=thought, text="so"), **about)


class Town:
    """Chains of each kind, and a random turn of any service at a time."""

    def __init__(self, desk: Desk, seed: int) -> None:
        self.desk = desk
        self.random = Random(seed)
        self.orders: list[tuple[Order, int]] = []
        self.thoughts: list[tuple[EntryRef, Any]] = []
        self.chains: list[str] = []
        self.damaged: set[str] = set()

    async def turn(self) -> None:
        """Anything that may happen next."""
        often = (self.decides, self.works)
        turns = (*often, *often, self.thinks, self.answers, self.waits)
        await self.random.choice(turns)()

    async def turns(self, most: int) -> None:
        """Some of that."""
        for _ in range(self.random.randrange(most)):
            await self.turn()

    async def is_over(self) -> bool:
        """Whether all chains have ended."""
        heads = [self.desk.key("chain", chain) for chain in self.chains]
        states = [await self.desk.redis.hget(head, "status") for head in heads]
        return all(ChainStatus(state.decode()).final for state in states)

    async def removes(self) -> None:
        """What no part of Haltpoint does: a message goes."""
        streams = ((Stream.EVENTS, ""), (Stream.PLANS, ""), (Stream.TOOLS, "default"))
        stream, queue = self.random.choice(streams)
        key = self.desk.topology.stream(0, stream, queue)
        entries = await self.desk.redis.xrange(key)
        if entries:
            entry, fields = self.random.choice(entries)
            await self.desk.redis.xack(key, GROUP[stream], entry)
            await self.desk.redis.xdel(key, entry)
            decoded = decode(stream, fields)
            assert isinstance(decoded, Decoded)
            self.damaged.add(decoded.message.subject)

    async def submits(self) -> None:
        tasks = (
            literal_task(2, "send"),
            literal_task(2, "lookup"),
            literal_task(2),
            literal_task(1, "skill"),
            Task(goal="write a note"),
        )
        self.chains.append(await self.desk.submit(self.random.choice(tasks)))

    async def decides(self) -> None:
        await self.desk.decide_all()

    async def waits(self) -> None:
        await self.desk.later(self.random.choice((1, 20, 40)))
        await self.desk.store.fire_due(0)

    async def works(self) -> None:
        self.orders += [(order, 0) for order in await self.desk.orders()]
        if not self.orders:
            return
        order, epoch = self.orders.pop(self.random.randrange(len(self.orders)))
        end = self.random.random()
        if not order.data.repeatable and not epoch:
            self.orders.append((order, (await self.desk.claim(order)).epoch))
        elif end < 0.2 and order.data.repeatable:
            await self.desk.receipt_store.release(Lease(order.ref, order.action, epoch))
        elif end < 0.4:
            await self.desk.finish(order, HELD_BACK, epoch=epoch)
        elif end < 0.6 and order.data.tool == "lookup":
            await self.desk.finish(order, asks("a", "b"), epoch=epoch)
        else:
            await self.desk.finish(order, OK, epoch=epoch)

    async def thinks(self) -> None:
        read = await self.desk.read(Stream.PLANS)
        self.thoughts += [(ref, request.message.data) for ref, request in read]
        if not self.thoughts:
            return
        ref, request = self.thoughts.pop(self.random.randrange(len(self.thoughts)))
        end = self.random.random()
        store = self.desk.receipt_store
        if end < 0.3:
            await store.release(Lease(ref))
        elif end < 0.6:
            await store.rest_thought(ref, request, Rest("HP-301", "away", 30, 60))
        else:
            await store.record_thought(ref, reply_to(request), raw="", own=b"")

    async def answers(self) -> None:
        asked = await self.desk.redis.zrange(self.desk.key("index:requests"), 0, -1)
        if asked:
            await self.desk.answer(self.random.choice(asked).decode(), JOHN)


@pytest.mark.parametrize("seed", range(4))
async def test_r11_of_chains_that_live_none_is_told_and_all_end(desk: Desk, seed: int) -> None:
    town = Town(desk, seed)
    looking = replace(desk, store=Store(desk.calls, desk.topology))
    between(looking, partial(town.turns, 3))
    place = 0
    rounds = 0
    while rounds < 12 or not await town.is_over():
        if rounds < 12:
            await town.submits()
            await town.removes()
        await town.turns(12)
        await desk.later(31)
        place = await looking.store.move_parked(0, place)
        lost = {each.subject for each in await desk.messages() if isinstance(each, MessageLost)}
        assert lost <= town.damaged
        rounds += 1
        assert rounds < 300
    assert town.damaged
