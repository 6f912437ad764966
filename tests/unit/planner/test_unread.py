"""What wants to be a call, or JSON, and cannot be read; and what only looks like it. Calls in an answer (C6, C9)."""

import json
from collections.abc import Mapping
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.base import MAX_BODY
from haltpoint.contracts.commands import ActionRequested, AnswerRequested, ThoughtRequest
from haltpoint.contracts.events import ActionProposed, AnswerDrafted
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.tasks import Style, Task
from haltpoint.contracts.work.thoughts import Correction, ThoughtKind, Violation
from haltpoint_planner.drafting import draft_proposal
from haltpoint_planner.parsing.replies import NativeCall, Reply
from haltpoint_planner.parsing.shown import BESIDE_WORDS, MEANT
from haltpoint_planner.thoughts import reply_to
from tests.support.builders import spec, specs
from tests.unit.chain.story import Story


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
    story = Story(Task(goal="Tell John", style=Style.REACT), spec("note"))
    story.submit()
    for attempt in (2, 3):
        story.take(draft_proposal(Reply(words)))
        assert (story.thought.attempt, story.chain.strikes) == (attempt, attempt - 1)
        assert "the reply is empty" in story.thought.corrections[0].message
    story.take(draft_proposal(Reply(words)))
    assert (story.chain.status, story.final_facts) == (ChainStatus.ESCALATED, [])


def test_c11_giving_up_without_a_word_is_no_empty_reply() -> None:
    assert draft_proposal(Reply('{"next_step_decision": "fail"}')).faults == ()


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


SEND = NativeCall("send", {"to": "u1"})


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (("", SEND), ""),
        (("I am sending it.", SEND), "I am sending it."),
        (('{"tool": "send", "arguments": {"to": "u1"}}',), ""),
        (('```json\n{"tool": "send", "arguments": {"to": "u1"}}\n```',), ""),
    ],
)
def test_c6_calls_in_an_answer_are_told_apart_from_its_words(reply: tuple[str, NativeCall], text: str) -> None:
    drafted = answer(*reply, tools=TOOLS)
    assert (drafted.called, drafted.faults, drafted.text) == (("send",), (), text)


@pytest.mark.parametrize(
    "text",
    [
        'It begins with:\n```json\n{"tool": "black", "arguments": ["-l",\n```',
        'It holds "tool": "black", "arguments": ["-l", "120"]. Nothing else.',
    ],
)
def test_c6_an_answer_may_quote_what_looks_like_pieces_of_a_call(text: str) -> None:
    drafted = answer(text)
    assert (drafted.called, drafted.faults, drafted.text) == ((), (), text)
    assert draft_proposal(Reply(content=text)).faults, "in a step it may be a call that was meant"


@pytest.mark.parametrize(
    "text",
    [
        'It was made with {"tool": "send", "arguments": {"to": "u1"}} as the call.',
        'Here is the list:\n[{"name": "Ann", "arguments": {"a": 1}}]',
        'The mail reads: "<tool_call>{\\"name\\":\\"send\\"}</tool_call>" and nothing else.',
        'Sending:\n```json\n{"tool": "send", "arguments": {"to": "u1"}}\n```',
        'I would write: <tool_call>{"name": "send", "arguments": {"to": "u1"}}</tool_call>',
        '> {"tool": "send", "arguments": {"to": "u1"}}\n\nThat was the call.',
    ],
)
def test_c9_a_call_in_an_answer_counts_only_when_it_is_all_that_is_said(text: str) -> None:
    drafted = answer(text)
    assert (drafted.called, drafted.faults, drafted.text) == ((), (), text)


def test_c6_what_cannot_be_read_of_an_answer_is_told() -> None:
    assert answer("", NativeCall("send", "to Ann: hi")).faults == (
        "the arguments of send are not a JSON object within the limits",
    )
    assert answer('{"tool": "send", "argu', tools=TOOLS).called == ("send",)
    assert answer("x" * (MAX_BODY + 1)).faults == (
        f"the reply has {MAX_BODY + 1} characters; at most {MAX_BODY} are read",
    )
    assert answer("John is found.").faults == ()


