"""F3: what a model or an operator's function finds in words is read as far as it can be; a failure is no finding."""

import json
import sys
import time
from typing import Any

import pytest

from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import Finding, ThoughtKind, Told
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint_planner.parsing.replies import Reply
from haltpoint_planner.prompting import prompts, verifying
from haltpoint_planner.prompting.context import Context, Receipt
from tests.support.builders import OK, failed

LIE = "I've sent it."
DONE = {"quote": LIE, "told": "done", "action_id": None}


def context() -> Context:
    request = ThoughtRequest(thought_id="c.verify.t0.1", kind=ThoughtKind.VERIFY, words=LIE, deadline=0)
    receipts = (
        Receipt("s1", "send", '{"to": "john"}', OK, "{}", "c.s1.1"),
        Receipt("s1", "send", "{}", failed(ErrorType.NOT_FOUND), "{}", "c.s1.2"),
    )
    return Context(
        request, Task(goal="x"), receipts=receipts, tools={"send": ToolSpec(name="send", description="Send.")}
    )


def test_the_model_is_shown_words_deeds_and_tools_as_data() -> None:
    prompt = prompts.build(context())
    assert json.loads(prompt.messages[-1]["content"]) == {
        "words": LIE,
        "deeds": [{"action_id": "c.s1.1", "tool": "send", "arguments": '{"to": "john"}'}],
        "tools": [{"name": "send", "description": "Send."}],
    }
    assert (prompt.tools, prompt.schema) == ((), verifying.SCHEMA)


@pytest.mark.parametrize(
    "said",
    [
        json.dumps({"claims": [DONE]}),
        f"```json\n{json.dumps([DONE])}\n```",
        f"<think>hm</think>Here: {json.dumps({'claims': [{'quote': 1}, 7, DONE]})}",
    ],
)
def test_what_can_be_read_is_found(said: str) -> None:
    assert verifying.findings_in(Reply(content=said)) == (Finding(quote=LIE, told=Told.DONE),)


@pytest.mark.parametrize(
    "said", ["", "nothing", "{", "[1, 2]", '{"claims": 7}', '{"claims": [{"told": "done"}]}', "\ud800"]
)
def test_what_cannot_be_read_is_no_finding(said: str) -> None:
    assert verifying.findings_in(Reply(content=said)) == ()


def found(words: str, deeds: list[Any], tools: list[Any]) -> object:
    assert (len(deeds), len(tools)) == (1, 1)
    return [{"quote": words, "told": "done", "action_id": None}]


def crash(*_: object) -> object:
    raise RuntimeError("no")


async def test_a_function_of_the_operators_finds_or_fails_without_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    case = verifying.case_of(context())
    assert await verifying.run(verifying.load(f"{__name__}:found"), case) == (Finding(quote=LIE, told=Told.DONE),)
    assert await verifying.run(crash, case) == ()
    assert await verifying.run(lambda *_: sys.exit(3), case) == ()
    assert await verifying.run(lambda *_: object(), case) == ()
    monkeypatch.setattr(verifying, "PATIENCE", 0.01)
    assert await verifying.run(lambda *_: time.sleep(0.2), case) == ()


@pytest.mark.parametrize("path", ["nowhere:check", f"{__name__}:LIE", f"{__name__}:gone"])
def test_a_check_that_is_none_stops_the_start(path: str) -> None:
    with pytest.raises(HaltpointError, match="HP-004 the claims_check"):
        verifying.load(path)
