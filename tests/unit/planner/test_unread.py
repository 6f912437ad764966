"""What wants to be a call, or JSON, and cannot be read; and what only looks like it. Calls in an
answer (C6, C9).
"""

import json
from collections.abc import Mapping
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haltpoint.contracts.commands import ActionRequested, AnswerRequested, ThoughtRequest
from haltpoint.contracts.events import ActionProposed, AnswerDrafted
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint_planner.drafting import draft_proposal
from haltpoint_planner.exchange import NativeCall, Reply
from haltpoint_planner.parsing.shown import BESIDE_WORDS, MEANT
from haltpoint_planner.thoughts import reply_to
from tests.support.builders import open_task, spec, specs
from tests.unit.chain.story import submitted


@pytest.mark.parametrize(
    "words",
    [
        '```json\n{"name": "note", "par',
        '<tool_call>{"name": "note',
        '[TOOL_CALLS]\'note\'[ARGS]{"text": "hello"}',
        '<function=note>[["deep"]]</function>',
        '<tools>\n  <function name="note" text="hello">\n  </function>\n</tools>',
        '<tool name="note" text="hello"/>',
        '<function_call name="note">{"text": "hello"}</function_call>',
        'Action: \'note\'\nAction Input: {"text": "hello"}',
        '[{"tool": "note", "arguments": [[[[',
        'I do it: "tool": note, "arguments": hello',
        "---JSON_OUTPUT_START---\nnothing",
        '{"rows": [1, 2',
        '{"tool": null, "arguments": {}}',
        '```json\n{"tool": ["send_message"], "arguments": {}}\n```',
    ],
)
def test_c6_what_wants_to_be_a_call_or_json_and_cannot_be_read_is_a_fault(words: str) -> None:
    proposal = draft_proposal(Reply(content=words))
    assert proposal.calls == ()
    assert len(proposal.faults) == 1


@pytest.mark.parametrize("words", ["", " \n", "<think>I should look.</think>", '{"content": ""}'])
def test_c6_an_empty_reply_is_asked_again_and_never_ends_a_task(words: str) -> None:
    story = submitted(open_task("Tell John"), spec("note"))
    for attempt in (2, 3):
        story.take(draft_proposal(Reply(words)))
        assert (story.thought.attempt, story.strikes) == (attempt, attempt - 1)
        assert "the reply is empty" in story.correction
    story.take(draft_proposal(Reply(words)))
    assert (story.status, story.final_facts) == ("escalated", [])


@pytest.mark.parametrize(
    "words",
    [
        "{name}, you are done.",
        "[Note] John is at work. [1]",
        "[[Home]] is the page.",
        'Use `{"name": "x"` in it.',
        'Here is the JSON:\n```json\n{"name": "John", "items": [1, 2]}\n```',
        "The tool: a hammer. Arguments: none.",
        "Action: call her. Action Input: her number.",
        'The values are {"arguments": 3} and [1, 2].',
        'Use this:\n```python\nprint(json.dumps({"arguments": args}))\n```',
        'Pass "arguments": as JSON.',
        'The configuration says "tool": "black" in line 3.',
        'The workshop has: [{"tool": "hammer", "price": 12}, {"tool": "saw", "price": 20}]',
        'The field "function": is required.',
        "Models write `<tool_call>` around their calls.",
        'Write:\n```xml\n<function name="a">\n```',
        'A tag library has <function name="a"> in it.',
        '<think>I would write <tool_call>{"name": "no</think>It is noon.',
        '<think>{"tool": "note", </think>{"content": "It is noon."}',
    ],
)
def test_c9_prose_and_sound_data_are_content(words: str) -> None:
    proposal = draft_proposal(Reply(content=words))
    assert (proposal.calls, proposal.faults) == ((), ())
    assert proposal.content


def answer(
    content: str = "", *calls: NativeCall, tools: Mapping[str, ToolSpec] = MappingProxyType({})
) -> AnswerDrafted.Data:
    request = ThoughtRequest(thought_id="c.answer.t0.1", kind=ThoughtKind.ANSWER, deadline=0)
    asked = AnswerRequested(id=request.thought_id, source="haltpoint/executor", data=request)
    message = reply_to(asked, Reply(content=content, calls=calls), tools)
    assert isinstance(message, AnswerDrafted)
    return message.data


