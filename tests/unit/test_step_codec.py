"""Steps as fields of at most 64 bytes, in an order that never changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haltpoint.chain.state import StepRun, StepStatus
from haltpoint.runtime.step_codec import decode_step, encode_step

COUNT = st.integers(0, 99)
RUNS = st.builds(
    StepRun,
    status=st.sampled_from(StepStatus),
    turn=COUNT,
    attempt=COUNT,
    proposals=COUNT,
    actions=st.integers(0, 999),
    taken=COUNT,
    in_turn=COUNT,
    receipts=st.integers(0, 2**40),
    last_ok=st.integers(0, 999),
    thinking=st.booleans(),
    refused=st.integers(0, 2**16),
)


@given(RUNS)
def test_a_run_is_read_as_it_was_written_and_keeps_the_hash_small(run: StepRun) -> None:
    field = encode_step(run)
    assert decode_step(field.encode()) == run
    assert len(field) <= 64


def test_the_numbers_have_the_order_that_is_stored() -> None:
    run = StepRun(StepStatus.COMPLETED, 1, 2, 3, 4, 5, 6, 7, 8, thinking=True, refused=9)
    assert encode_step(run) == "[4,1,2,3,4,5,6,7,8,0,1,9]"
    assert decode_step(b"[4,1,2,3,4,5,6,7,8,1,1,9]") == run, "an older release wrote one more"
    assert encode_step(StepRun()) == "[]"
    assert [encode_step(StepRun(status)) for status in StepStatus] == ["[]", *(f"[{n}]" for n in range(1, 8))]


def test_a_field_of_an_older_release_has_fewer_numbers() -> None:
    assert decode_step(b"[2,1]") == StepRun(StepStatus.IN_PROGRESS, turn=1)


@pytest.mark.parametrize("field", [b"[99]", b"[a]", b"[1.5]", b"{}"])
def test_what_is_no_run_is_refused(field: bytes) -> None:
    with pytest.raises((ValueError, IndexError)):
        decode_step(field)
