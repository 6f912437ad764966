"""The honest exits in plain words (C11): words behind an error end a step, and a question goes to a
person.
"""

from functools import partial

import pytest

from haltpoint.chain.checks.core_tools import HUMAN_SPEC as ASK_HUMAN
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.state import ChainError
from haltpoint.chain.turns.asking import QUESTION
from haltpoint.contracts.answers import WhyNot
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.policy import Pattern
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.tools import END_STEP
from haltpoint.contracts.work.bounds import LeftOut
from haltpoint.contracts.work.plans import Step
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import ThoughtKind, Violation
from tests.support.builders import (
    SURE,
    asks,
    call,
    open_task,
    owing,
    plan,
    spec,
    tool_step,
    writing,
)
from tests.unit.chain.story import FIND, LOOKUP, Story, submitted, with_plan

SEND = writing("send")
SEND_TO = writing("send", provenance={"to": ("lookup.id",)})
SENDING = Policy(patterns=(Pattern(id="send", pattern="tell", tools=("send",)),))
WHICH = "There are two Johns. Which one do you mean?"


told = partial(with_plan, (LOOKUP, SEND, ASK_HUMAN))


@pytest.mark.parametrize(
    ("words", "asks"),
    [
        (WHICH, True), ("Welcher John?", True), ("どのジョンですか？", True), ("أي جون؟", True),
        ('He said: "Which one?"', True),
        ("Which one? I take the first.", False), ("Done.", False), ("", False),
    ],
)  # fmt: skip
def test_c11_the_last_sentence_decides_whether_words_are_a_question(words: str, asks: bool) -> None:
    assert bool(QUESTION.search(words)) is asks


def test_c11_words_behind_a_success_are_a_strike() -> None:
    story = told(owing("both", "lookup", "send"))
    story.calls("lookup")
    story.result()
    story.writes("That is all.")

    assert story.violations == ["no_call"]


def test_c11_a_question_in_a_tool_step_goes_to_a_person_and_its_answer_to_the_model() -> None:
    story = told(FIND)
    story.writes(WHICH)

    [asked] = story.questions
    assert (asked.question, asked.kind) == (WHICH, RequestKind.INPUT)
    assert (story.status, story.strikes) == ("awaiting_input", 0)
    story.tell("John Smith")
    assert story.thought.receipts == ("c.find.1",)
    assert story.chain.actions["c.find.1"].data == '{"answer":"John Smith","said":"John Smith"}'
    story.calls("lookup")
    story.result()
    assert story.statuses == {"find": "completed"}


def test_c4_a_draft_that_ends_in_a_question_is_no_question_to_a_person() -> None:
    story = told(Step(id="draft"), owing("send", "send", dependencies=("draft",)))
    story.writes("Hi Bob,\nwhen do you have time?")
    assert (story.statuses["draft"], story.questions) == ("completed", [])


def test_c11_a_question_in_an_open_ended_task_that_owes_a_call_goes_to_a_person() -> None:
    story = told(style="react", policy=SENDING)
    story.writes(WHICH)
    assert story.status == "awaiting_input"


def test_c11_after_an_answer_in_its_step_words_that_ask_are_no_question_any_more() -> None:
    story = told(FIND)
    story.writes(WHICH)
    story.tell("John Smith")
    story.writes("Really John Smith?")

    assert len(story.questions) == 1
    assert story.violations == ["no_call"]


# ---- end_step (C11)


def at_send(data: str = "{}") -> Story:
    """A plan whose first step has looked something up, with this result; now it is the turn of the
    step that sends.
    """
    story = told(FIND, Step(id="send", required_tools=("send",), dependencies=("find",)))
    story.calls("lookup", query="overdue")
    story.returns(data)
    return story


def ended(story: Story) -> tuple[str, bool]:
    """How the step that sends is, and whether a person is asked."""
    return story.statuses["send"], story.status == "escalated"


