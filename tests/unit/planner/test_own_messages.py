"""The provider's own messages (C9): kept with their thoughts, sent back as they came, and each call
answered.
"""

import json
from typing import Any

import pytest

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.work.plans import Plan, ProposedCall, Step
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import Correction, Proposal, ThoughtKind, Violation
from haltpoint.runtime.streams.wire import encode
from haltpoint_planner.exchange import NativeCall, Reply
from haltpoint_planner.own_messages import MOST, Own, fresh_ids, kept, sent_back
from haltpoint_planner.prompting import prompts
from haltpoint_planner.prompting.context import Context, Receipt
from haltpoint_planner.prompting.turns import Turn, turns_of
from tests.support.builders import OK, asks, failed, spec, specs

SIGNATURE = {"google": {"thought_signature": "Q0FG"}}


def called(name: str, arguments: object = "{}", number: str = "c1", **more: Any) -> JsonObject:
    function = {"name": name, "arguments": arguments}
    return {"id": number, "type": "function", "function": function, **more}


def own(*calls: JsonObject, after: int = 0, by: str = ":a", **more: Any) -> Own:
    return Own(by, after, {"role": "assistant", "content": None, "tool_calls": list(calls), **more})


def receipt(number: int, tool: str = "find", arguments: str = "{}", outcome: Any = OK) -> Receipt:
    return Receipt("s", tool, arguments, outcome, "{}", number=number)


def reply_of(message: JsonObject) -> tuple[Reply, Proposal]:
    functions = [call["function"] for call in message.get("tool_calls", ())]
    natives = tuple(NativeCall(one["name"], one["arguments"]) for one in functions)
    calls = tuple(ProposedCall(tool=one["name"]) for one in functions)
    return Reply("", natives, message=message), Proposal(calls=calls)


def test_a_message_is_kept_whole() -> None:
    message = {"role": "assistant", "reasoning_content": "Hm.", "tool_calls": [called("find")]}
    reply, proposal = reply_of(message)
    assert kept(reply, proposal, ":a", 3, ()) == encode(Own(":a", 3, message))


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": "Words."},
        {"role": "assistant", "tool_calls": [called("find", "{broken")]},
        {"role": "assistant", "tool_calls": [called("find")], "reasoning": "x" * MOST},
        {"role": "assistant", "tool_calls": [called("find")], "reasoning": "\ud800"},
    ],
)
def test_a_message_that_its_server_may_refuse_or_that_is_too_long_is_not_kept(
    message: JsonObject,
) -> None:
    reply, proposal = reply_of(message)
    assert kept(reply, proposal, ":a", 0, ()) == b""


@pytest.mark.parametrize("calls", [(), (called("find", "{broken"),)])
def test_of_words_and_of_calls_that_no_server_takes_back_is_kept_what_was_beside_them(
    calls: tuple[JsonObject, ...],
) -> None:
    """DeepSeek refuses a conversation in which the reasoning of a message of its own is missing."""
    words = {"role": "assistant", "content": "I find her.", "refusal": None}
    reply, proposal = reply_of({**words, "tool_calls": list(calls), "reasoning_content": "Hm."})
    stored = kept(reply, proposal, ":a", 0, ())
    assert stored == encode(Own(":a", 0, {"reasoning_content": "Hm."}))


@pytest.mark.parametrize(("to", "beside"), [(":a", {"reasoning": "Hm."}), (":b", {})])
def test_words_that_were_refused_go_back_to_their_model_with_what_was_beside_them(
    to: str, beside: JsonObject
) -> None:
    correction = Correction(violation=Violation.NO_CALL, message="No call.", form="")
    request = ThoughtRequest(
        thought_id="c.s.t1.2",
        kind=ThoughtKind.ACT,
        step_id="s",
        deadline=0,
        due=(("find",),),
        corrections=(correction,),
        previous="c.s.t1.1",
    )
    asked = Context(
        request,
        Task(goal="Find all"),
        Plan(steps=(Step(id="s", description="Find all", required_tools=("find",)),)),
        previous="I find her.",
        tools=specs(spec("find")),
        owned={"s.t1.1": Own(":a", 0, {"reasoning": "Hm."})},
        by=to,
    )
    said = prompts.build(asked).messages[-2]
    assert said == {"role": "assistant", "content": "I find her.", **beside}


def test_a_name_with_a_dot_goes_back_where_it_is_of_a_tool() -> None:
    reply, proposal = reply_of({"role": "assistant", "tool_calls": [called("mail.send")]})
    assert kept(reply, proposal, ":a", 0, ()) == b""
    assert kept(reply, proposal, ":a", 0, ("mail.send",))


