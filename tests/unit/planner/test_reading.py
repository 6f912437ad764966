"""What a model said (C9): native calls, else one JSON object in the documents' forms, else words.
Nothing is repaired; what cannot be read is told as what it is.
"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haltpoint.contracts.tools import END_STEP
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.thoughts import Proposal
from haltpoint.runtime.streams.wire import encode
from haltpoint_planner.drafting import MAX_CONTENT, draft_answer, draft_proposal
from haltpoint_planner.exchange import Finish, NativeCall, Reply
from haltpoint_planner.plan_drafting import draft_bounds, draft_plan
from tests.support.builders import spec, specs

KNOWN = specs(spec("find"), spec("send"))
ANNA = {"name": "Anna"}
CALL = ProposedCall(tool="find", arguments=ANNA)
OBJECT = json.dumps({"tool": "find", "arguments": ANNA})


def drafted(words: str, *calls: NativeCall, due: bool = True, **more: Any) -> Proposal:
    return draft_proposal(Reply(words, calls, **more), KNOWN, due=due)


def native(arguments: object, name: str = "find") -> Proposal:
    return drafted("", NativeCall(name, arguments))


FORMS = [
    {"tool": "find", "arguments": ANNA},
    {"name": "find", "arguments": ANNA},
    {"tool_name": "find", "parameters": ANNA},
    {"toolName": "find", "args": ANNA},
    {"toolCalls": [{"toolName": "find", "arguments": ANNA}]},
    {"tool_calls": [{"name": "find", "args": ANNA}]},
    {"tool_calls": [{"tool": "find", "parameters": json.dumps(ANNA)}], "content": ""},
    {"should_call_tool": True, "tool_name": "find", "parameters": ANNA, "reasoning": ""},
]
PLACES = [
    "{}",
    "\n {} \n",
    "```json\n{}\n```",
    "```\n{}\n```",
    "---JSON_OUTPUT_START---\n{}\n---JSON_OUTPUT_END---",
    "---JSON_OUTPUT_START---\n```json\n{}\n```\n---JSON_OUTPUT_END---",
    "<tool_call>{}</tool_call>",
    "<tool_call>\n{}",
    '<think>Or {{"tool": "send"}}?</think>{}',
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("due", [True, False])
def test_c9_one_object_in_the_documents_forms_is_a_call(
    form: dict[str, Any], place: str, due: bool
) -> None:
    proposal = drafted(place.format(json.dumps(form)), due=due)
    assert (proposal.calls, proposal.faults, proposal.content) == ((CALL,), (), "")


@pytest.mark.parametrize("place", ["Well: {}", "{}\nThen I write.", "So:\n```json\n{}\n```\nBye."])
def test_c9_words_may_be_beside_the_object_where_a_call_is_due_and_nowhere_else(place: str) -> None:
    words = place.format(OBJECT)
    assert drafted(words).calls == (CALL,)
    assert drafted(words, due=False) == Proposal(content=words)
    assert draft_answer(Reply(words), KNOWN) == (words, ())


def test_c9_native_calls_go_before_and_the_words_beside_them_are_words() -> None:
    proposal = drafted(OBJECT, NativeCall("send", {}))
    assert [call.tool for call in proposal.calls] == ["send"]
    assert proposal.content == OBJECT


def test_c9_two_equal_calls_of_a_reply_are_two_calls() -> None:
    assert drafted("", NativeCall("find", ANNA), NativeCall("find", json.dumps(ANNA))).calls == (
        CALL,
        CALL,
    )


@pytest.mark.parametrize(
    "arguments", [None, "", " \n", "null", '""', '"null"', "{}", {}, "```json\n{}\n```"]
)
def test_c9_nothing_in_any_spelling_is_no_arguments(arguments: object) -> None:
    assert native(arguments).calls == (ProposedCall(tool="find"),)


@pytest.mark.parametrize(
    "arguments",
    [ANNA, json.dumps(ANNA), json.dumps(json.dumps(ANNA)), f"```\n{json.dumps(ANNA)}\n```"],
)
def test_c9_arguments_are_an_object_or_its_json(arguments: object) -> None:
    assert native(arguments).calls == (CALL,)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ('{"name": "An', "its JSON is cut off at character 10: Unterminated string starting at"),
        ('{"name": "Anna",}', "its JSON is broken at character 17: Expecting property name"),
        ("{'name': 'Anna'}", "its JSON is broken at character 2"),
        ('{"name": 1}{"name": 2}', "it has two JSON objects where one is read"),
        ('{"name": 1} and so on', "it has words beside the JSON: 'and so on'"),
        ('{"name": 1, "name": 2}', "it is not JSON: it has the key 'name' twice"),
        ('{"name": NaN}', "it is not JSON: it has NaN, which is not a JSON number"),
        ('{"name": 1e999}', "it has a number that is too large: 1e999"),
        ('{"name": ' + "9" * 5000 + "}", "has a number of 5000 digits"),
        ('{"name": "\\ud800"}', "it has half of a character"),
        ('{"a":' * 40 + "1" + "}" * 40, "its JSON is nested more than 32 levels deep"),
        ('{"a":' * 50_000, "its JSON is nested more than 32 levels deep"),
        ("Anna", "its JSON is broken at character 1"),
        ("[1]", "they are not a JSON object"),
        (7, "they are not a JSON object"),
        ({"name": float("nan")}, "it is not JSON: it has NaN"),
        ({"name": "\ud800"}, "it has half of a character"),
    ],
)
def test_c9_arguments_that_cannot_be_read_are_told_as_what_they_are(
    arguments: object, fault: str
) -> None:
    proposal = native(arguments)
    assert proposal.calls == ()
    assert proposal.faults[0].startswith("the arguments of find: ")
    assert fault in proposal.faults[0]


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ('{"tool": "find", "arguments": {', "its JSON is cut off at character 32"),
        (f"{OBJECT}\n{OBJECT}", "it has two JSON objects where one is read"),
        (f"[{OBJECT}, {OBJECT}]", "it has two JSON objects where one is read"),
        ('{"tool": "find", "tool": "send", "arguments": {}}', "the key 'tool' twice"),
        ('{"tool": "find", "name": "send", "arguments": {}}', "has both tool and name"),
        ('{"tool": "find", "args": {}, "arguments": {}}', "it has both args and arguments"),
        ('{"toolName": "a", "tool_name": "b"}', "it has both toolName and tool_name"),
        ('{"found": "Anna"}', "its JSON object names no tool"),
        ('{"tool_calls": [{"arguments": {}}]}', "one of its calls names no tool"),
        ('{"tool_calls": ["find"]}', "one of its calls names no tool"),
        ('{"tool_calls": "find"}', "its tool_calls are not a list"),
        ("", "it is empty: it has neither words nor calls"),
        ("<think>Hm.</think>\u200b", "it is empty: it has neither words nor calls"),
        ("x" * 300_000, "it has 300000 characters; at most 262144 are read"),
    ],
)
def test_c9_a_reply_that_cannot_be_read_is_told_as_what_it_is(words: str, fault: str) -> None:
    proposal = drafted(words)
    assert proposal.calls == ()
    assert [fault in told for told in proposal.faults] == [True]


@pytest.mark.parametrize(
    "words", ["The name is Anna.", "find(name='Anna')", "[TOOL_CALLS]find{}", "<function=find>"]
)
def test_c9_all_else_is_words(words: str) -> None:
    for due in (True, False):
        assert drafted(words, due=due) == Proposal(content=words)


@pytest.mark.parametrize(
    "words",
    [
        '{"found": "Anna"}',
        '{"tool": "vault", "arguments": {}}',
        '{"tool": "find", "arguments": {',
        '{"a": 1} {"b": 2}',
        '{"name": "Anna", "parameters": {"age": 3}}',
    ],
)
def test_c9_json_that_is_no_call_of_a_known_tool_is_words_where_nothing_is_due(words: str) -> None:
    assert drafted(words, due=False) == Proposal(content=words)
    assert draft_answer(Reply(words), KNOWN) == (words, ())


@pytest.mark.parametrize(
    "words",
    [
        '{"content": "Anna is there.", "nextStepDecision": "continue"}',
        '```json\n{"content": "Anna is there.", "toolCalls": []}\n```',
        '{"should_call_tool": false, "reasoning": "Anna is there."}',
    ],
)
def test_c9_words_in_the_documents_form_are_words(words: str) -> None:
    assert drafted(words) == drafted(words, due=False) == Proposal(content="Anna is there.")
    assert draft_answer(Reply(words), KNOWN) == ("Anna is there.", ())


@pytest.mark.parametrize("due", [True, False])
def test_c11_the_documents_fail_is_the_end_of_the_step(due: bool) -> None:
    proposal = drafted('{"content": "No such person.", "next_step_decision": "fail"}', due=due)
    assert [(call.tool, call.arguments) for call in proposal.calls] == [
        (END_STEP, {"outcome": "impossible", "reason": "No such person."})
    ]


def test_c9_an_answer_that_calls_a_known_tool_says_which() -> None:
    assert draft_answer(Reply(OBJECT), KNOWN) == ("", ("find",))
    assert draft_answer(Reply("So:", (NativeCall("send", {}),)), KNOWN) == ("So:", ("send",))


# ---- replies that end too early
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "calls"),
    [
        (OBJECT[:-3], ()),
        (f"```json\n{OBJECT[:-3]}", ()),
        ("", (NativeCall("find", '{"name": "An'),)),
        ("", (NativeCall("find", ""),)),
        ("<think>so", ()),
    ],
)
def test_c9_no_call_is_made_of_a_piece(words: str, calls: tuple[NativeCall, ...]) -> None:
    proposal = drafted(words, *calls, finish=Finish.LENGTH)
    assert proposal.calls == ()
    assert "it reached its limit of tokens" in proposal.faults[0]


def test_c9_whole_calls_of_a_cut_reply_are_made() -> None:
    assert drafted(OBJECT, finish=Finish.LENGTH).calls == (CALL,)
    assert drafted("", NativeCall("find", ANNA), finish=Finish.LENGTH).calls == (CALL,)


def test_an_empty_reply_says_that_a_filter_stopped_it() -> None:
    (fault,) = drafted("", finish=Finish.FILTER).faults
    assert fault == "it is empty: the provider's content filter stopped it"


# ---- limits
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", ["x", "ä", "\U0001f600", '"', "\n", "\u0001"])
def test_an_answer_is_cut_only_where_a_message_is_full(sign: str) -> None:
    """A letter, a table, a translation: all of it is delivered."""
    size = len(encode(sign)) - 2
    long, longer = (
        f"A{sign * count}Z" for count in ((MAX_CONTENT - 4) // size, MAX_CONTENT // size)
    )
    assert draft_answer(Reply(long), KNOWN)[0] == long
    shown, _ = draft_answer(Reply(longer), KNOWN)
    kept, mark, number = shown.partition(" [cut: ")
    assert (longer.startswith(kept), mark) == (True, " [cut: ")
    assert int(number.removesuffix(" more characters]")) == len(longer) - len(kept)
    assert MAX_CONTENT - size <= len(encode(kept)) <= MAX_CONTENT


def test_c9_a_crowd_of_calls_is_told() -> None:
    proposal = drafted("", *[NativeCall("find", {})] * 40)
    assert len(proposal.calls) == 32
    assert proposal.faults == ("at most 32 calls of a reply are read: 8 are left out",)


BRICKS = ["{", "}", "[", '{"a":', '"', "\\", "`", "```", "```json\n", "<tool_call>", " ", "\n", "a"]
BRICKS += ["---JSON_OUTPUT_START---", "<think>", "</think>", OBJECT, "{}", ",", '{"steps": [']


@given(st.lists(st.sampled_from(BRICKS), max_size=30).map("".join))
def test_r11_whatever_is_said_is_read_without_an_error(words: str) -> None:
    for due in (True, False):
        encode(drafted(words, due=due))
    draft_plan(Reply(words))
    draft_bounds(Reply(words))


@pytest.mark.parametrize("brick", BRICKS)
@pytest.mark.timeout(20)
def test_r11_reading_takes_no_longer_the_more_often_a_piece_is_repeated(brick: str) -> None:
    words = brick * (250_000 // len(brick))
    drafted(words)
    drafted(words, due=False)
    draft_plan(Reply(words))
