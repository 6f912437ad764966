"""The tolerant parser beside the corpus: limits, what goes before what, and whatever hostile models
say.
"""

import json

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from haltpoint.contracts.base import MAX_ARGUMENTS
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.thoughts import Proposal
from haltpoint.runtime.streams.wire import encode
from haltpoint_planner.drafting import MAX_CONTENT, draft_proposal, said
from haltpoint_planner.exchange import Finish, NativeCall, Reply
from haltpoint_planner.parsing.replies import read_reply
from haltpoint_planner.plan_drafting import draft_plan
from tests.support.builders import spec, specs

KNOWN = specs(spec("a"), spec("lookup_contacts"))


@pytest.mark.parametrize(
    ("body", "tokens", "cut"),
    [
        (
            {
                "choices": [{"message": {"content": "x"}, "finish_reason": "length"}],
                "usage": {"prompt_tokens": 3, "completion_tokens": 4},
            },
            (3, 4),
            True,
        ),
        (
            {
                "content": [{"type": "text", "text": "x"}],
                "stop_reason": "max_tokens",
                "usage": {"input_tokens": 3, "output_tokens": 4},
            },
            (3, 4),
            True,
        ),
        (
            {
                "candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4},
            },
            (3, 4),
            False,
        ),
        (
            {
                "choices": [{"message": {"content": "x"}}],
                "usage": {"prompt_tokens": "many", "completion_tokens": -1},
            },
            (0, 0),
            False,
        ),
    ],
)
def test_tokens_and_cuts_are_read(
    body: dict[str, object], tokens: tuple[int, int], cut: bool
) -> None:
    reply = read_reply(json.dumps(body))
    assert reply is not None
    assert (reply.content, reply.usage.input_tokens, reply.usage.output_tokens, reply.cut) == (
        "x",
        *tokens,
        cut,
    )


def test_arguments_over_the_limit_are_a_fault_and_no_call() -> None:
    proposal = draft_proposal(Reply("", (NativeCall("write", {"text": "x" * MAX_ARGUMENTS}),)))
    assert proposal.calls == ()
    assert "at most 65536" in proposal.faults[0]


def test_arguments_that_are_too_deep_are_a_fault_and_no_call() -> None:
    deep: dict[str, object] = {}
    for _ in range(40):
        deep = {"a": deep}
    assert draft_proposal(Reply("", (NativeCall("write", deep),))).calls == ()


SENT = "I have sent the message to Ann."


@pytest.mark.parametrize(
    "wrapped",
    [
        {"content": SENT},
        {"response": SENT, "nextStepDecision": "continue"},
        {"answer": {"text": SENT}},
        {"message": SENT, "status": "success", "toolCalls": []},
        {"action": "Final Answer", "action_input": SENT},
        {"choices": [{"message": {"content": SENT}}]},
        [{"type": "text", "text": SENT}],
    ],
)
@pytest.mark.parametrize(
    "around", ["{}", "```json\n{}\n```", "```\n{}\n```", "<think>hm</think>\n{}"]
)
def test_c9_words_in_json_are_read_as_words_in_steps_and_answers(
    wrapped: object, around: str
) -> None:
    reply = Reply(around.format(json.dumps(wrapped)))
    assert said(reply) == SENT
    assert draft_proposal(reply) == Proposal(content=SENT)


