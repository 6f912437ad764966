"""Steps as fields of at most 64 bytes, in an order that never changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from haltpoint.chain.model.state import StepRun
from haltpoint.chain.model.statuses import StepStatus
from haltpoint.runtime.store.chain_codec import decode_step, encode_step

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
    listed=COUNT,
    receipts=st.integers(0, 2**40),
    last_ok=st.integers(0, 999),
    thinking=st.booleans(),
    struck=st.booleans(),
    here=st.booleans(),
    freed=st.booleans(),
)


@st.composite
def runs(draw: st.DrawFn) -> StepRun:
    run = draw(RUNS)
    late = (
        draw(st.lists(st.integers(max(1, run.actions - 300), run.actions), unique=True, max_size=3))
        if run.actions
        else []
    )
    return structs.replace(run, pending=tuple(sorted(late)))


@given(runs())
def test_a_run_is_read_as_it_was_written_and_keeps_the_hash_small(run: StepRun) -> None:
    field = encode_step(run)
    assert decode_step(field) == run
    assert len(field) <= 64


@pytest.mark.parametrize("field", ["99", "a", "1.5", "{}", "1,,1", "1 a", ""])
def test_what_is_no_run_is_refused(field: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        decode_step(field)
