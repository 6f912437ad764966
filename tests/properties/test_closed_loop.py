"""Nothing that a service emits is refused by who receives it: a chain would wait for it in vain
(R11).

Each service's own encoders, with what is hostile or at its limits, and the decoder of the other
side.
"""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs
from pydantic_core import from_json, to_json

from haltpoint.chain.checks.plans import task_fault
from haltpoint.chain.model.outputs import Dispatch
from haltpoint.chain.model.state import Action
from haltpoint.contracts.base import MAX_ARGUMENTS, MAX_BODY, MAX_DEPTH, JsonObject
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.commands import (
    ActionRequested,
    AnswerRequested,
    PlanRequested,
    ThoughtRequest,
    ToPlanner,
)
from haltpoint.contracts.doors import door
from haltpoint.contracts.events import (
    ActionProposed,
    HumanAnswered,
    Message,
    TaskSubmitted,
    ThoughtFailed,
    ToolCompleted,
)
from haltpoint.contracts.people.humans import Answer, RequestKind, Way
from haltpoint.contracts.results import (
    Clarification,
    HookRecord,
    HookVerdict,
    Metadata,
    NextAction,
    Option,
    Outcome,
)
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import Step
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import Correction, ThoughtKind, Violation
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.store.inbox import _head
from haltpoint.runtime.streams.outgoing import Envelope, completed_parts
from haltpoint.runtime.streams.wire import Decoded, decode, encode
from haltpoint_gateway.answering import _size_fault
from haltpoint_gateway.guard import check_json
from haltpoint_gateway.problems import Problem
from haltpoint_planner.exchange import NativeCall, Reply
from haltpoint_planner.parsing.completions import read_reply
from haltpoint_planner.plan_drafting import draft_plan
from haltpoint_planner.thoughts import failed, reply_to
from haltpoint_tool_worker.results.outcomes import MAX_OUTCOME
from tests.support.builders import owing, specs
from tests.support.hostile_outputs import TOOLS
from tests.unit.chain.story import Story, submitted

KNOWN = specs(
    *TOOLS,
    ToolSpec(name="any", parameters={"type": "object", "additionalProperties": {"type": "string"}}),
)
ENVELOPE = Envelope("c", "2026-11-21T22:55:37.605+00:00", None)


def reads(stream: Stream, data: bytes, body: bytes = b"") -> Any:
    """The message, as who receives it reads it."""
    decoded = decode(stream, {b"__data__": data, b"__body__": body})
    assert isinstance(decoded, Decoded), decoded
    return decoded.message


# ---- the planner, and the executor's answer to it
# --------------------------------------------------------------------


def deep(levels: int, opening: str = '{"a":', closing: str = "}") -> str:
    return opening * levels + "1" + closing * levels