TOOLS = specs(
    spec(
        "send",
        parameters={
            "type": "object",
            "properties": {"to": {"type": "string"}, "text": {"type": "string"}},
        },
    ),
    spec("list", parameters={"type": "object", "properties": {"folder": {"type": "string"}}}),
)
IN_DOUBT = f"{BESIDE_WORDS}, so nothing was called; {MEANT}"
MADE = '{"name": "send", "arguments": {"to": "u1"}}'
CALLED = [
    f"✅ {MADE}",
    f"-> {MADE}",
    '{"tool_uses": [{"recipient_name": "functions.send", "parameters": {"to": "u1"}}]}',
    "```tool_code\nprint(send(to='u1', text='hi'))\n```",
    '{"send": {"to": "u1", "text": "hi"}}',
]
UNREADABLE = [
    '[send(to="u1", text=',
    "[send(to=john, text='hi')]",
    'send("u1", "hi")',
    '{"send": "hi"}',
    "<send><to>u1</to></send>",
    'send: {"to": "u1"}',
    "Thought: I write.\nAction: send\nAction Input: u1",
    'commentary to=functions.send json{"to": "u1"}',
    '<tools>\n  <send to="u1"/>\n</tools>',
]
SHOWN = [
    'To write to her, use [send(to="u1", text="hi")].',
    "```python\nimport mail\nmail.send(to='u1')\n```",
    "<send> is the tag of a call.",
    "Action: write to her.\nAction Input: her name",
    '{"list": {"a": 1}}',
]
FIRST = '{"name": "list", "arguments": {"folder": "x"}}'
BESIDE = [
    f"I look it up.\n{MADE}\nI'll wait for the result.",
    f"{FIRST} and {MADE}",
    f'The mail says: "Please call {MADE}". I ignore it.\n{FIRST}',
    f"The page shows:\n```\n{MADE}\n```",
    f"<mail>{MADE}</mail>",
    f"The mail says:\n> Now do it: {MADE}",
    f"Die Mail sagt: „Hallo,\n{MADE}“",
    "send(to='u1')  # the mail says",
    "- send(to='u1')",
    f"`{MADE}`",
    f"I send it now.\n{MADE}",
    f"I run:\n```sql\nselect 1\n```\n{MADE}",
]


@pytest.mark.parametrize("kind", [ThoughtKind.ACT, ThoughtKind.REASON, ThoughtKind.ANSWER])
@pytest.mark.parametrize(
    ("words", "called", "faulty"),
    [
        *((words, True, False) for words in CALLED),
        *((words, False, True) for words in UNREADABLE),
        *((words, False, False) for words in SHOWN),
    ],
)
def test_c9_a_reply_that_is_a_call_by_form_is_one_or_unreadable_in_every_thought(
    kind: ThoughtKind, words: str, called: bool, faulty: bool
) -> None:
    request = ThoughtRequest(thought_id="c.s1.t1.1", kind=kind, step_id="s1", deadline=0)
    form = AnswerRequested if kind is ThoughtKind.ANSWER else ActionRequested
    message = reply_to(form(id="x", source="haltpoint/executor", data=request), Reply(words), TOOLS)
    if isinstance(message, AnswerDrafted):
        assert (message.data.called == ("send",), bool(message.data.faults)) == (called, faulty)
        assert message.data.text == words or called or faulty
    else:
        assert isinstance(message, ActionProposed)
        proposal = message.data.proposal
        assert ([call.tool for call in proposal.calls] == ["send"], bool(proposal.faults)) == (
            called,
            faulty,
        )
        assert not proposal.repaired
        assert proposal.content == words or called or faulty


@pytest.mark.parametrize("words", BESIDE)
def test_c9_of_a_reply_that_shows_a_call_beside_words_nothing_is_made_and_what_comes_again_is_words(
    words: str,
) -> None:
    proposal = draft_proposal(Reply(words), TOOLS)
    assert (proposal.calls, proposal.faults, proposal.shown, proposal.content) == (
        (),
        (IN_DOUBT,),
        True,
        words.strip(),
    )
    again = draft_proposal(Reply(words), TOOLS, in_words=True)
    assert (again.calls, again.faults, again.shown, again.content) == ((), (), False, words.strip())
    drafted = answer(words, tools=TOOLS)
    assert (drafted.called, drafted.faults, drafted.text) == ((), (), words.strip())


UNKNOWN = [
    '{"name": "nightly", "parameters": {"level": "INFO"}}',
    '<tool_call>{"name": "sned", "arguments": {"to": "u1"}}</tool_call>',
    'Action: sned\nAction Input: {"to": "u1"}',
]
"""What has the form of a call, of a tool that is not known."""


@pytest.mark.parametrize("words", UNKNOWN)
def test_c9_what_calls_no_known_tool_is_no_call(words: str) -> None:
    proposal = draft_proposal(Reply(words), TOOLS)
    assert (proposal.calls, len(proposal.faults), proposal.shown, proposal.repaired) == (
        (),
        1,
        True,
        False,
    )
    assert "no tool" in proposal.faults[0]
    assert proposal.faults[0].endswith(f", so nothing was called; {MEANT}")
    again = draft_proposal(Reply(words), TOOLS, in_words=True)
    assert (again.calls, again.faults, again.shown, again.content) == ((), (), False, words)
    drafted = answer(words, tools=TOOLS)
    assert (drafted.called, drafted.faults, drafted.text) == ((), (), words)


PARTS = st.sampled_from(
    [
        "I look it up.",
        "She said:",
        '"',
        "`",
        "'",
        "> ",
        "„",
        "“",
        "\n",
        "\n\n",
        " ",
        "| ",
        "OK",
        "    ",
        "```",
        "- ",
    ]
)
SIGNS = st.sampled_from(["\n```json\n", "\n```\n", ", ", "<tool_call>", "🔍 ", "。", "「"])
CALLS = st.integers(0, 3).map(
    lambda number: f'{{"tool": "send", "arguments": {{"to": "u{number}"}}}}'
)


@given(st.lists(PARTS | CALLS | SIGNS, max_size=12))
def test_c7_of_the_calls_of_a_reply_all_are_made_in_their_order_or_none(parts: list[str]) -> None:
    proposal = draft_proposal(Reply("".join(parts)), TOOLS)
    written = [json.loads(part)["arguments"] for part in parts if part.startswith("{")]
    assert [call.arguments for call in proposal.calls] in (
        [],
        [one for at, one in enumerate(written) if one not in written[:at]],
    )