@pytest.mark.parametrize("outcome", ["impossible", "not_needed"])
def test_c11_a_step_behind_a_reading_that_was_not_struck_is_skipped(outcome: str) -> None:
    story = at_send(data='{"ids": ["a"]}')
    story.end("Nobody is overdue.", outcome)

    assert ended(story) == ("skipped", False)
    assert story.chain.left_out == (LeftOut(tools=("send",), reason="Nobody is overdue."),)
    assert story.told("contract.violated") == []
    [receipt] = story.resolved
    assert (receipt.action.id, receipt.action.tool) == ("c.send.1", "end_step")


@pytest.mark.parametrize(
    ("data", "left_out"),
    [
        ("{}", True),
        ('{"ids": []}', True),
        ('{"ids": [], "page": 1, "doctor": "Dr. Weiss"}', True),
        ('{"ids": [], "paging": {"next": null, "total": 0}}', True),
        ('{"ids": ["a"]}', False),
        ('{"ids": [], "owner": {"id": "a"}}', False),
        ('{"count": 3}', False),
    ],
)
def test_c11_a_step_that_was_struck_is_skipped_behind_an_empty_reading_alone(
    data: str, left_out: bool
) -> None:
    """A lazy model behind a lookup: what was found is no reason."""
    story = at_send(data=data)
    story.writes("I do not want to.")
    story.end("Not now.", "not_needed")

    assert ended(story) == (("skipped", False) if left_out else ("waiting", True))


def test_c11_a_lookup_that_found_nothing_is_an_empty_reading_and_no_error() -> None:
    story = told(FIND, owing("send", "send", dependencies=("find",)))
    story.calls("lookup")
    story.fails(ErrorType.NOT_FOUND, "no such contact")
    story.writes("There is no John.")
    assert story.violations == ["no_call"]
    story.end("There is no John.")
    assert story.statuses == {"find": "skipped", "send": "in_progress"}
    story.end("There is no John.")
    assert story.statuses["send"] == "skipped"
    story.say("There is no John.")
    assert (story.status, story.chain.end.unfinished) == ("completed", True)
    assert [(one.tool, one.why, one.message) for one in story.chain.end.not_done] == [
        ("lookup", WhyNot.FAILED, "no such contact"),
        ("send", WhyNot.LEFT_OUT, "There is no John."),
    ]


def test_c11_a_blank_reason_completes_no_step_that_owes_something() -> None:
    story = at_send()
    story.end(" ")

    assert ended(story) == ("skipped", False)
    assert story.chain.left_out == (LeftOut(tools=("send",), reason=""),)


def unread() -> Story:
    """A step that sends, and no reading anywhere."""
    return told(owing("send", "send"))


def test_c11_strict_asks_a_person_once_and_their_yes_leaves_the_step_out() -> None:
    story = unread()
    story.end("It is late.", "not_needed")
    [asked] = story.questions
    assert (asked.kind, asked.action_id) == (RequestKind.LEAVE_OUT, "c.send.1")
    assert (
        asked.question
        == "The model wants to end step 'send' without send (not_needed): It is late."
    )
    story.answer(RequestKind.LEAVE_OUT, Choice.ACCEPT)

    assert ended(story) == ("skipped", False)
    assert story.chain.left_out == (LeftOut(tools=("send",), reason="It is late."),)
    story.say("It was left out.")
    assert (story.status, story.chain.end.unfinished) == ("completed", True)


def insisted() -> Story:
    """A person wants the step done that the model wanted to end."""
    story = unread()
    story.end("It is late.", "not_needed")
    story.answer(RequestKind.LEAVE_OUT, Choice.INSIST, text="do it")
    return story


def test_c11_after_insist_the_end_of_the_step_is_a_strike() -> None:
    story = insisted()
    assert story.chain.actions["c.send.1"].data == (
        '{"answer":"A person insists on it. do it","said":"do it"}'
    )
    assert story.thought.receipts == ("c.send.1",)
    story.end("It is late.", "not_needed")
    (fault,) = story.thought.corrections
    assert (fault.violation, fault.tool) == (Violation.UNFOUNDED_END, "send")
    assert fault.message == "A person wants this done: send. The step does not end without it."
    assert END_STEP not in fault.form
    assert len(story.questions) == 1, "they are not asked again"
    story.writes("It is late.")
    story.writes("It is late.")
    assert story.status == "escalated"