def long(size: int, letter: str) -> str:
    return json.dumps(
        {"text": letter * (size // len(letter.encode())), "level": 1}, ensure_ascii=False
    )


LEVELS = st.integers(MAX_DEPTH - 2, 70) | st.sampled_from([1, 2, 100, 5000])
LETTERS = st.sampled_from(["x", '"', "\\", "é", "😀", "\u0001", "\u2028", "\x7f"])
NUMBERS = st.sampled_from(
    ["1e999", "-1e400", "NaN", "Infinity", "9" * 300, "9" * 4000, "9" * 5000, "1" + "0" * 400]
)
ARGUMENTS = st.one_of(
    LEVELS.map(deep),
    LEVELS.map(lambda levels: f'{{"text": {deep(levels, "[", "]")}}}'),
    LEVELS.map(lambda levels: deep(levels)[:-1]),
    st.tuples(LEVELS, LETTERS).map(
        lambda both: f'{{"text": {json.dumps(deep(both[0]))}, "level": {deep(both[0])}}}'
    ),
    st.builds(
        long,
        st.sampled_from([MAX_ARGUMENTS + by for by in (-40, -20, 0, 20)] + [MAX_BODY // 4]),
        LETTERS,
    ),
    NUMBERS.map(lambda number: f'{{"text": "x", "level": {number}}}'),
    st.sampled_from(['{"text": "\\ud800", "level": 1}', '{"text": "a", "text": "b", "level": 1}']),
    st.just('{"text": [' + "0," * 20_000 + "0]}"),
    st.tuples(LETTERS, st.integers(2, 40)).map(
        lambda made: json.dumps({made[0] * 30_000: dict.fromkeys("abcdefg", 1)})
    ),
)
NAMES = st.sampled_from(
    ["note", "any", "lookup", "nope", "n" * 128, "😀" * 128, "n" * 5000, "\ud800"]
)
CALLS = st.lists(st.tuples(NAMES, ARGUMENTS), min_size=1, max_size=40)
SAID = CALLS.map(
    lambda calls: "\n".join(
        f'{{"tool": {json.dumps(name)}, "arguments": {arguments}}}' for name, arguments in calls[:4]
    )
)
WORDS = st.builds(
    lambda letter, times: letter * times,
    LETTERS,
    st.sampled_from([0, 20_000, MAX_BODY // 4, MAX_BODY]),
)
STEPS = st.builds(
    lambda letter, count: json.dumps(
        {"steps": [{"description": letter * 4000}] * count}, ensure_ascii=False
    ),
    LETTERS,
    st.integers(1, 60),
)


def native(calls: list[tuple[str, str]], are_texts: bool) -> Reply | None:
    """As servers send them; some send arguments as objects, and not as text."""
    entries = ",".join(
        f'{{"function": {{"name": {json.dumps(name)}, '
        f'"arguments": {json.dumps(text) if are_texts else text}}}}}'
        for name, text in calls
    )
    return read_reply(f'{{"choices": [{{"message": {{"tool_calls": [{entries}]}}}}]}}')


REPLIES = st.one_of(
    st.builds(native, CALLS, st.booleans()), SAID.map(Reply), WORDS.map(Reply), STEPS.map(Reply)
).filter(
    lambda reply: reply is not None
)  # a body that is not read is an error of its own: thought.failed


def asked(kind: ThoughtKind, thought: str) -> ToPlanner:
    request = ThoughtRequest(thought_id=thought, kind=kind, step_id="s1", deadline=0)
    forms: dict[ThoughtKind, type[ToPlanner]] = {
        ThoughtKind.PLAN: PlanRequested,
        ThoughtKind.ANSWER: AnswerRequested,
    }
    form = forms.get(kind, ActionRequested)
    return form(id=thought, source="haltpoint/executor", subject="c", data=request)


def told_on(story: Story, message: Message) -> None:
    """Hear what the planner said; what the executor sends because of it is read as well."""
    story.hear(reads(Stream.EVENTS, encode(message)))
    for output in story.decisions[-1].outputs:
        if isinstance(output, ThoughtRequest):
            reads(Stream.PLANS, encode(ENVELOPE.thought_request(output)))
        elif isinstance(output, Dispatch):
            order = ENVELOPE.tool_request(output, story.chain.task)
            reads(Stream.TOOLS, encode(order), output.action.arguments.encode())


@given(REPLIES)
@example(Reply("", (NativeCall("any", deep(40)[:-1]),)))
@example(Reply("", (NativeCall("any", deep(40)),)))
@example(Reply('{"steps": [' + ",".join(['{"description": "' + "😀" * 4000 + '"}'] * 40) + "]}"))
@example(
    Reply(
        "",
        tuple(NativeCall("any", json.dumps({f"{n}" + "k" * 30_000: {"a": 1}})) for n in range(3)),
    )
)
@example(
    Reply("", tuple(NativeCall("note", json.dumps({f"{n}{'é' * 200}": 1})) for n in range(32)))
)
def test_r11_whatever_a_model_says_planner_and_executor_understand_each_other(reply: Reply) -> None:
    story = submitted(Task(goal="tell John"), *KNOWN.values())
    told_on(story, reply_to(asked(ThoughtKind.PLAN, story.thought.thought_id), reply, KNOWN))

    story = submitted(Task(goal="tell John"), *KNOWN.values())
    story.plans(owing("s1", "note", "any", description="Note it"))
    told_on(story, reply_to(asked(ThoughtKind.ACT, story.thought.thought_id), reply, KNOWN))

    story = submitted(Task(goal="tell John"), *KNOWN.values())
    story.plans(Step(id="s1", description="Think"))
    story.writes("It is noon.")
    told_on(story, reply_to(asked(ThoughtKind.ANSWER, story.thought.thought_id), reply, KNOWN))


def test_r11_arguments_forty_deep_are_refused_and_park_no_chain() -> None:
    for text, why in ((deep(40), "nested more"), (deep(40)[:-1], "cut off at character")):
        message = reply_to(
            asked(ThoughtKind.ACT, "c.s1.t1.1"), Reply("", (NativeCall("any", text),)), KNOWN
        )
        assert isinstance(message, ActionProposed)
        assert message.data.proposal.calls == ()
        assert why in message.data.proposal.faults[0]


def test_r11_a_plan_in_long_letters_is_refused_by_the_planner() -> None:
    reply = Reply(json.dumps({"steps": [{"description": "😀" * 4000}] * 40}, ensure_ascii=False))
    assert draft_plan(reply) == "the plan is too long; shorten the descriptions"


@pytest.mark.parametrize("words", ["\ud800" * 9000, "x" * 400_000])
def test_r11_a_thought_that_failed_is_told_whatever_the_server_said(words: str) -> None:
    message = failed(
        asked(ThoughtKind.ACT, "c.s1.t1.1"), HaltpointError("HP-304", "it refuses", words, "Look")
    )
    assert isinstance(reads(Stream.EVENTS, encode(message)), ThoughtFailed)


@given(st.integers(1, 32), st.integers(0, 20_000), LETTERS)
def test_r11_a_question_to_the_model_is_bounded(
    corrections: int, receipts: int, letter: str
) -> None:
    wrong = Correction(violation=Violation.BAD_ARGUMENTS, message=letter * 30_000, tool="t" * 128)
    names = tuple(f"c{'~' * 2}{'s' * 64}.{'s' * 64}.{n}" for n in range(receipts))
    think = ThoughtRequest(
        thought_id="c.s1.t1.1",
        kind=ThoughtKind.ACT,
        step_id="s1",
        deadline=9,
        receipts=names,
        corrections=(wrong,) * corrections,
    )
    message = reads(Stream.PLANS, encode(ENVELOPE.thought_request(think)))
    assert len(message.data.corrections) == corrections


# ---- the gateway
# --------------------------------------------------------------------------------------------------

ENTRIES = st.sampled_from(
    ["1e15", '"' + "é" * 100 + '"', '"\\u0001"', "9" * 300, "1e999", "true", '{"tool": "a"}']
)
VALUES = st.one_of(
    LEVELS.map(lambda levels: deep(levels).encode()),
    st.tuples(ENTRIES, st.integers(1, 9000), st.integers(1, 8)).map(
        lambda made: (
            "{" + ",".join(f'"{n}":[{",".join([made[0]] * made[1])}]' for n in range(made[2])) + "}"
        ).encode()
    ),
)


def let_in(body: bytes) -> bool:
    """Whether the gateway takes this body."""
    try:
        check_json(body)
    except Problem:
        return False
    return len(body) <= MAX_BODY


@given(VALUES)
@example(b'{"n": [' + b"1e15," * 9000 + b"1e15]}")
def test_r11_a_task_that_is_let_in_reaches_its_workers(context: bytes) -> None:
    body = b'{"goal": "x", "context": %s}' % context
    if not let_in(body):
        return
    assert b"1e999" not in body
    task = door(Task).validate_json(body)
    if task_fault(task) is not None:
        return
    assert json.loads(encode(task))["context"] == from_json(context)
    order = Dispatch(Action("c.s.1", 0, 1, "note", "{}"), KNOWN["note"], 0, 1)
    assert reads(
        Stream.TOOLS, encode(ENVELOPE.tool_request(order, task)), b"{}"
    ).data.context == from_json(context)
    foreign = TaskSubmitted(id="k", source="shop", data=task)
    assert reads(Stream.EVENTS, encode(foreign)).data == task


@given(VALUES)
@example(b'{"n": [' + b"1e15," * 9000 + b"1e15]}")
def test_r11_an_answer_that_is_taken_reaches_its_chain(value: bytes) -> None:
    body = b'{"kind": "escalation", "decision": "manual", "value": %s}' % value
    if not let_in(body):
        return
    answer = door(Answer).validate_json(body)
    if _size_fault(answer) is not None:
        return
    head = _head("c.r1", Way.PAGE, answer, None)
    written = head + encode(answer) + b',"by":%s,"at":1}}' % to_json("n" * 256)
    message = reads(Stream.EVENTS, written)
    assert isinstance(message, HumanAnswered)
    assert message.data.answer == answer


@pytest.mark.parametrize(
    "value", [{"a": "\ud800"}, {"a": object()}, {"a": json.loads(deep(40))}, {"a": "x" * MAX_BODY}]
)
def test_r11_a_handlers_answer_that_no_message_can_hold_does_not_fit(value: JsonObject) -> None:
    assert _size_fault(Answer(kind=RequestKind.ESCALATION, value=value)) is not None


# ---- the worker
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("letter", ["x", '"', "\\", "é", "\u0001"])
def test_r11_the_fullest_receipt_is_read(letter: str) -> None:
    size = len(json.dumps(letter)) - 2
    option = Option(id="o", title=letter * ((MAX_OUTCOME - 1000) // size))
    question = Clarification(type="c", question="?", options=(option,))
    outcome = Outcome(
        success=True, next_action=NextAction.CLARIFICATION_NEEDED, clarification=question
    )
    hooks = (
        HookRecord(name="a.module:" + "hook" * 8, verdict=HookVerdict.ALLOW, duration_ms=30_000),
    ) * 8
    ran = json.dumps({"text": letter * ((MAX_ARGUMENTS - 20) // size)})
    metadata = Metadata(tool="t", action_id="c.s.1", hooks=hooks, arguments=ran)
    head, tail = completed_parts("c.s.1", 1, "c", None)
    assert isinstance(
        reads(Stream.EVENTS, head + encode(structs.replace(outcome, metadata=metadata)) + tail),
        ToolCompleted,
    )
