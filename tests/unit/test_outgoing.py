"""The messages that the executor sends: their limits, and what they say of a model."""

import pytest

from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.work.thoughts import Correction, ThoughtKind, Violation
from haltpoint.runtime.streams.outgoing import MOST_CORRECTED, Envelope


@pytest.mark.parametrize("size", [10, 15_000, 30_000])
def test_corrections_and_their_forms_are_together_no_longer_than_a_message_may_be(
    size: int,
) -> None:
    fault = Correction(violation=Violation.NO_CALL, message="m" * size, form="f" * size)
    think = ThoughtRequest(
        thought_id="c.plan.t0.2", kind=ThoughtKind.PLAN, deadline=9, corrections=(fault,)
    )
    request = Envelope("c", "2026-11-21T22:55:37.605+00:00", None).thought_request(think)
    (sent,) = request.data.corrections
    assert sent.message + sent.form == (fault.message + fault.form)[:MOST_CORRECTED]
