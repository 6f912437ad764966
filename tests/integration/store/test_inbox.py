"""hp3_answer and hp3_cancel: an answer is taken once, in time, for an open question of a living
chain (R6).
"""

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.events import HumanAnswered, TaskCancelled
from haltpoint.contracts.people.humans import Answer, RequestKind, Way
from haltpoint.runtime.store.inbox import AnsweredAlready, Expired, Taken
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
    return f"{order.data.action_id.split('.')[0]}.r1"


def cancellation(chain_id: str) -> TaskCancelled:
    return TaskCancelled(
        id=f"{chain_id}/cancel", source="test", subject=chain_id, data=TaskCancelled.Data(by="ann")
    )


async def test_r6_an_answer_is_taken_and_told(desk: Desk) -> None:
    request = await asked(desk)
    verdict = await desk.inbox.answer(request, JOHN, by='Ann "A" O\'Hara')
    assert isinstance(verdict, Taken)
    (message,) = await desk.messages()
    assert isinstance(message, HumanAnswered)
    assert message.data.answer == JOHN
    assert (message.data.by, message.data.at) == ('Ann "A" O\'Hara', verdict.at)
    assert message.id == f"{request}/answer"
    await desk.decide_all()
    assert (await desk.chain(request.split(".")[0])).status is ChainStatus.EXECUTING
    assert await desk.redis.zcard(desk.key("index", "requests")) == 0


async def test_r6_the_second_answer_hears_who_was_first(desk: Desk) -> None:
    request = await asked(desk)
    first = await desk.inbox.answer(request, JOHN, by="ann")
    assert isinstance(first, Taken)
    assert await desk.inbox.answer(request, JOAN, by="bob") == AnsweredAlready(
        "ann", Way.HTTP, first.at, JOHN
    )
    assert await desk.backlog(Stream.EVENTS) == 1


async def test_r6_a_late_answer_changes_nothing_even_before_the_timer_went_off(desk: Desk) -> None:
    request = await asked(desk)
    await desk.later(86400 + 1)
    before = await desk.snapshot()
    assert isinstance(await desk.inbox.answer(request, JOHN), Expired)
    assert await desk.snapshot() == before
    await desk.store.fire_due(0)
    assert isinstance(await desk.inbox.answer(request, JOHN), Expired)


async def test_a_chain_is_cancelled_once_and_an_unknown_one_never(desk: Desk) -> None:
    chain_id = await desk.submit(literal_task())
    assert await desk.store.cancel(cancellation(chain_id)) is CancelStatus.SENT
    assert await desk.store.cancel(cancellation(chain_id)) is CancelStatus.SENT
    await desk.decide_all()
    assert (await desk.chain(chain_id)).status is ChainStatus.CANCELLED
    assert await desk.store.cancel(cancellation(chain_id)) is CancelStatus.FINAL
    assert await desk.store.cancel(cancellation("nobody")) is CancelStatus.UNKNOWN