TOOLS = specs(
    spec("send", parameters={"type": "object", "properties": {"to": {"type": "string"}, "text": {"type": "string"}}}),
    spec("list", parameters={"type": "object", "properties": {"folder": {"type": "string"}}}),
)
IN_DOUBT = f"{BESIDE_WORDS}, so nothing was called; {MEANT}"
MADE = '{"name": "send", "arguments": {"to": "u1"}}'
CALLED = [
    f"- {MADE}",
    f"✅ {MADE}",
    f"🔍 {MADE}",
    f"✉️ {MADE}",
    f"→ {MADE}",
    f"-> {MADE}",
    f"– {MADE}",
    f"... {MADE}",
    "send(to='u1', text='# hi')",
    '{"tool_uses": [{"recipient_name": "functions.send", "parameters": {"to": "u1"}}]}',
    '[send(to="u1", text="hi")]',
    'send(to="u1", text="hi")',
    "```tool_code\nprint(send(to='u1', text='hi'))\n```",
    "tool_code\nprint(send(to='u1', text='hi'))",
    "await send(to='u1', text='hi')",
    "print(await send(to='u1', text='hi'))",
    '{"send": {"to": "u1", "text": "hi"}}',
    "{'tool': 'send', 'arguments': {'to': 'u1', 'text': 'hi'}}",
    '{"recipient_name": "functions.send", "parameters": {"to": "u1"}}',
]
QUOTED = [
    f"`{MADE}`",
    f'"{MADE}"',
    f"'{MADE}'",
    f"„{MADE}“",
    f"> {MADE}",
    f"`<tool_call>{MADE}</tool_call>`",
    f"> <tool_call>\n> {MADE}\n> </tool_call>",
]
UNREADABLE = [
    "```tool_code\n# I send it\nsend(to='u1', text='hi')  # now\n```",
    '[send(to="u1", text=',
    '[send(to="u1", text="hi"',
    "[send(to=john, text='hi')]",
    'send("u1", "hi")',
    'send(to="u1", text=str(1))',
    '[send(to="u1", to="u2")]',
    "```tool_code\nto = find()\nsend(to=to)\n```",
    "```tool_code\nsend(to='u1',",
    '{"send": "hi"}',
    "{'send': {'to': 'u1', 'text': 'h",
    "<|tool_call_start|>[send(to=john)]<|tool_call_end|>",
    "<send><to>u1</to></send>",
    "<send>\n<to>u1</to>\n</send>",
    'send{"to": "u1"}',
    'send: {"to": "u1"}',
    '**send**\n```json\n{"to": "u1"}\n```',
    "Action: send(to='u1')",
    "Action: send\nAction Input: u1",
    "Thought: I write.\nAction: send\nAction Input: u1",
    'Tool: send\nInput: {"to": "u1"}',
    'to=functions.send {"to": "u1"}',
    'commentary to=functions.send json{"to": "u1"}',
    'assistantcommentary to=functions.send <|constrain|>json{"to": "u1"}',
    'analysisI write to her.assistantcommentary to=functions.send json {"to": "u1"}',
    'call:send{to:"u1"}',
    '<tool_use><name>send</name><arguments>{"to": "u1"}</arguments></tool_use>',
    '<tools>\n  <send to="u1"/>\n</tools>',
    '<tools>\n  <send to="u1"/>\n  <send to="u2"/>\n</tools>',
    '<send to="u1">\n  now\n</send>',
    "await send(to='u1', text='h",
    '@send(to="u1")',
    "<tool>send</tool><tool_input>u1</tool_input>",
    "<use_mcp_tool><server_name>s</server_name><tool_name>send</tool_name><arguments>{}</arguments></use_mcp_tool>",
    "<start_function_call>call:send{to:<escape>u1<escape>}<end_function_call>",
    "action: send\naction input: u1",
    "Thought: I write.\n\nAction: send\nAction Input: u1",
    "Thought: I write.\nIt is so.\nAction: send(to='u1')",
    "Action: send[u1]",
    "Action: `send`\nAction Input: u1",
    "Tool call: send(to='u1')",
    '<send to="u1"/>',
    "<send/>",
]
SHOWN = [
    'To write to her, use [send(to="u1", text="hi")].',
    'send(to="u1") writes to her; it isn\'t needed now.',
    "```python\nimport mail\nmail.send(to='u1')\n```",
    '{"send": {"to": "u1"}, "price": 3}',
    '[print("send")]',
    "<p>Please send it.</p>",
    "<send> is the tag of a call.",
    'Use send: {"to": "u1"}',
    "send: it writes {to}.",
    "Action: write to her.\nAction Input: her name",
    "```python\nsend(to='u1', text='hi')\n```",
    "<list><item>a</item></list>",
    "<list>a</list>\n<list>b</list>",
    'list: {"a": 1}',
    '{"list": {"a": 1}}',
    '{"list": ["a"]}',
    "```xml\n<list><a/></list>\n```",
]
FIRST = '{"name": "list", "arguments": {"folder": "x"}}'
QUOTATION_MARKS = "".join(
    map(chr, (0x22, 0x27, 0xAB, 0xBB, *range(0x2018, 0x2020), 0x2039, 0x203A, 0x2E42, *range(0x300C, 0x3010),
              *range(0x301D, 0x3020), *range(0xFE41, 0xFE45), 0xFF02, 0xFF07, 0xFF62, 0xFF63))
)  # fmt: skip
"""The characters with Unicode's property Quotation_Mark (PropList.txt)."""
BESIDE = [
    f"I look it up.\n{MADE}\nI'll wait for the result.",
    f"{MADE}\n\nLet me know if you need more.",
    f"{MADE} (sending)",
    f"```json\n{MADE}\n```\nI send it now.",
    f"<tool_call>{MADE}</tool_call>\nOne moment.",
    f"First I look:\n{FIRST}\nThen I send:\n{MADE}",
    f"{FIRST} and {MADE}",
    f"// look\n{FIRST}\n// send\n{MADE}",
    f"Tool 1:\n{FIRST}\nTool 2:\n{MADE}",
    f"1. List: {FIRST}\n2. Send: {MADE}",
    f"The mail says: {MADE}\n{FIRST}",
    f'The mail says: "Please call {MADE}". I ignore it.\n{FIRST}',
    f"The page shows:\n```\n{MADE}\n```",
    f"The page shows:\n```\n{MADE}\n```\n{FIRST}",
    f"The page shows:\n\n    {MADE}\n",
    f"The page has <pre>{MADE}</pre>",
    f"<mail>{MADE}</mail>",
    f"<blockquote>\n{MADE}\n</blockquote>",
    f"| mail | text |\n|---|---|\n| 1 | {MADE} |",
    f"The mail says: *{MADE}*",
    f"--- begin mail ---\n{MADE}\n--- end mail ---",
    f"He wrote:\n> Hi\n> {MADE}",
    f"I will send it: `{MADE}`",
    *(
        f"The mail says {opened}{MADE}{closed}"
        for opened, closed in (
            *(
                "❝❞",
                "〝〞",
                "＂＂",
                "｢｣",
                "⟨⟩",
                "❮❯",
                "″″",
                "≪≫",
                "＜＞",
                "🙶🙷",
                "‶‶",
                "‴‴",
                "׳׳",
                "՛՛",
                "¨¨",
                "〔〕",
                "［］",
                "〈〉",
                "《》",
            ),
            *((sign, sign) for sign in QUOTATION_MARKS),
        )
    ),
    f"The mail says ❮Please run {MADE}❯",
    f"The mail says《Please run {MADE}》",
    f"The mail says〈Please run {MADE}〉",
    f'**Action**: "{MADE}"',
    f"> I do this now:\n> {MADE}",
    f"I'll do it\n{MADE}\n'",
    "I send it.\n[send(to='u1')]",
    "I send it.\n```tool_code\nsend(to='u1')\n```",
    f"As in {MADE}:\n---JSON_OUTPUT_START---\n{FIRST}\n---JSON_OUTPUT_END---",
    'Action: list\nAction Input: {"folder": "x"}\nObservation: u1\nAction: send\nAction Input: {"to": "u1"}',
    'An agent would answer\nAction: send\nAction Input: {"to": "u1"}',
    f'I send it.\n{{"choices": [{{"message": {{"tool_calls": [{{"function": {MADE}}}]}}}}]}}\nDone.',
    "Write:\n```tool_code\nsend(to='u1')\n```",
    f'The mail reads: "{MADE}"',
    f'The mail reads: "Please run {MADE}"',
    f'The mail reads: "Please run {MADE} now."',
    f"It reads: `call {MADE}`",
    f'The page has this line:\n"\n{MADE}\n"',
    f"The mail reads: 'Do this: <tool_call>{MADE}</tool_call>'",
    f"Die Mail sagt: „Hallo,\n{MADE}“",
    f'The mail reads: "{MADE} {MADE}"',
    f"邮件里写着：「{MADE}」",
    f"邮件里写着：「{MADE}",
    f"The mail says ({MADE})",
    f"The mail says: *{MADE}",
    f"The mail says:\n> Now do it: {MADE}",
    f"The mail says:\n> 🔍 {MADE}",
    f"The mail says:\n| 🔍 {MADE}",
    f"The page shows:\n\n    Now do it: {MADE}",
    f"The page shows:\n\n    - {MADE}",
    f"The code has\n# {MADE}",
    f"The code has\n// {MADE}",
    f"The code has\nbody = {MADE}",
    f"The page shows:\n```\nHi\n{MADE}\n```",
    f"The page shows:\n```sql\nselect 1\n```\nand\n```\n{MADE}\n```",
    f"The page shows:\n```markdown\n```json\n{MADE}\n```\n```",
    f"The page shows:\n````markdown\n```\n{MADE}\n```\n````",
    f"The page shows:\n````markdown\nHi\n```sql\nselect 1\n```\n{MADE}\n````",
    "# the mail says\nsend(to='u1')",
    "[\n# the mail says\nsend(to='u1')]",
    "send(to='u1')  # the mail says",
    "send(to='u1')\n# it's what the mail says\n# and the page",
    "send(\n    to='u1',  # it's in the mail\n    text='hi',\n)",
    f"The page shows:\n````\n```json\n{MADE}\n```\n````",
    f"The page shows:\n```\n```\n{MADE}\n```\n```",
    "I send it.\n```python\nsend(to='u1', text='hi')\n```",
    "I send it.\nawait send(to='u1', text='hi')",
    "I send it.\n```py\nprint(send(to='u1', text='hi'))  # now\n```",
    "`send(to='u1')`",
    "`<send><to>u1</to></send>`",
    "- send(to='u1')",
    "> <send><to>u1</to></send>",
    *QUOTED,
]
ENDS = [
    f"{{}}{end}"
    for end in (
        "\nEND",
        "\n\nOK",
        "\n\nNone",
        " [/INST]",
        "\n<!-- end -->",
        "\nObservation: u7 is gone.",
        "</s>",
        "<|im_end|>",
        "\n...",
        "<|im_end|>\n<|im_start|>user\nAnd now?",
        "\n<tool_response>u7</tool_response>\nI see.",
        " 👍",
    )
]
OPENS = [
    "I call it.<|action_start|><|plugin|>{}<|action_end|>",
    'I call it.\n<tool_call id="1">{}</tool_call>',
    "<answer>{}</answer>",
    "**Action:** {}",
    "I send it.\n**Action**: {}",
    "```\n```json\n{}\n```",
    "❯ {}",
    "⟫ {}",
]
UNMARKED = [
    "I send it now.\n{}",
    'You said "tell Ann". I send it.\n{}',
    "I don't know her.\n\n{}",
    "Calling: {}",
    "I use `send` now:\n```json\n{}\n```",
    "> tell Ann\n\n{}",
    "Er sagt: „Hallo.\n{}",
    "我来发送：{}",
    "送ります。{}",
    "سأرسلها، {}",
    "I look it up 🔍 {}",
    "I look it up.\n🔍 {}",
    "I look it up.\n→ {}",
    "Sending — {}",
    "【发送】{}",
    "I run:\n```sql\nselect 1\n```\n{}",
    "I run:\n```\nselect 1\n```\n\nCalling: {}",
    "I run:\n~~~\n```\n~~~\n{}",
    "I run:\n```sql\nselect 1\n```\n```json\n{}\n```",
    "I use ```send``` now:\n{}",
    "I send it.\n❯ {}",
    "I send it.\n❱ {}",
    "〔工具调用〕{}",
    "I send it.\n〖工具〗{}",
    "《工具》{}",
    "I send it.\n⟦{}⟧",
    "It's 5″ {}",
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
        assert ([call.tool for call in proposal.calls] == ["send"], bool(proposal.faults)) == (called, faulty)
        assert not proposal.repaired
        assert proposal.content == words or called or faulty


@pytest.mark.parametrize("form", [*ENDS, *OPENS])
def test_c9_calls_that_end_a_reply_are_made_and_the_tokens_behind_them_cut(form: str) -> None:
    proposal = draft_proposal(Reply(form.replace("{}", MADE)), TOOLS)
    assert ([call.arguments for call in proposal.calls], proposal.faults) == ([{"to": "u1"}], ())
    assert proposal.content == "" or form in OPENS


@pytest.mark.parametrize("words", [*BESIDE, *(form.replace("{}", MADE) for form in UNMARKED)])
def test_c9_of_a_reply_that_shows_a_call_beside_words_nothing_is_made_and_what_comes_again_is_words(words: str) -> None:
    proposal = draft_proposal(Reply(words), TOOLS)
    assert (proposal.calls, proposal.faults, proposal.shown, proposal.content) == ((), (IN_DOUBT,), True, words.strip())
    again = draft_proposal(Reply(words), TOOLS, corrected=True)
    assert (again.calls, again.faults, again.shown, again.content) == ((), (), False, words.strip())
    drafted = answer(words, tools=TOOLS)
    assert (drafted.called, drafted.faults, drafted.text) == ((), (), words.strip())


NAMELESS = [
    '<tool name="hammer"><price>3</price></tool>',
    '<tools>\n  <tool name="hammer" price="3"/>\n</tools>',
    '<function name="add"><param name="a"/></function>',
    "The token <tool_call> begins a call, and a list of such tokens ends it.",
    "[TOOL_CALLS] is a token of Mistral: it begins a list.",
    "Use <function=foo> in Llama.",
    '{"price": 3, /* in euros */ "tool": "hammer"}',
    '{"tool": null, "arguments": {"price": 3}}',
]


@pytest.mark.parametrize("words", NAMELESS)
@pytest.mark.parametrize("kind", [ThoughtKind.ACT, ThoughtKind.REASON, ThoughtKind.ANSWER])
def test_c9_what_cannot_be_read_and_names_no_known_tool_is_asked_about_once(kind: ThoughtKind, words: str) -> None:
    form = AnswerRequested if kind is ThoughtKind.ANSWER else ActionRequested
    found: list[tuple[str, int]] = []
    for corrections in ((), (Correction(violation=Violation.UNREADABLE, message="it cannot be read"),)):
        request = ThoughtRequest(thought_id="c.s1.t1.1", kind=kind, step_id="s1", deadline=0, corrections=corrections)
        message = reply_to(form(id="x", source="haltpoint/executor", data=request), Reply(words), TOOLS)
        if isinstance(message, AnswerDrafted):
            found.append((message.data.text, len(message.data.faults)))
        else:
            assert isinstance(message, ActionProposed)
            found.append((message.data.proposal.content, len(message.data.proposal.faults)))
    assert found == [(words, 1), (words, 0)]


@pytest.mark.parametrize(
    "words",
    [
        '<tool name="send" to="u1"/>',
        "<tool_call>send to u1</tool_call>",
        'I write: "tool": send, "arguments": hello',
        "<function=send>[[1]]</function>",
        'Action: \'send\'\nAction Input: {"to": "u1"}',
    ],
)
def test_c9_what_names_a_known_tool_stays_unreadable(words: str) -> None:
    proposal = draft_proposal(Reply(words), TOOLS, corrected=True)
    assert (len(proposal.faults), proposal.calls, proposal.shown) == (1, (), False)


SETTINGS = '{"name": "nightly", "parameters": {"level": "INFO"}}'
UNKNOWN = [
    SETTINGS,
    f"```json\n{SETTINGS}\n```",
    '{"name": "measure_rain", "arguments": {"limit": 5}}',
    '{"name": "greet", "input": "Ann"}',
    '{"tool": "black", "arguments": ["-l", "120"]}',
    '{"calls": [{"from": "Ann", "minutes": 3}]}',
    '{"tool_calls": [{"function": {"name": "weather", "arguments": "{}"}}]}',
    '{"tool": "sned", "arguments": {"to": "u1"}}',
    '<tool_call>{"name": "sned", "arguments": {"to": "u1"}}</tool_call>',
    "<function=sned><parameter=to>u1</parameter></function>",
    'Action: sned\nAction Input: {"to": "u1"}',
    "{'name': 'nightly', 'parameters': {'level': 'INFO',}}",
]
"""What has the form of a call, of a tool that is not known."""


@pytest.mark.parametrize("words", UNKNOWN)
def test_c9_what_calls_no_known_tool_is_no_call(words: str) -> None:
    proposal = draft_proposal(Reply(words), TOOLS)
    assert (proposal.calls, len(proposal.faults), proposal.shown, proposal.repaired) == ((), 1, True, False)
    assert "no tool" in proposal.faults[0]
    assert proposal.faults[0].endswith(f", so nothing was called; {MEANT}")
    again = draft_proposal(Reply(words), TOOLS, corrected=True)
    assert (again.calls, again.faults, again.shown, again.content) == ((), (), False, words)
    drafted = answer(words, tools=TOOLS)
    assert (drafted.called, drafted.faults, drafted.text) == ((), (), words)


def test_c9_a_native_call_of_an_unknown_tool_is_one_and_so_is_one_beside_a_call_of_a_known_tool() -> None:
    assert [call.tool for call in draft_proposal(Reply("", (NativeCall("sned", {}),)), TOOLS).calls] == ["sned"]
    proposal = draft_proposal(Reply(f"{MADE}\n{SETTINGS}"), TOOLS)
    assert ([call.tool for call in proposal.calls], proposal.shown) == (["send", "nightly"], False)


@pytest.mark.parametrize(
    "words",
    [
        'It looks like this:\n\n```json\n{"name": "send", "arguments": {"to": "u1",}}\n```',
        'It looks like this:\n{"name": "send", "arguments": {"to": "u1"',
        'It looks {like this:\n{"name": "send", "arguments": {"to": "u1"}}',
        'It looks like this:\n{"tool": "list", "tool": "send", "arguments": {"to": "u1"}}',
        f"It looks like this:\n\n```xml\n<tool_call>{MADE}</tool_call>\n```",
    ],
)
def test_c9_a_broken_or_fenced_call_behind_words_is_shown_too(words: str) -> None:
    proposal = draft_proposal(Reply(words), TOOLS)
    assert (proposal.calls, proposal.faults, proposal.shown) == ((), (IN_DOUBT,), True)
    again = draft_proposal(Reply(words), TOOLS, corrected=True)
    assert (again.calls, again.faults, again.content) == ((), (), words)


@pytest.mark.parametrize("words", [*BESIDE, *UNKNOWN])
def test_c9_words_that_show_a_call_are_asked_about_once_and_cost_no_strike(words: str) -> None:
    story = Story(Task(goal="tell John", style=Style.REACT), *TOOLS.values())
    story.submit()
    story.take(draft_proposal(Reply(words), TOOLS))
    (correction,) = story.thought.corrections
    assert (correction.violation, story.chain.strikes, story.final_facts) == (Violation.UNREADABLE, 0, [])
    request = ThoughtRequest(thought_id="x", kind=ThoughtKind.REASON, deadline=0, corrections=story.thought.corrections)
    asked = ActionRequested(id="x", source="haltpoint/executor", data=request)
    message = reply_to(asked, Reply(words), TOOLS)
    assert isinstance(message, ActionProposed)
    story.take(message.data.proposal)
    assert (story.final_facts, story.chain.strikes) == (["chain.completed"], 0)
    assert story.chain.status is ChainStatus.COMPLETED


def test_c9_words_that_show_a_call_are_words_where_no_turn_is_left() -> None:
    story = Story(Task(goal="tell John", style=Style.REACT, max_turns=1), *TOOLS.values())
    story.submit()
    story.take(draft_proposal(Reply(BESIDE[0]), TOOLS))
    assert (story.final_facts, story.chain.strikes) == (["chain.completed"], 0)


PARTS = st.sampled_from(
    ["I look it up.", "She said:", '"', "`", "'", "> ", "„", "“", "\n", "\n\n", " ", "| ", "OK", "    ", "```", "- "]
)
SIGNS = st.sampled_from(["\n```json\n", "\n```\n", ", ", "<tool_call>", "🔍 ", "。", "「"])
CALLS = st.integers(0, 3).map(lambda number: f'{{"tool": "send", "arguments": {{"to": "u{number}"}}}}')


@pytest.mark.parametrize("mark", ["🔍", "✉️", "→", "->", "–", "-", "1."])
def test_c9_calls_behind_signs_on_lines_of_their_own_are_one_block(mark: str) -> None:
    proposal = draft_proposal(Reply(f"{mark} {FIRST}\n{mark} {MADE}"), TOOLS)
    assert ([call.tool for call in proposal.calls], proposal.faults) == (["list", "send"], ())


@given(st.lists(PARTS | CALLS | SIGNS, max_size=12))
def test_c7_of_the_calls_of_a_reply_all_are_made_in_their_order_or_none(parts: list[str]) -> None:
    proposal = draft_proposal(Reply("".join(parts)), TOOLS)
    written = [json.loads(part)["arguments"] for part in parts if part.startswith("{")]
    assert [call.arguments for call in proposal.calls] in (
        [],
        [one for at, one in enumerate(written) if one not in written[:at]],
    )


def test_c9_of_an_answer_in_a_list_that_is_only_a_call_nothing_is_left() -> None:
    assert [answer(f"{mark} {MADE}", tools=TOOLS).text for mark in "-✅"] == ["", ""]


@pytest.mark.parametrize("words", UNREADABLE)
def test_c6_what_cannot_be_read_ends_no_open_ended_task(words: str) -> None:
    story = Story(Task(goal="tell John", style=Style.REACT), *TOOLS.values())
    story.submit()
    story.take(draft_proposal(Reply(words), TOOLS))
    assert story.final_facts == []
    assert [one["violation"] for one in story.told("contract.violated")] == ["unreadable"]
