"""What nobody can read of a reply, and calls where none can run: told to the model, counted, never
taken for words.
"""

from functools import partial
from typing import Any

import pytest

from haltpoint.chain.checks.core_tools import HUMAN_SPEC as ASK_HUMAN
from haltpoint.contracts.work.plans import ProposedCall, Step
from haltpoint.contracts.work.thoughts import Proposal, Violation
from tests.support.builders import call, owing, writing
from tests.unit.chain.story import LOOKUP, TO, Story, with_plan

SEND = writing("send", parameters=TO)
FAULT = "the arguments of send are not a JSON object within the limits"
MODES = ("strict", "advisory", "off")


planned = partial(with_plan, (LOOKUP, SEND, ASK_HUMAN))


def react(**task: Any) -> Story:
    return planned(style="react", **task)


def thinking(**task: Any) -> Story:
    return planned(Step(id="think"), **task)


def unread(*calls: ProposedCall, content: str = "") -> Proposal:
    return Proposal(content=content, calls=calls, faults=(FAULT,))


# ---- steps (C4, C6, D1)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("begin", [react, thinking])
def test_c6_a_call_that_cannot_be_read_is_a_violation_where_words_would_do(
    begin: Any, mode: str
) -> None:
    """In every mode, like the schemas: what nobody can read is no content."""
    told = begin(mode=mode)
    told.take(unread(content="Sending."))

    assert told.status == "executing"
    [correction] = told.thought.corrections
    assert correction.violation is Violation.UNREADABLE
    assert FAULT in correction.message
    assert '{"tool": "<name>", "arguments": {"<parameter>": "<value>"}}' in correction.form
    assert told.violations == ["unreadable"]
    assert told.strikes == (mode == "strict")
    assert told.thought.attempt == 2


def test_d1_a_tool_step_is_shown_the_form_of_the_call_that_could_not_be_read() -> None:
    told = planned(owing("send", "send"))
    told.take(unread())

    [correction] = told.thought.corrections
    assert correction.violation is Violation.UNREADABLE
    assert '{"tool":"send","arguments":{"to":"<to>"}}' in correction.form


@pytest.mark.parametrize("mode", MODES)
def test_c7_the_valid_siblings_of_an_unreadable_call_run_and_the_correction_goes_with_their_results(
    mode: str,
) -> None:
    told = planned(owing("both", "lookup", "send"), mode=mode)
    told.take(unread(call("lookup")))

    assert told.tools_called == ["lookup"]
    assert told.violations == ["unreadable"]
    assert told.strikes == (mode == "strict")
    told.returns('{"id": "u1"}')
    assert told.faults == [Violation.UNREADABLE]
    assert '"tool":"send"' in told.thought.corrections[0].form
    assert (told.thought.turn, told.thought.attempt) == (2, 1)
    assert told.strikes == 0


def test_c6_an_unreadable_call_beside_a_refused_one_is_told_with_it() -> None:
    told = planned(owing("both", "lookup", "send"))
    told.take(unread(call("nope")))

    assert told.dispatches == []
    assert told.faults == [
        Violation.UNREADABLE,
        Violation.UNKNOWN_TOOL,
    ]
    assert told.strikes == 1


# ---- the answer (C6, F2)


def spoken(**task: Any) -> Story:
    """A chain whose work is done: the words for the user are asked for."""
    told = planned(owing("find", "lookup"), **task)
    told.calls("lookup")
    told.returns('{"name": "John"}')
    return told


def in_place_of_words(why: str) -> str:
    return f'There is no answer in words: {why}.\nThe results:\nlookup: {{"name": "John"}}'


@pytest.mark.parametrize("words", ["", "I am sending it."])
def test_c6_an_answer_that_calls_is_asked_for_again_and_then_its_words_are_delivered(
    words: str,
) -> None:
    told = spoken()
    told.say(words, "send", "send", "lookup")

    [correction] = told.thought.corrections
    assert (correction.violation, correction.tool) == (Violation.NOT_ALLOWED, "send")
    assert correction.message.startswith("send cannot be called now")
    assert "plain words" in correction.message
    assert told.strikes == 1
    told.say(words, "send")
    told.say(words, "send")
    assert told.status == "completed"
    assert told.final_answer == (words or in_place_of_words("the model said nothing"))
    assert told.violations == ["not_allowed"] * 3


@pytest.mark.parametrize("mode", ["advisory", "off"])
def test_d4_where_nobody_is_held_to_its_word_the_receipts_stand_for_what_is_no_words(
    mode: str,
) -> None:
    told = spoken(mode=mode)
    told.say("", "send")
    assert (told.final_answer, told.violations) == (
        in_place_of_words("the model said nothing"),
        ["not_allowed"],
    )

    told = spoken(mode=mode)
    told.say("John is found.", "send")
    assert (told.final_answer, told.violations) == ("John is found.", ["not_allowed"])


def test_an_answer_of_no_words_is_the_receipts() -> None:
    told = spoken()
    told.say("")
    assert (told.final_answer, told.violations) == (
        in_place_of_words("the model said nothing"),
        [],
    )

    told = react()
    told.calls("lookup")
    told.returns('{"name": "John"}')
    told.propose()
    assert told.final_answer == in_place_of_words("the model said nothing")
