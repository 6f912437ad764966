"""The messages that the executor sends: their limits, and what they say of a model."""

import pytest

from haltpoint.chain.model.outputs import Think
from haltpoint.chain.model.state import Chain, People
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import Correction, ThoughtKind, Violation
from haltpoint.runtime.streams.outgoing import MOST_CORRECTED, Envelope


@pytest.mark.parametrize("other", [False, True])
def test_d3_a_question_to_the_model_says_whether_the_other_model_answers(other: bool) -> None:
    think = Think("c.plan.t0.2", ThoughtKind.PLAN, None, 1, 2)
    chain = Chain("c", Task(goal="g"), deadline=9, people=People(other_model=other))
    data = Envelope("c", "2026-11-21T22:55:37.605+00:00", None).thought_request(think, chain).data
    assert (data.other_model, data.deadline) == (other, 9)


@pytest.mark.parametrize("size", [10, 15_000, 30_000])
def test_corrections_and_their_forms_are_together_no_longer_than_a_message_may_be(
    size: int,
) -> None:
    fault = Correction(violation=Violation.NO_CALL, message="m" * size, form="f" * size)
    think = Think("c.plan.t0.2", ThoughtKind.PLAN, None, 1, 2, corrections=(fault,))
    request = Envelope("c", "2026-11-21T22:55:37.605+00:00", None).thought_request(
        think, Chain("c", Task(goal="g"))
    )
    (sent,) = request.data.corrections
    assert sent.message + sent.form == (fault.message + fault.form)[:MOST_CORRECTED]
