"""How much code a plain action walks: a layer more is seen here, and not in any profile."""

import json
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from haltpoint_planner.drafting import draft_proposal
from haltpoint_planner.parsing.completions import read_reply
from tests.bench.walked import PATHS, Steps, Walked, is_ours, measure, walked
from tests.bench.walked_decisions import decisions

BARS = {
    "plan.drafted": (68, 17),
    "a proposal, read-only": (76, 22),
    "a proposal, effect, one FromResult": (133, 27),
    "answer.drafted": (28, 13),
    "tool.completed that asks": (28, 10),
    "human.answered, a choice": (79, 24),
    "literal tool.completed": (62, 19),
}
"""Functions and files, which may only fall."""


@pytest.mark.parametrize(
    ("path", "functions", "files"), [("decide", 62, 19), ("executor", 121, 41), ("worker", 72, 27)]
)
def test_one_plain_action_walks_few_functions(
    path: str, functions: int, files: int, tmp_path: Path
) -> None:
    here, steps = PATHS[path]
    walked = measure(tmp_path, here, Steps(steps.first, steps.only))
    usual = walked.usual()
    assert usual.functions <= functions, walked.names()
    assert usual.files <= files, walked.names()


@pytest.fixture(scope="module")
def walks() -> dict[str, Walked]:
    return decisions()


@pytest.mark.parametrize("kind", BARS)
def test_one_decision_walks_few_functions(walks: dict[str, Walked], kind: str) -> None:
    functions, files = BARS[kind]
    assert walks[kind].functions <= functions
    assert walks[kind].files <= files


def test_a_native_reply_walks_few_functions_from_its_body_to_the_proposal() -> None:
    function = {"name": "send", "arguments": '{"to": "John"}'}
    call = {"id": "call_1", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    body = json.dumps({"choices": [{"index": 0, "message": message}]})
    entered: list[CodeType | None] = []

    def heard(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and is_ours(frame.f_code):
            entered.append(frame.f_code)

    for profile in (None, heard):  # the second time it is warm
        sys.setprofile(profile)
        reply = read_reply(body)
        assert reply is not None
        assert draft_proposal(reply, {}).calls
        sys.setprofile(None)
    walk = walked(entered)
    names = dict.fromkeys(code.co_qualname for code in entered if code is not None)
    assert walk.functions <= 15, names
    assert walk.files <= 3
