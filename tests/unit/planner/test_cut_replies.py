"""Replies that reached their limit of tokens (C9, F1): no call is made of a piece, and words say
that they are cut.
"""

import pytest

from haltpoint.contracts.commands import ActionRequested, AnswerRequested, ThoughtRequest
from haltpoint.contracts.events import ActionProposed, AnswerDrafted
from haltpoint.contracts.people.phrases import Phrases
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint_planner.drafting import draft_proposal
from haltpoint_planner.exchange import Finish, NativeCall, Reply
from haltpoint_planner.thoughts import reply_to

TOOLS = {"find": ToolSpec(name="find"), "send": ToolSpec(name="send")}
WHOLE = NativeCall("find", '{"name": "Anna"}')
LIMIT = "reached its limit of tokens"


@pytest.mark.parametrize(
    "words",
    [
        '{"tool":"find","arguments":{"name":"Anna',
        '```json\n{"calls": [{"tool": "find", "arguments": {"name": "Anna"}}',
        '<tool_call>{"name":"find","arguments":{"name":"Anna"',
        '<function=find>{"name": "Anna',
        'Action: find\nAction Input: {"name": "Anna',
        '<tool_call>{"name":"find","arguments":{"name":"Anna"}}</tool_call>\n<tool_call>{"name":"find","arguments":{"na',
        '```json\n{"tool":"find","arguments":{"name":"Anna"}}\n```\n```json\n{"tool":"find","argu',
        '<tool_use><name>find</name><arguments>{"name":"Anna"}',
    ],
)
def test_c9_a_call_that_is_cut_off_is_unreadable(words: str) -> None:
    proposal = draft_proposal(Reply(words, finish=Finish.LENGTH), TOOLS)
    assert proposal.calls == ()
    assert any(LIMIT in fault for fault in proposal.faults)


def test_f1_prose_in_tags_that_is_cut_off_is_words() -> None:
    words = "<p>Use find to look a person up, then"
    proposal = draft_proposal(Reply(words, finish=Finish.LENGTH), TOOLS)
    assert (proposal.calls, proposal.faults) == ((), ())
    assert proposal.content.startswith(words)


def test_c9_whole_calls_of_a_cut_reply_are_made() -> None:
    for reply in (
        Reply(calls=(WHOLE,), finish=Finish.LENGTH),
        Reply('{"tool":"find","arguments":{"name":"Anna"}}', finish=Finish.LENGTH),
    ):
        proposal = draft_proposal(reply, TOOLS)
        assert ([call.arguments for call in proposal.calls], proposal.faults) == (
            [{"name": "Anna"}],
            (),
        )


def test_c9_a_reply_without_a_word_says_that_it_had_no_tokens_left() -> None:
    assert draft_proposal(Reply("<think>so", finish=Finish.LENGTH)).faults == (
        f"the reply is empty: it {LIMIT}",
    )


@pytest.mark.parametrize("kind", [ThoughtKind.REASON, ThoughtKind.ANSWER])
def test_f1_words_that_are_cut_off_say_so_in_the_words_of_the_deployment(kind: ThoughtKind) -> None:
    for cut in (False, True):
        words = words_of(
            kind, Reply("Dear Sir, I ask you to pay", finish=Finish.LENGTH if cut else Finish.STOP)
        )
        assert words == "Dear Sir, I ask you to pay" + (" [abgeschnitten]" if cut else "")
    assert words_of(kind, Reply("", finish=Finish.LENGTH)) == ""


def words_of(kind: ThoughtKind, reply: Reply) -> str:
    request = ThoughtRequest(thought_id="c.s1.t1.1", kind=kind, step_id="s1", deadline=0)
    form = AnswerRequested if kind is ThoughtKind.ANSWER else ActionRequested
    message = reply_to(
        form(id="x", source="haltpoint/executor", data=request),
        reply,
        TOOLS,
        phrases=Phrases(cut_off="abgeschnitten"),
    )
    if isinstance(message, AnswerDrafted):
        return message.data.text
    assert isinstance(message, ActionProposed)
    return message.data.proposal.content