@pytest.mark.parametrize("sign", ["x", "ä", "\U0001f600", '"', "\n", "\u0001"])
def test_an_answer_is_cut_only_where_a_message_is_full(sign: str) -> None:
    """A letter, a table, a translation: all of it is delivered."""
    size = len(encode(sign)) - 2
    long, longer = (
        f"A{sign * count}Z" for count in ((MAX_CONTENT - 4) // size, MAX_CONTENT // size)
    )
    for read in (said, lambda reply: draft_proposal(reply).content):
        assert read(Reply(long)) == long
        shown = read(Reply(longer))
        kept, mark, number = shown.partition(" [cut: ")
        assert (longer.startswith(kept), mark) == (True, " [cut: ")
        assert int(number.removesuffix(" more characters]")) == len(longer) - len(kept)
        assert MAX_CONTENT - size <= len(encode(kept)) <= MAX_CONTENT


# What the forms that are read are made of: nothing may take longer the more often it is repeated.
BRICKS = [
    "<function=a>",
    "<function=a><parameter=b>",
    "<function=a><parameter=b>x</parameter>",
    "<function=a></function>",
    '<invoke name="a">',
    '<invoke name="a"></invoke>',
    "<tool_call>",
    "<tool_call>a<arg_key>",
    "<tool_call>a</tool_call>",
    "<tool_call>a<arg_key>b</arg_key><arg_value>",
    "<|python_tag|>a(",
    "<|python_tag|>a(b=",
    "<|python_tag|>[a(b='",
    "<|python_tag|>a(b=1,",
    "[TOOL_CALLS]a",
    "[TOOL_CALLS]a{",
    "[TOOL_CALLS]a{}",
    "<function=a>{}",
    "<function=a>{",
    "Action: a\nAction Input: ",
    "Action: a\nAction Input: {",
    "\nAction:",
    "to=a <|message|>",
    "to=a",
    "to=",
    "<|tool_call_begin|>a",
    "<|tool_call_begin|>a\n",
    "<|channel|>analysis<|message|>",
    "<think>",
    "</think>",
    "\n   ",
    "`",
    " ",
    "*",
    "\n*",
    "a",
    "<",
    "<|",
    "\\",
    "'",
    '"',
    "(",
    ",",
    "{}",
    "{",
    "}",
    "[",
    '{"a":[',
    '{"steps":[',
    "[1]",
    '{"tool":"a"}',
    "[<function=a></function>",
    "---JSON_OUTPUT_START---",
    '{"tool":"a","arguments":"',
    "```json\n",
    "a(",
    "a(b=1)\n",
    "[a(b='",
    "a(b=1),",
    "a.",
    "-",
    "lambda:",
    "1+",
    "{'a':",
    "('a',",
    "a(b=",
    "\\x",
    "'''",
    '"""',
    "<|a|>",
    "```tool_code\n",
    "a()[",
    "not ",
    "Thought:\n\n",
    "Thought: a\nAction: a(",
    "Thought:\n \n \n",
    '"{"tool":"a"}',
    '\'{"tool":"a"}',
    "“{}",
    "<a ",
    '{"tool":"a"}\'\n```',
]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "tool",
                    "name",
                    "toolCalls",
                    "arguments",
                    "args",
                    "content",
                    "function",
                    "steps",
                    "id",
                ]
            )
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)
WORDS = (
    st.text()
    | JSON.map(json.dumps)
    | st.lists(
        st.sampled_from(BRICKS) | JSON.map(json.dumps) | st.text(max_size=5), max_size=20
    ).map("".join)
    | st.tuples(st.text(), JSON, st.text()).map(lambda t: t[0] + json.dumps(t[1]) + t[2])
)


@given(WORDS, st.lists(st.builds(NativeCall, st.text(), JSON), max_size=3), st.booleans())
@example('{"steps": [{"id": {}, "dependencies": {"a": 1}, "requiredTools": 3}]}', [], False)
def test_whatever_is_said_a_value_comes_out(words: str, calls: list[NativeCall], cut: bool) -> None:
    reply = Reply(words, tuple(calls), finish=Finish.LENGTH if cut else Finish.STOP)
    proposal = draft_proposal(reply, KNOWN)
    assert all(isinstance(call, ProposedCall) for call in proposal.calls)
    assert msgspec.json.decode(encode(proposal), type=Proposal) == proposal
    plan = draft_plan(reply)
    assert isinstance(plan, str) or msgspec.json.decode(encode(plan), type=type(plan)) == plan
    said(reply).encode()
