"""The honest exits in plain words (C11): words behind an error end a step, and a question goes to a person."""

from typing import Any

import pytest

from haltpoint.chain.checks.goal import goal_of
from haltpoint.chain.checks.human_tool import SPEC as ASK_HUMAN
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import MOST_QUESTIONS, is_question
from haltpoint.contracts.doors import door
from haltpoint.contracts.events import PlanDrafted
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.policy import Pattern
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.work.plans import Step
from haltpoint.contracts.work.tasks import Task
from tests.support.builders import call, failed, plan, spec
from tests.unit.chain.story import Story

LOOKUP = spec("lookup")
SEND = spec("send", read_only=False)
SENDING = Policy(patterns=(Pattern(id="send", pattern="tell", tools=("send",)),))
WHICH = "There are two Johns. Which one do you mean?"


def told(*steps: Step, policy: Policy | None = None, **task: Any) -> Story:
    story = Story(door(Task).validate_python({"goal": "tell John", **task}), LOOKUP, SEND, ASK_HUMAN, policy=policy)
    story.submit()
    if steps:
        story.draft(plan(*steps))
    return story


def question(story: Story, words: str) -> None:
    """The model asks in place of a plan."""
    data = PlanDrafted.Data(thought_id=story.thought.thought_id, fault="there is no plan", question=words)
    story.hear(PlanDrafted(id="p", source="test", subject="c", data=data))


FIND = Step(id="find", required_tools=("lookup",))


@pytest.mark.parametrize(
    ("words", "asks"),
    [
        (WHICH, True), ("Welcher John?", True), ("どのジョンですか？", True), ("أي جون؟", True),
        ('He said: "Which one?"', True),
        ("Which one? I take the first.", False), ("Done.", False), ("", False),
    ],
)  # fmt: skip
def test_c11_the_last_sentence_decides_whether_words_are_a_question(words: str, asks: bool) -> None:
    assert is_question(words) is asks


@pytest.mark.parametrize("mode", ["strict", "advisory"])
@pytest.mark.parametrize("error", [ErrorType.NOT_FOUND, ErrorType.RATE_LIMIT])
def test_c11_words_behind_an_error_end_a_tool_step_as_failed_without_a_strike(error: ErrorType, mode: str) -> None:
    story = told(FIND, mode=mode)
    story.propose(call("lookup"))
    story.result(failed(error, "no such contact"))
    story.propose(content="I could not find John.")

    assert story.chain.status is ChainStatus.FAILED
    assert story.chain.answer == "no such contact"
    assert story.told("contract.violated") == []


def test_c11_words_behind_a_success_are_a_strike() -> None:
    story = told(Step(id="both", required_tools=("lookup", "send")))
    story.propose(call("lookup"))
    story.result()
    story.propose(content="That is all.")

    assert [one["violation"] for one in story.told("contract.violated")] == ["no_call"]


def test_c11_words_behind_an_error_end_an_open_ended_step_that_lacks_what_the_goal_asks_for() -> None:
    story = told(style="react", policy=SENDING)
    story.propose(call("send"))
    story.result(failed(ErrorType.NOT_FOUND, "nobody has this name"))
    story.propose(content="Nobody has this name.")

    assert (story.chain.status, story.chain.answer) == (ChainStatus.FAILED, "nobody has this name")


def test_c11_a_question_in_a_tool_step_goes_to_a_person_and_its_answer_to_the_model() -> None:
    story = told(FIND)
    story.propose(content=WHICH)

    [asked] = story.questions
    assert (asked.question, asked.request.kind) == (WHICH, RequestKind.INPUT)
    assert (story.chain.status, story.chain.strikes) == (ChainStatus.AWAITING_INPUT, 0)
    story.answer(RequestKind.INPUT, Choice.ANSWER, text="John Smith")
    assert story.thought.receipts == ("c.find.1",)
    assert story.chain.actions["c.find.1"].data == '{"answer":"John Smith","said":"John Smith"}'
    story.propose(call("lookup"))
    story.result()
    assert story.statuses == {"find": "completed"}


