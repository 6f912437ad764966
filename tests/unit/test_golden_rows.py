"""Recorded rows of this form: a chain that is under way is read whole by each release of the same
form, or refused.
"""

import json
from pathlib import Path

import msgspec
import pytest

from haltpoint.chain.model.state import End
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store.chain_codec import (
    StoredPlan,
    as_worked_on,
    decode_step,
    encode_step,
    end_of,
    stored_plan,
)
from haltpoint.runtime.streams.topology import FORM
from haltpoint.runtime.streams.wire import encode

RECORDED = json.loads((Path(__file__).parent / "golden_rows.json").read_text())
AGAIN = "rows have changed: give FORM (streams/topology.py) the next number, and record them anew"


def test_rows_are_read_and_written_as_they_were_recorded() -> None:
    assert RECORDED["form"] == FORM, AGAIN
    for kind, name in ((StoredPlan, "plan"), (End, "end")):
        assert set(RECORDED[name]) == set(kind.__struct_fields__), AGAIN
        stored = msgspec.json.decode(json.dumps(RECORDED[name]), type=kind)
        assert json.loads(encode(stored)) == RECORDED[name], AGAIN
    assert encode_step(decode_step(RECORDED["step"])) == RECORDED["step"], AGAIN


def test_rows_with_a_name_of_another_release_are_refused_and_not_read_by_half() -> None:
    with pytest.raises(msgspec.ValidationError, match="`inside`"):
        stored_plan('{"inside":["find"]}')
    with pytest.raises(msgspec.ValidationError, match="`doubtful`"):
        end_of('{"answer":"Sent.","doubtful":["Sent."]}')


def test_d3_prompts_have_the_words_in_place_of_the_goal() -> None:
    task, _ = as_worked_on(json.dumps(RECORDED["plan"]), Task(goal="mail it"))
    assert task.goal == "send it"
