"""A person says whether a chain that fails or is cancelled undoes what it has done (CONTRACT E7)."""

from typing import Any

import pytest

from haltpoint.chain.checks.undoing import undo_plan
from haltpoint.chain.model.outputs import StartChild, Withdraw
from haltpoint.chain.model.state import next_due
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.base import child_report_id
from haltpoint.contracts.events import ToolCompleted
from haltpoint.contracts.people.humans import Answer, Choice, RequestKind
from haltpoint.contracts.reasons import Reach
from haltpoint.contracts.results import DeedWords, ErrorType, Metadata, NextAction, Outcome
from haltpoint.contracts.work.tasks import Budget, Style, Task, Undo
from tests.support.builders import OK, asks, call, failed, plan, spec, tool_step
from tests.unit.chain.story import Story

PLANT = spec("plant", read_only=False)
UPROOT = spec("plant~undo", read_only=False, internal=True, undoes="plant")


def planted(name: str, says: str = "") -> Outcome:
    deed = DeedWords(says=says) if says else None
    metadata = Metadata(action_id=name, undoable=True, deed=deed)
    return Outcome(success=True, next_action=NextAction.CONTINUE, metadata=metadata)


def planting(**task: Any) -> Story:
    """A chain that has planted two trees, and looks at the garden."""
    steps = tool_step("s", call("plant"), call("plant"), call("look"))
    story = Story(Task(goal="x", plan=plan(steps), undo=Undo.ASK, **task), PLANT, UPROOT, spec("look"))
    story.submit()
    story.result(planted("c.s.1", 'Planted "ash"'))
    story.result(planted("c.s.2"))
    return story


def asking(**task: Any) -> Story:
    """The same chain when that look has failed."""
    story = planting(**task)
    story.result(failed(ErrorType.PERMISSION))
    return story


def children(story: Story) -> list[StartChild]:
    return [one for decision in story.decisions for one in decision.outputs if isinstance(one, StartChild)]


def over(story: Story) -> None:
    """The chain that undoes has ended."""
    data = ToolCompleted.Data(action_id="c.undo.1", outcome=OK)
    story.hear(ToolCompleted(id=child_report_id("c.undo.1"), source="t", subject="c", data=data), "{}")


def test_e7_the_question_lists_what_would_be_undone_the_last_effect_first() -> None:
    story = asking()
    (asked,) = story.questions
    assert asked.request.kind is RequestKind.CONFIRMATION
    assert asked.question == "The chain has failed: look: PERMISSION: it broke. Undo what it has done, the last first?"
    assert asked.preview == 'plant (c.s.2)\nPlanted "ash" (c.s.1)'
    assert (asked.digest, asked.arguments, asked.request.action_id) == ("", "", "")
    assert story.chain.status is ChainStatus.AWAITING_CONFIRMATION
    assert (children(story), story.final_facts) == ([], [])
    assert next_due(story.chain) == asked.request.deadline


def test_e7_yes_undoes_and_then_the_one_end_is_told() -> None:
    story = asking(user="jo")
    story.answer(RequestKind.CONFIRMATION, Choice.APPROVE)
    (child,) = children(story)
    assert child.task.plan == undo_plan([("plant", "c.s.1"), ("plant", "c.s.2")])
    assert child.task.user == "jo"
    assert story.chain.status is ChainStatus.EXECUTING
    assert next_due(story.chain) > child.deadline
    story.answer(RequestKind.CONFIRMATION, Choice.APPROVE)
    assert (len(children(story)), story.final_facts) == (1, [])
    over(story)
    assert story.final_facts == ["chain.failed"]
    assert story.chain.error is not None
    assert story.chain.error.message == "look: PERMISSION: it broke"
    assert len(story.questions) == 1


@pytest.mark.parametrize("how", [Choice.REJECT, Choice.ABORT, "expired", "cancelled", "lost"])
def test_e7_without_a_yes_the_chain_ends_as_it_is(how: Choice | str) -> None:
    story = asking()
    if isinstance(how, Choice):
        story.answer(RequestKind.CONFIRMATION, how)
    elif how == "expired":
        story.due("c.r1", at=next_due(story.chain))
        assert len(story.told("request.expired")) == 1
    elif how == "cancelled":
        story.cancel()
        assert any(isinstance(one, Withdraw) for one in story.last.outputs)
    else:
        story.lose("c.r1/answer")
    assert story.final_facts == ["chain.failed"]
    assert children(story) == []


def test_e7_the_question_has_its_own_time_and_nothing_else_ends_the_chain() -> None:
    story = asking(budget=Budget(seconds=60))
    story.due(at=story.chain.deadline)
    data = ToolCompleted.Data("c.s.3", OK)
    story.hear(ToolCompleted(id="c.s.3/1/done", source="t", subject="c", data=data), "{}")
    story.lose("c.s.3/1/done")
    assert (story.final_facts, children(story)) == ([], [])
    story.answer(RequestKind.CONFIRMATION, Choice.APPROVE)
    assert len(children(story)) == 1
    story.due(at=next_due(story.chain) - 1)
    assert story.final_facts == []
    over(story)
    assert story.final_facts == ["chain.failed"]


def test_e7_a_chain_out_of_time_asks_too() -> None:
    story = planting(budget=Budget(seconds=60))
    story.due(at=story.chain.deadline)
    (asked,) = story.questions
    assert asked.request.deadline > story.now
    story.answer(RequestKind.CONFIRMATION, Choice.REJECT, text="leave it")
    assert story.final_facts == ["chain.failed"]


def test_e7_a_cancelled_chain_asks_when_what_runs_has_ended_and_one_without_effects_does_not() -> None:
    story = planting()
    story.cancel("enough")
    assert story.questions == []
    story.result()
    (asked,) = story.questions
    assert asked.question == "The chain was cancelled: enough. Undo what it has done, the last first?"
    story.answer(RequestKind.CONFIRMATION, Choice.APPROVE)
    over(story)
    assert story.final_facts == ["chain.cancelled"]

    story = Story(Task(goal="x", plan=plan(tool_step("s", call("look"))), undo=Undo.ASK), spec("look"))
    story.submit()
    story.cancel()
    assert (story.questions, story.final_facts) == ([], ["chain.cancelled"])


def test_e7_a_chain_that_was_cancelled_without_a_reason_says_so_once() -> None:
    story = planting()
    story.cancel()
    story.result()
    assert story.questions[-1].question == "The chain was cancelled. Undo what it has done, the last first?"


def test_e7_a_chain_of_a_model_asks_in_place_of_its_open_question() -> None:
    story = Story(Task(goal="plant it", style=Style.REACT, undo=Undo.ASK), PLANT, UPROOT, spec("look"))
    story.submit()
    story.propose(call("plant"))
    story.result(planted("c.main.1"))
    story.propose(call("look"))
    story.result(asks("a"))
    story.cancel()
    assert [one.number for one in story.chain.requests] == [2]
    assert story.chain.status is ChainStatus.AWAITING_CONFIRMATION
    story.answer(RequestKind.CONFIRMATION, Choice.APPROVE)
    assert len(children(story)) == 1
    over(story)
    assert story.final_facts == ["chain.cancelled"]


@pytest.mark.parametrize("more", [{"for_": Reach.TOOL}, {"arguments": {}}])
def test_e7_the_question_is_about_no_call(more: dict[str, Any]) -> None:
    story = asking()
    story.give(Answer(kind=RequestKind.CONFIRMATION, decision=Choice.APPROVE, **more))
    assert (children(story), story.chain.status) == ([], ChainStatus.AWAITING_CONFIRMATION)
