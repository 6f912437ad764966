"""A chain hears that a message lies in the dead letters: R1, R9."""

import json

import pytest

from haltpoint.contracts.events import MessageLost
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint.runtime.store.dead_letters import Orphan, loss_of, loss_of_message, owner_of
from haltpoint.runtime.streams.wire import DeadLetterReason, Rejected
from tests.support.builders import asks, call, literal_task, spec, tool_step
from tests.unit.chain.story import Story, submitted


def test_r1_a_chain_whose_result_is_lost_fails_and_says_which() -> None:
    told = submitted(literal_task(2), spec())
    told.lose("c.s1.1/1/done")
    assert told.status == "failed"
    assert told.error.code == "HP-211"
    assert "c.s1.1/1/done" in told.error.message
    assert told.final_facts == ["chain.failed"]


def test_r1_a_lost_order_to_a_worker_counts_as_its_result() -> None:
    told = submitted(literal_task(2), spec())
    told.lose("c.s1.1/1")
    assert told.status == "failed"


@pytest.mark.parametrize("message_id", ["", "/reply"])
def test_r1_a_lost_thought_counts_when_it_is_under_way(message_id: str) -> None:
    told = submitted(Task(goal="do it"), spec())
    first = told.chain
    told.lose("c.plan.t0.2" + message_id)
    assert told.chain is first
    told.plans(tool_step("find", call()))
    second = told.chain
    told.lose("c.plan.t0.1" + message_id)
    assert told.chain is second
    assert told.thought.kind is ThoughtKind.ACT
    told.lose(told.thought.thought_id + message_id)
    assert told.status == "failed"


def test_r1_a_lost_answer_of_a_person_ends_the_waiting() -> None:
    told = submitted(literal_task(1), spec(may_clarify=True))
    told.result(asks())
    asking = told.chain
    told.lose("c.r2/answer")
    assert told.chain is asking
    told.lose("c.r1/answer")
    assert told.status == "failed"
    assert told.told("request.withdrawn")


def test_r1_what_starts_stops_and_times_a_chain_is_always_waited_for() -> None:
    for message_id in ("c", "c/cancel", "c/due/17"):
        told = Story(literal_task(1), spec())
        told.lose(message_id)
        assert told.status == "failed"


@pytest.mark.parametrize(
    "stray",
    [
        "c",
        "x",
        "",
        "c.s1.1",
        "c.s1.1/2/done",
        "c.s1.2/1/done",
        "c.s2.1/1/done",
        "c.r1/answer",
        "c.s1.1/reply",
    ],
)
def test_garbage_that_only_names_a_chain_ends_nothing(stray: str) -> None:
    told = submitted(literal_task(2), spec())
    before = told.chain
    told.lose(stray)
    assert told.chain is before
    told.result()
    told.result()
    assert told.status == "completed"
    told.lose("c.s2.1/1/done")
    assert told.status == "completed"


BAD = Rejected(DeadLetterReason.BAD_FIELDS, "data: is missing")


def test_what_is_read_of_an_unreadable_entry_is_its_id_and_its_chain() -> None:
    loss = loss_of({b"__data__": b'{"id":"c.s1.1/1/done","subject":"c","type":7,"data":null}'}, BAD)
    assert isinstance(loss, MessageLost)
    assert (loss.subject, loss.data.message_id, loss.data.reason) == (
        "c",
        "c.s1.1/1/done",
        "bad_fields: data: is missing",
    )
    assert loss_of_message(loss, "deliveries_exhausted") == Orphan("c")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"\xff",
        b"{",
        b'{"id":"x"}',
        b'{"id":"x","subject":""}',
        b'{"id":7,"subject":"c"}',
        b'{"id":"x","subject":"%s"}' % (b"c" * 513),
        b'{"id":"%s","subject":"c"}' % (b"c" * 513),
        b'{"id":"x","subject":"\\ud800"}',
        b'{"a":' * 100_000,
        json.dumps({"id": "x", "subject": "c", "more": "x" * 400_000}).encode(),
    ],
    ids=range(13),
)
def test_an_entry_that_names_no_chain_tells_nobody(data: bytes) -> None:
    assert loss_of({b"__data__": data}, BAD) is None
    assert owner_of({b"__data__": data}) is None


def test_an_unknown_version_waits_for_the_release_that_reads_it() -> None:
    newer = Rejected(DeadLetterReason.UNKNOWN_VERSION, "tool.completed.v2")
    assert loss_of({b"__data__": b'{"id":"c.s1.1/1/done","subject":"c"}'}, newer) == Orphan(
        "c", "c.s1.1"
    )