def test_a_message_of_which_a_call_was_not_read_is_not_kept() -> None:
    message = {"role": "assistant", "tool_calls": [called("find"), called("send")]}
    reply, proposal = reply_of(message)
    assert kept(reply, Proposal(calls=proposal.calls[:1]), ":a", 0, ()) == b""


def test_the_same_model_gets_its_message_as_it_came_and_another_one_words_and_calls() -> None:
    said = own(called("find", extra_content=SIGNATURE), reasoning_content="Hm.", content="Well.")
    assert sent_back(said, ":a", fresh_ids()) == said.message
    assert sent_back(said, ":b", fresh_ids()) == {
        "role": "assistant",
        "content": "Well.",
        "tool_calls": [called("find", number="call00001")],
    }


def test_another_model_gets_arguments_as_text() -> None:
    said = own(called("find", {"name": "John"}))
    (call,) = sent_back(said, ":b", fresh_ids())["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"name": "John"}


@pytest.mark.parametrize("number", ["x", "", None, 0, 7, ["x"]])
def test_ids_that_are_missing_repeat_or_are_no_texts_are_filled_in(number: Any) -> None:
    said = own(called("a", number="x"), called("b", number=number))
    ids = [call["id"] for call in sent_back(said, ":a", fresh_ids())["tool_calls"]]
    assert ids == ["x", "call00001"]


# ---- which receipts are of which message
# --------------------------------------------------------------------------------------------------


def test_each_message_has_the_receipts_of_its_calls_whatever_ran_beside_it() -> None:
    said = own(called("find"), called("find", number="c2"))
    beside = Receipt("b", "find", "{}", OK, "{}", number=1)
    receipts = [receipt(1), beside, receipt(2)]
    turns = turns_of(receipts, {"s.t1.1": said, "b.t1.1": own()})
    assert [turn.results for turn in turns] == [{0: receipts[0], 1: receipts[2]}, {0: beside}]


def test_of_several_attempts_the_last_one_was_acted_on() -> None:
    refused, taken = own(called("send")), own(called("find"))
    ran = receipt(1)
    assert list(turns_of([ran], {"s.t1.2": taken, "s.t1.1": refused})) == [Turn(taken, {0: ran})]


def test_equal_arguments_go_together_whatever_the_order() -> None:
    said = own(called("find", '{"name": "Ann"}'), called("find", '{"name": "Bob"}', "c2"))
    bob = receipt(1, arguments='{"name":"Bob"}')
    assert list(turns_of([bob], {"s.t1.1": said})) == [Turn(said, {1: bob})]


def test_what_no_call_of_the_message_did_stands_alone() -> None:
    given = receipt(1, "by_hand")
    (turn,) = turns_of([given], {"s.t1.1": own(called("find"))})
    assert (turn.results, sent_back(turn.own, ":a", fresh_ids())["tool_calls"]) == (
        {0: given},
        [called("by_hand", number="call00001")],
    )


@pytest.mark.parametrize(
    ("outcome", "why"),
    [
        (OK, "one action per turn"),
        (failed(), "the call before it failed"),
        (asks("a"), "a person was asked"),
    ],
)
def test_a_call_that_did_not_run_says_why(outcome: Any, why: str) -> None:
    said = own(called("find"), called("send", number="c2"))
    assert Turn(said, {0: receipt(1, outcome=outcome)}).why_not(1) == why


def test_long_thoughts_leave_the_prompt_from_the_oldest_on() -> None:
    thoughts = {
        f"s.t{turn}.1": own(called("find"), after=turn - 1, reasoning_content=str(turn) * 6_000)
        for turn in range(1, 9)
    }
    step = Step(id="s", description="Find all", required_tools=("find",))
    request = ThoughtRequest(
        thought_id="c.s.t9.1", kind=ThoughtKind.ACT, step_id="s", deadline=0, due=(("find",),)
    )
    asked = Context(
        request,
        Task(goal="Find all"),
        Plan(steps=(step,)),
        tuple(receipt(number) for number in range(1, 9)),
        tools=specs(spec("find")),
        owned=thoughts,
        by=":a",
        room=10_000,
    )
    messages = prompts.build(asked).messages
    thinking = [one["reasoning_content"][0] for one in messages if "reasoning_content" in one]
    assert thinking == ["8"]
    calls = [message for message in messages if message["role"] == "assistant"]
    assert len(calls) == 8