def test_c11_after_insist_an_error_ends_no_step_by_end_step_or_by_words() -> None:
    story = insisted()
    story.calls("send")
    story.fails(ErrorType.SERVER, "it is down")
    story.end("It is down.", "impossible")
    story.writes("It is down.")
    faults = story.violations
    assert (story.statuses["send"], faults) == ("in_progress", ["unfounded_end", "unfounded_end"])


def test_c11_after_insist_a_step_that_has_all_that_is_due_may_end() -> None:
    story = told(owing("send", "send", each=True))
    story.end("It is late.", "not_needed")
    story.answer(RequestKind.LEAVE_OUT, Choice.INSIST, text="do it")
    story.calls("send")
    story.result()
    story.end("All are sent.", "not_needed")

    assert ended(story) == ("completed", False)
    assert story.told("contract.violated") == []


def test_c11_an_answer_that_is_not_given_fails_the_step() -> None:
    story = unread()
    story.end()
    story.due("c.r1", at=story.now + 25 * 3_600_000)
    assert (story.error.code, story.statuses) == ("HP-210", {"send": "failed"})


@pytest.mark.parametrize("mode", ["advisory", "off"])
def test_c11_in_no_other_mode_a_person_is_asked(mode: str) -> None:
    story = told(owing("send", "send"), mode=mode)
    story.end()
    assert ended(story) == ("skipped", False)


def test_c11_a_person_who_has_answered_the_model_may_be_the_reason() -> None:
    story = unread()
    story.writes("Shall I really?")
    story.tell("stop, forget it")
    story.writes("I leave it.")
    story.end("A person said stop.", "not_needed")

    assert ended(story) == ("skipped", False)


@pytest.mark.parametrize("by_pattern", [False, True])
def test_c11_an_optional_step_is_left_out_unless_the_task_requires_it(by_pattern: bool) -> None:
    step = owing("send", "send", optional=True)
    story = told(step, policy=SENDING if by_pattern else None)
    story.end("Not needed.", "not_needed")

    assert ended(story) == (("waiting", True) if by_pattern else ("skipped", False))


@pytest.mark.parametrize("in_words", [False, True])
def test_c11_after_an_error_a_step_of_a_plan_fails_with_the_tools_words(in_words: bool) -> None:
    story = unread()
    story.calls("send")
    story.fails(ErrorType.RATE_LIMIT, "too many today")
    if in_words:
        story.writes("It cannot be sent.")
    else:
        story.end()

    assert (story.status, story.reason) == ("failed", "too many today")
    assert story.error == ChainError("HP-205", "send (RATE_LIMIT): too many today", "send")
    assert story.told("contract.violated") == []


def test_c11_after_an_error_an_open_ended_step_is_skipped_and_its_words_are_the_answer() -> None:
    story = told(style="react", policy=SENDING)
    story.calls("send")
    story.fails(ErrorType.PERMISSION, "not yours")
    story.writes("I may not write to John.")

    assert (story.status, story.final_answer) == (
        "completed",
        "I may not write to John.",
    )
    assert (story.statuses, story.chain.end.unfinished) == ({"react": "skipped"}, True)


def test_c11_after_a_no_words_end_the_step() -> None:
    story = told(owing("send", "send", may_fail=True))
    story.calls("send")
    story.result(SURE)
    story.reject("not today")
    story.writes("Then not.")

    assert story.statuses == {"send": "failed"}


def test_c11_behind_a_no_to_what_is_due_words_are_no_strike_and_press_nobody() -> None:
    story = told(owing("both", "send", "lookup"))
    story.calls("send")
    story.result(SURE)
    story.reject("no")
    story.calls("lookup")
    story.result()
    story.writes("It was not sent, and looked up.")
    assert (story.violations, story.statuses) == ([], {"both": "skipped"})


def test_c11_none_of_the_options_of_a_lookup_is_a_no_and_no_reading() -> None:
    story = told(FIND)
    story.calls("lookup")
    story.result(asks("u1", "u2"))
    story.answer(RequestKind.CLARIFICATION, Choice.NONE)
    story.writes("It is none of them.")

    assert story.statuses == {"find": "failed"}
    assert story.told("contract.violated") == []


