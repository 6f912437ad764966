"""The order to a worker is written down without making the message; it is that message all the same."""

from typing import Any

import pytest

from haltpoint.chain.model.outputs import Dispatch, Think
from haltpoint.chain.model.state import Action, Chain, People
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.commands import ToolRequested
from haltpoint.contracts.people.approvals import Approval
from haltpoint.contracts.reasons import Reason, ReasonKind, Source, SourceKind
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import Correction, ThoughtKind, Violation
from haltpoint.runtime.streams.outgoing import MOST_CORRECTED, Envelope
from haltpoint.runtime.streams.wire import Decoded, decode, encode

WHY = Reason(kind=ReasonKind.REPEAT, words="This was done before.")
FROM = {"to": Source(source=SourceKind.GOAL)}
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize("trace", [None, TRACE])
@pytest.mark.parametrize(
    "told",
    [
        {},
        {"approval": Approval(digest="0123456789ab", by="ann"), "origins": ("c.find.1",), "unasked": "literal"},
        {"origins": ()},
        {"reasons": (WHY,), "sources": FROM},
    ],
)
@pytest.mark.parametrize(
    "task",
    [
        Task(goal="g"),
        Task(goal="g", tenant="acme", user='"ann"', context={"none": None, "deep": [{"é": 1.5}]}, private={"k": 1}),
    ],
)
def test_an_order_is_the_message_that_the_contract_names(trace: str | None, told: dict[str, Any], task: Task) -> None:
    spec = ToolSpec(name="send", timeout=7, idempotent=True)
    output = Dispatch(Action("c.s.2", 0, 2, "send", "{}", attempt=3), spec, 1795906537606, 4, **told)
    message = ToolRequested(
        id="c.s.2/3",
        source="haltpoint/executor",
        subject="c",
        time="2026-11-21T22:55:37.605+00:00",
        traceparent=trace,
        data=ToolRequested.Data(
            action_id="c.s.2",
            tool="send",
            attempt=3,
            repeatable=True,
            timeout=7,
            deadline=1795906537606,
            position=4,
            tenant=task.tenant,
            user=task.user,
            context=task.context,
            private=task.private,
            **told,
        ),
    )

    order = Envelope("c", "2026-11-21T22:55:37.605+00:00", trace).tool_request(output, task)

    assert decode(Stream.TOOLS, {b"__data__": encode(order)}) == Decoded(message)
    assert encode(order) == encode(message)


@pytest.mark.parametrize("other", [False, True])
def test_d3_a_question_to_the_model_says_whether_the_other_model_answers(other: bool) -> None:
    think = Think("c.plan.t0.2", ThoughtKind.PLAN, None, 1, 2)
    chain = Chain("c", Task(goal="g"), deadline=9, people=People(other_model=other))
    data = Envelope("c", "2026-11-21T22:55:37.605+00:00", None).thought_request(think, chain).data
    assert (data.other_model, data.deadline) == (other, 9)


@pytest.mark.parametrize("size", [10, 15_000, 30_000])
def test_corrections_and_their_forms_are_together_no_longer_than_a_message_may_be(size: int) -> None:
    fault = Correction(violation=Violation.NO_CALL, message="m" * size, form="f" * size)
    think = Think("c.plan.t0.2", ThoughtKind.PLAN, None, 1, 2, corrections=(fault,))
    request = Envelope("c", "2026-11-21T22:55:37.605+00:00", None).thought_request(think, Chain("c", Task(goal="g")))
    (sent,) = request.data.corrections
    assert sent.message + sent.form == (fault.message + fault.form)[:MOST_CORRECTED]
