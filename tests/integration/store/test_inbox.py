"""hp3_answer and hp3_cancel: an answer is taken once, in time, for an open question of a living
chain (R6).
"""

import asyncio

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.events import HumanAnswered
from haltpoint.contracts.people.humans import Answer, Choice, RequestKind, Way
from haltpoint.runtime.store.inbox import Approves, Verdict
from haltpoint.runtime.store.store import CancelStatus
from tests.support.builders import asks, literal_task
from tests.support.desk import Desk

JOHN = Answer(kind=RequestKind.CLARIFICATION, option_id="john", comment='the "tall" one ☎')
JOAN = Answer(kind=RequestKind.CLARIFICATION, option_id="joan")


async def asked(desk: Desk) -> str:
    """A chain that waits for a choice; the request's id."""
    order = await desk.order_of(literal_task(2, "lookup"))
    await desk.finish(order, asks("john", "joan"))
    await desk.decide_all()
    return f"{order.chain}.r1"


async def test_r6_an_answer_is_taken_and_told(desk: Desk) -> None:
    request = await asked(desk)
    assert await desk.answer(request, JOHN, by='Ann "A" O\'Hara') is Verdict.TAKEN
    (message,) = await desk.messages()
    assert isinstance(message, HumanAnswered)
    assert message.data.answer == JOHN
    assert message.data.by == 'Ann "A" O\'Hara'
    assert message.id == f"{request}/answer"
    await desk.decide_all()
    assert (await desk.chain(request.split(".")[0])).status is ChainStatus.EXECUTING
    assert await desk.redis.zcard(desk.key("index", "requests")) == 0


async def test_r6_the_second_answer_is_refused(desk: Desk) -> None:
    request = await asked(desk)
    assert await desk.answer(request, JOHN, by="ann") is Verdict.TAKEN
    assert await desk.answer(request, JOAN, by="bob") is Verdict.ANSWERED
    assert await desk.backlog(Stream.EVENTS) == 1


async def test_r6_a_late_answer_changes_nothing_even_before_the_timer_went_off(desk: Desk) -> None:
    request = await asked(desk)
    await desk.later(86400 + 1)
    before = await desk.snapshot()
    assert await desk.answer(request, JOHN) is Verdict.EXPIRED
    assert await desk.snapshot() == before
    await desk.store.fire_due(0)
    assert await desk.answer(request, JOHN) is Verdict.EXPIRED


YES = Answer(kind=RequestKind.CONFIRMATION, decision=Choice.APPROVE)
NO = Answer(kind=RequestKind.CONFIRMATION, decision=Choice.REJECT)
LESS = Answer(kind=RequestKind.CONFIRMATION, decision=Choice.APPROVE, arguments={"amount": 1})


async def voters(desk: Desk, request: str) -> list[str]:
    """Who has said yes to what, so far."""
    stored = await desk.stored.request(request)
    assert stored is not None
    return [f"{vote.by} {'1' if 'amount' in vote.answer else 'all'}" for vote in stored.votes]


async def test_a_yes_is_a_vote_until_enough_people_have_said_the_same(desk: Desk) -> None:
    request = await asked(desk)
    action = Approves(f"{request.split('.')[0]}.s2.1", "d", 900)
    ballots = (("ann", YES), ("bob", LESS), ("ann", YES), ("bob", YES), ("ann", LESS))
    for by, ballot in ballots:
        assert await desk.answer(request, ballot, by=by, approves=action, quorum=3) is Verdict.TAKEN
        assert await desk.messages() == []
    assert await voters(desk, request) == ["bob all", "ann 1"]
    for by, way in (('Cy "C"', Way.PAGE), ("ann", Way.CLI)):
        await desk.answer(request, YES, by=by, way=way, approves=action, quorum=3)
    (message,) = await desk.messages()
    assert isinstance(message, HumanAnswered)
    names = 'bob, Cy "C", ann'
    assert (message.data.by, message.data.answer, message.data.way) == (names, YES, Way.CLI)
    approved = await desk.redis.hget(desk.key("data", request.split(".")[0]), "s2.1.approval")
    assert approved.decode().endswith(f" open\n{names}")
    assert await desk.answer(request, YES, by="bob", quorum=3) is Verdict.TAKEN
    assert await desk.answer(request, YES, by="dan", quorum=3) is Verdict.ANSWERED


async def test_a_no_ends_the_vote(desk: Desk) -> None:
    request = await asked(desk)
    await desk.answer(request, YES, by="ann", quorum=2)
    assert await desk.answer(request, NO, by="bob") is Verdict.TAKEN
    (message,) = await desk.messages()
    assert isinstance(message, HumanAnswered)
    assert (message.data.by, message.data.answer) == ("bob", NO)
    assert await desk.answer(request, YES, by="cy", quorum=2) is Verdict.ANSWERED


async def test_of_many_who_race_for_the_last_vote_two_have_decided(desk: Desk) -> None:
    request = await asked(desk)
    names = [f"p{number}" for number in range(20)]
    verdicts = await asyncio.gather(
        *(desk.answer(request, YES, by=name, quorum=2) for name in names)
    )
    (message,) = await desk.messages()
    assert isinstance(message, HumanAnswered)
    pairs = zip(names, verdicts, strict=True)
    taken = [name for name, verdict in pairs if verdict is Verdict.TAKEN]
    assert message.data.by.split(", ") == taken
    assert len(taken) == 2


async def test_who_has_taken_a_question_answers_it_alone_until_the_time_is_over(
    desk: Desk,
) -> None:
    request = await asked(desk)
    assert await desk.inbox.claim(request, "ann", 900) is Verdict.TAKEN
    assert await desk.inbox.claim(request, "bob", 900) is Verdict.CLAIMED
    assert await desk.inbox.claim(request, "bob", 0) is Verdict.CLAIMED
    assert await desk.answer(request, JOAN, by="bob") is Verdict.CLAIMED
    assert await desk.inbox.claim(request, "ann", 900) is Verdict.TAKEN
    await desk.later(901)
    assert await desk.inbox.claim(request, "bob", 900) is Verdict.TAKEN
    assert await desk.inbox.claim(request, "cy", 0, forced=True) is Verdict.TAKEN
    assert await desk.inbox.claim(request, "cy", 900) is Verdict.TAKEN
    assert await desk.answer(request, JOHN, by="cy") is Verdict.TAKEN
    assert await desk.inbox.claim(request, "cy", 900) is Verdict.ANSWERED


async def test_a_chain_is_cancelled_once_and_an_unknown_one_never(desk: Desk) -> None:
    chain_id = await desk.submit()
    assert await desk.cancel(chain_id) is CancelStatus.SENT
    assert await desk.cancel(chain_id) is CancelStatus.SENT
    await desk.decide_all()
    assert (await desk.chain(chain_id)).status is ChainStatus.CANCELLED
    assert await desk.cancel(chain_id) is CancelStatus.FINAL
    assert await desk.cancel("nobody") is CancelStatus.UNKNOWN