def test_c11_what_is_beside_the_end_of_a_step_runs_before_it_and_not_after_it() -> None:
    story = at_send(data='{"ids": ["a"]}')
    story.propose(call("end_step", outcome="not_needed", reason="Nobody."), call("send"))
    assert (story.tools_called, story.statuses["send"]) == (["lookup"], "skipped")
    assert story.never_executed == [("send", "its step had ended")]

    story = at_send(data='{"ids": ["a"]}')
    story.propose(call("send"), call("end_step", outcome="not_needed", reason="Nobody."))
    story.result()
    assert (story.tools_called, story.statuses["send"]) == (["lookup", "send"], "completed")


def test_c11_a_step_that_owes_nothing_ends_completed() -> None:
    story = told(Step(id="think"))
    story.end("Enough.", "not_needed")
    assert (story.statuses, story.chain.left_out) == ({"think": "completed"}, ())


def test_c1_no_plan_promises_or_calls_end_step() -> None:
    story = told(owing("end", "end_step"))
    assert story.faults == [Violation.BAD_PLAN]
    story = submitted(
        Task(plan=plan(tool_step("a", call("end_step", outcome="not_needed", reason="x")))), LOOKUP
    )
    assert "internal" in story.error.message


@pytest.mark.parametrize(
    ("required", "offered"),
    [(("send",), True), (("lookup",), False), (("lookup", "send"), True), ((), False)],
)
def test_c11_end_step_is_offered_where_an_effect_is_due(
    required: tuple[str, ...], offered: bool
) -> None:
    assert told(Step(id="s", required_tools=required)).thought.may_end is offered


def test_c11_for_a_missing_lookup_end_step_is_offered_after_an_error_or_a_correction() -> None:
    story = told(FIND)
    story.writes("Hm.")
    assert story.thought.may_end
    story = told(FIND)
    story.calls("lookup")
    story.fails(ErrorType.SERVER)
    assert story.thought.may_end


def test_c11_a_failed_lookup_fails_nothing_unless_a_later_promise_takes_its_values() -> None:
    other = spec("other")
    story = submitted(Task(goal="tell John"), LOOKUP, other, SEND_TO)
    send = owing("send", "send")
    story.plans(owing("other", "other"), send)
    story.calls("other")
    story.fails(ErrorType.SERVER)
    story.end()
    assert story.statuses == {"other": "failed", "send": "in_progress"}

    story = submitted(Task(goal="tell John"), LOOKUP, other, SEND_TO)
    story.plans(FIND, send)
    story.calls("lookup")
    story.fails(ErrorType.SERVER)
    story.end()
    assert story.status == "failed"


def test_d3_a_skipped_case_leaves_out_what_was_due() -> None:
    story = unread()
    for _ in range(3):
        story.writes("Done.")
    story.rule(Choice.SKIP, text="not today")

    assert story.statuses == {"send": "skipped"}
    story.say("It was left out.")
    assert [(one.why, one.message) for one in story.chain.end.not_done] == [
        (WhyNot.LEFT_OUT, "not today")
    ]


def test_c11_a_reading_in_any_step_that_it_depends_on_lets_a_step_end() -> None:
    after = ("find",)
    left = owing("left", "lookup", dependencies=after)
    right = owing("right", "lookup", dependencies=after)
    story = told(FIND, left, right, owing("send", "send", dependencies=("left", "right")))
    for number in range(3):
        story.calls("lookup", number=number)
        story.returns(f'{{"found": {number}}}')
    story.end("Nobody is to be told.", "not_needed")
    assert story.statuses["send"] == "skipped"


def test_d2_a_chain_without_turns_left_fails_and_a_persons_words_stand_in_for_an_answer() -> None:
    story = submitted(open_task("go"), LOOKUP, policy=Policy(max_chain_turns=1))
    story.calls("lookup")
    story.result()
    assert story.error.message == "the chain has used up its budget of turns"
    story = told(owing("ask", "askHuman"))
    story.calls("askHuman", question="Which?")
    story.tell("the red one")
    story.no_thought(kind=ThoughtKind.ANSWER)
    assert (story.final_answer or "").endswith("askHuman: the red one")