def test_c11_a_question_in_a_reasoning_step_of_a_plan_goes_to_a_person() -> None:
    story = told(Step(id="think"), Step(id="more", dependencies=("think",)))
    story.propose(content="Formal or friendly?")
    assert story.chain.status is ChainStatus.AWAITING_INPUT
    story.answer(RequestKind.INPUT, Choice.ANSWER, text="friendly")
    story.propose(content="Then: hi John.")
    assert story.statuses == {"think": "completed", "more": "in_progress"}


def test_c4_a_question_that_nothing_waits_for_is_the_result() -> None:
    """A translation, a draft, a question for a poll."""
    story = told(Step(id="translate"))
    story.propose(content="How are you?")
    assert story.statuses == {"translate": "completed"}
    assert story.questions == []


def test_c4_a_draft_that_ends_in_a_question_is_no_question_to_a_person() -> None:
    story = told(Step(id="draft"), Step(id="send", required_tools=("send",), dependencies=("draft",)))
    story.propose(content="Hi Bob,\nwhen do you have time?")
    assert (story.statuses["draft"], story.questions) == ("completed", [])


def test_c11_the_same_question_is_asked_once_and_a_step_asks_three_at_most() -> None:
    story = told(FIND)
    for number in range(MOST_QUESTIONS):
        story.propose(content=f"Question {number}?")
        story.answer(RequestKind.INPUT, Choice.ANSWER, text="yes")
        assert story.chain.strikes == 0
        if number == 0:
            story.propose(content=" question  0?")
            assert [one["violation"] for one in story.told("contract.violated")] == ["no_call"]
    story.propose(content="One more?")

    assert len(story.questions) == MOST_QUESTIONS
    assert len(story.told("contract.violated")) == 2


def test_c11_polite_words_at_the_end_of_an_open_ended_task_are_its_answer() -> None:
    story = told(style="react", policy=SENDING)
    story.propose(call("send"))
    story.result()
    story.propose(content="John knows now. Anything else?")

    assert (story.chain.status, story.chain.answer) == (ChainStatus.COMPLETED, "John knows now. Anything else?")


def test_c11_a_question_in_an_open_ended_task_that_still_owes_what_was_asked_for_goes_to_a_person() -> None:
    story = told(style="react", policy=SENDING)
    story.propose(content=WHICH)
    assert story.chain.status is ChainStatus.AWAITING_INPUT


def test_c11_a_question_in_place_of_a_plan_goes_to_a_person_whose_words_then_belong_to_the_goal() -> None:
    story = told()
    first = story.thought
    question(story, WHICH)

    assert (story.chain.status, story.chain.strikes) == (ChainStatus.AWAITING_INPUT, 0)
    assert story.questions[-1].question == WHICH
    story.answer(RequestKind.INPUT, Choice.ANSWER, text="John Smith")
    assert goal_of(Work.on(story.chain, "", story.world, story.now)) == "tell John\nJohn Smith"
    assert (story.thought.previous, story.thought.answered) == (first.thought_id, "John Smith")
    story.draft(plan(FIND))
    assert story.chain.status is ChainStatus.EXECUTING


def test_c11_while_planning_the_same_question_again_is_a_plan_that_is_missing() -> None:
    story = told()
    question(story, WHICH)
    story.answer(RequestKind.INPUT, Choice.ANSWER, text="the first")
    question(story, WHICH.upper())
    assert [one["violation"] for one in story.told("contract.violated")] == ["bad_plan"]
    for number in range(3):
        question(story, f"And number {number}?")
        if story.chain.status is ChainStatus.AWAITING_INPUT:
            story.answer(RequestKind.INPUT, Choice.ANSWER, text="yes")
    assert len(story.questions) == MOST_QUESTIONS


def test_c11_nobody_answers_a_question_while_planning() -> None:
    story = told()
    question(story, WHICH)
    story.due("c.r1", at=story.now + 25 * 3_600_000)
    assert story.chain.error is not None
    assert story.chain.error.code == "HP-210"
