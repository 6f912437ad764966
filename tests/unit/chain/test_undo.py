"""The chain that undoes another one: its plan, and who may call what undoes (CONTRACT E7)."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from haltpoint.chain.checks.undoing import undo_plan
from haltpoint.chain.model.outputs import CancelChild, Report, StartChild
from haltpoint.chain.model.state import next_due
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.base import STEP_ID, child_report_id, is_undo, undo_id
from haltpoint.contracts.events import ToolCompleted
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.results import ErrorType, Metadata, NextAction, Outcome
from haltpoint.contracts.work.plans import Siblings
from haltpoint.contracts.work.tasks import Style, Task, Undo
from tests.support.builders import OK, asks, call, failed, plan, spec, tool_step
from tests.unit.chain.story import Story

UPROOT = spec("plant~undo", read_only=False, internal=True, undoes="plant")
TASK = Task(goal="Undo c", plan=undo_plan([("plant", "c.s.1"), ("plant", "c.s.2")]))


def undoing() -> Story:
    story = Story(TASK, UPROOT)
    story.first = story.chain = structs.replace(story.chain, id=undo_id("c"))
    return story


def test_e7_the_last_effect_is_undone_first_and_one_that_fails_keeps_none_from_it() -> None:
    story = undoing()
    story.submit()
    assert story.action.arguments == '{"action_id":"c.s.2"}'
    story.result(failed(ErrorType.PERMISSION))
    assert story.action.arguments == '{"action_id":"c.s.1"}'
    story.result()
    assert story.statuses == {"u1": "failed", "u2": "completed"}
    assert story.chain.status is ChainStatus.COMPLETED


def test_e7_nobody_but_the_runtime_calls_what_undoes() -> None:
    story = Story(TASK, UPROOT)
    story.submit()
    assert story.chain.error is not None
    assert "plant~undo is internal" in story.chain.error.message
    story = undoing()
    story.world = replace(story.world, tools={"plant~undo": spec("plant~undo", internal=True)})
    story.submit()
    assert story.chain.status is ChainStatus.FAILED
    asked = Story(Task(goal="plant it", style=Style.REACT), UPROOT)
    asked.submit()
    assert asked.chain.plan is not None
    assert asked.chain.plan.steps[0].allowed_tools == ()


def test_e7_no_step_has_the_id_that_is_in_the_id_of_the_chain_that_undoes() -> None:
    assert is_undo(undo_id("c"))
    assert not is_undo("c~s-1")
    assert not STEP_ID.fullmatch("undo")
    assert STEP_ID.fullmatch("undo2")


PLANT = spec("plant", read_only=False)
PLANTED = Outcome(success=True, next_action=NextAction.CONTINUE, metadata=Metadata(action_id="c.s.1", undoable=True))


def planting(undo: Undo | None = None, **task: Any) -> Story:
    """A chain that has planted a tree, and looks at the garden."""
    steps = tool_step("s", call("plant"), call("look"))
    story = Story(Task(goal="x", plan=plan(steps), undo=undo, **task), PLANT, UPROOT, spec("look"))
    story.submit()
    story.result(PLANTED)
    return story


def children(story: Story) -> list[StartChild]:
    return [one for decision in story.decisions for one in decision.outputs if isinstance(one, StartChild)]


def stops_what_runs(story: Story) -> bool:
    """Whether workers see that the chain is being cancelled."""
    return story.chain.resume is ChainStatus.CANCELLED


def over(story: Story) -> None:
    """The chain that undoes has ended."""
    data = ToolCompleted.Data(action_id="c.undo.1", outcome=OK)
    story.hear(ToolCompleted(id=child_report_id("c.undo.1"), source="t", subject="c", data=data), "{}")


def test_e7_a_literal_plan_that_fails_undoes_what_it_has_done_and_then_tells_its_one_end() -> None:
    story = planting(user="jo")
    story.result(failed(ErrorType.PERMISSION))
    (child,) = children(story)
    assert child.action.child == undo_id("c")
    assert child.task.plan == undo_plan([("plant", "c.s.1")])
    assert child.task.user == "jo"
    assert story.told("chain.undoing") == [{"child": "c~undo-1"}]
    assert story.final_facts == []
    assert next_due(story.chain) > child.deadline
    for late in (story.cancel, story.due):
        late()
    story.lose("c.s.2/1/done")
    story.hear(ToolCompleted(id="c.s.2/1/done", source="t", subject="c", data=ToolCompleted.Data("c.s.2", OK)), "{}")
    assert story.final_facts == []
    over(story)
    assert story.final_facts == ["chain.failed"]
    assert story.chain.error is not None
    assert story.chain.error.message == "look: PERMISSION: it broke"
    over(story)
    assert len(children(story)) == 1


def test_e7_a_chain_that_is_cancelled_waits_for_what_runs_and_undoes_that_too() -> None:
    story = Story(Task(goal="x", plan=plan(tool_step("s", call("plant")))), PLANT, UPROOT)
    story.submit()
    story.cancel("enough")
    assert (story.final_facts, children(story)) == ([], [])
    assert stops_what_runs(story)
    story.result(PLANTED)
    assert len(children(story)) == 1
    assert not stops_what_runs(story)
    over(story)
    assert story.final_facts == ["chain.cancelled"]
    assert story.told("chain.cancelled")[0]["reason"] == "enough"


def test_e7_what_runs_beside_a_failure_is_stopped_when_the_chain_is_cancelled_meanwhile() -> None:
    steps = [tool_step(name, call(tool)) for name, tool in (("a", "plant"), ("b", "look"))]
    story = Story(Task(goal="x", plan=plan(*steps), parallel=2), PLANT, UPROOT, spec("look"))
    story.submit()
    planted, looked = (one.action for one in story.dispatches)
    story.result(failed(ErrorType.PERMISSION), action=looked)
    assert not stops_what_runs(story)
    story.cancel("enough")
    assert stops_what_runs(story)
    story.result(PLANTED, action=planted)
    over(story)
    assert story.final_facts == ["chain.cancelled"]
    assert story.told("chain.cancelled")[0]["reason"] == "enough"


def test_e7_a_cancelled_chain_that_had_no_effect_after_all_is_cancelled() -> None:
    story = Story(Task(goal="x", plan=plan(tool_step("s", call("plant")))), PLANT, UPROOT)
    story.submit()
    story.cancel()
    story.result(failed(ErrorType.PERMISSION))
    assert story.final_facts == ["chain.cancelled"]
    assert story.told("chain.cancelled")[0]["reason"] == ""


def test_e7_a_failure_waits_for_calls_that_can_be_undone_but_not_past_the_deadline() -> None:
    steps = [tool_step(name, call(tool), siblings=Siblings.FAIL_FAST) for name, tool in (("a", "plant"), ("b", "look"))]
    for late in (False, True):
        story = Story(Task(goal="x", plan=plan(*steps), parallel=2), PLANT, UPROOT, spec("look"))
        story.submit()
        first, second = (one.action for one in story.dispatches)
        if late:
            story.now = story.chain.deadline
        story.result(failed(ErrorType.PERMISSION), action=second)
        if not late:
            story.result(PLANTED, action=first)
            assert len(children(story)) == 1
        else:
            assert story.final_facts == ["chain.failed"]


@pytest.mark.parametrize("undo", [Undo.NEVER, None])
def test_e7_nothing_is_undone_where_the_task_or_a_model_is_in_the_way(undo: Undo | None) -> None:
    if undo is None:
        story = Story(Task(goal="plant it", style=Style.REACT), PLANT, UPROOT, spec("look"))
        story.submit()
        story.propose(call("plant"))
        story.result(PLANTED)
    else:
        story = planting(undo)
    story.cancel()
    assert (children(story), story.final_facts) == ([], ["chain.cancelled"])


def test_e7_a_model_may_be_told_to_and_an_error_that_it_corrects_undoes_nothing() -> None:
    story = Story(Task(goal="plant it", style=Style.REACT, undo=Undo.ON_FAILURE), PLANT, UPROOT, spec("look"))
    story.submit()
    story.propose(call("plant"))
    story.result(PLANTED)
    story.propose(call("look"))
    story.result(failed(ErrorType.NOT_FOUND))
    assert children(story) == []
    story.propose(call("look"))
    story.result(asks("a"))
    story.cancel()
    assert len(children(story)) == 1
    assert story.chain.status is ChainStatus.EXECUTING
    over(story)
    assert story.final_facts == ["chain.cancelled"]


@pytest.mark.parametrize("how", ["due", "lost"])
def test_e7_the_end_is_told_when_the_chain_that_undoes_does_not_report(how: str) -> None:
    story = planting()
    story.cancel()
    story.result()
    if how == "due":
        story.due(at=next_due(story.chain))
    else:
        story.lose(child_report_id("c.undo.1"))
    assert story.final_facts == ["chain.cancelled"]


def test_e7_what_a_person_says_has_happened_is_undone_too() -> None:
    story = Story(Task(goal="x", plan=plan(tool_step("s", call("plant"), call("look")))), PLANT, UPROOT, spec("look"))
    story.submit()
    story.result(failed(ErrorType.IN_DOUBT))
    story.answer(RequestKind.IN_DOUBT, Choice.HAPPENED)
    story.cancel()
    story.result()
    (child,) = children(story)
    assert child.task.plan == undo_plan([("plant", "c.s.1")])


def test_e7_a_child_says_what_can_be_undone_and_leaves_it_to_its_root() -> None:
    steps = plan(tool_step("s", call("plant"), call("look")))
    story = Story(Task(goal="x", plan=steps), PLANT, UPROOT, spec("look"))
    story.first = story.chain = structs.replace(story.chain, id="c~a-1")
    story.submit()
    story.result(PLANTED)
    story.cancel()
    story.result()
    (report,) = [one for decision in story.decisions for one in decision.outputs if isinstance(one, Report)]
    assert report.outcome.metadata.done == ("plant c~a-1.s.1",)
    assert children(story) == []

    skill = spec("garden", plan=steps, read_only=False)
    story = Story(Task(goal="x", plan=plan(tool_step("a", call("garden")))), skill, PLANT, UPROOT, spec("look"))
    story.submit()
    data = ToolCompleted.Data(action_id="c.a.1", outcome=report.outcome)
    story.hear(ToolCompleted(id=child_report_id("c.a.1"), source="t", subject="c", data=data), "{}")
    assert children(story)[-1].task.plan == undo_plan([("plant", "c~a-1.s.1")])


def test_e7_a_child_that_is_cancelled_waits_for_what_can_be_undone_and_tells_its_root_of_it() -> None:
    story = Story(Task(goal="x", plan=plan(tool_step("s", call("plant")))), PLANT, UPROOT)
    story.first = story.chain = structs.replace(story.chain, id="c~a-1")
    story.submit()
    story.cancel()
    assert (story.final_facts, stops_what_runs(story)) == ([], True)
    story.result(PLANTED)
    (report,) = [one for decision in story.decisions for one in decision.outputs if isinstance(one, Report)]
    assert report.outcome.metadata.done == ("plant c~a-1.s.1",)
    assert (children(story), story.final_facts) == ([], ["chain.cancelled"])


def test_e7_a_child_that_is_cancelled_waits_for_any_call_that_runs_as_its_root_undoes_afterwards() -> None:
    story = Story(Task(goal="x", plan=plan(tool_step("s", call("look")))), PLANT, UPROOT, spec("look"))
    story.first = story.chain = structs.replace(story.chain, id="c~a-1")
    story.submit()
    story.cancel()
    assert (story.final_facts, stops_what_runs(story)) == ([], True)
    story.result()
    assert story.final_facts == ["chain.cancelled"]


def test_e7_a_skill_is_cancelled_and_what_it_has_done_is_undone() -> None:
    steps = plan(tool_step("s", call("plant")))
    skill = spec("garden", plan=steps, read_only=False)
    made = tool_step("a", call("plant"), call("garden"))
    story = Story(Task(goal="x", plan=plan(made)), skill, PLANT, UPROOT)
    story.submit()
    story.result(PLANTED)
    story.cancel()
    assert [one.chain_id for one in story.last.outputs if isinstance(one, CancelChild)] == ["c~a-2"]
    assert story.final_facts == []


def test_e7_what_a_skill_that_is_cancelled_does_meanwhile_is_waited_for_and_undone() -> None:
    steps = plan(tool_step("s", call("plant")))
    skill = spec("garden", plan=steps, read_only=False)
    story = Story(Task(goal="x", plan=plan(tool_step("a", call("garden")))), skill, PLANT, UPROOT)
    story.submit()
    story.cancel("enough")
    (order,) = [one for one in story.last.outputs if isinstance(one, CancelChild)]
    assert order == CancelChild("c~a-1", "the chain that called it was stopped")
    assert story.final_facts == []

    below = Story(children(story)[0].task, PLANT, UPROOT)
    below.first = below.chain = structs.replace(below.chain, id="c~a-1")
    below.submit()
    below.cancel()
    assert below.final_facts == []
    below.result(PLANTED)
    assert (below.final_facts, children(below)) == (["chain.cancelled"], [])
    (report,) = [one for one in below.last.outputs if isinstance(one, Report)]

    data = ToolCompleted.Data(action_id="c.a.1", outcome=report.outcome)
    story.hear(ToolCompleted(id=child_report_id("c.a.1"), source="t", subject="c", data=data), "{}")
    assert children(story)[-1].task.plan == undo_plan([("plant", "c~a-1.s.1")])


def test_e7_a_skill_of_a_chain_that_undoes_nothing_is_not_waited_for() -> None:
    steps = plan(tool_step("s", call("plant")))
    skill = spec("garden", plan=steps, read_only=False)
    made = plan(tool_step("a", call("garden")))
    story = Story(Task(goal="x", plan=made, undo=Undo.NEVER), skill, PLANT, UPROOT)
    story.submit()
    assert children(story)[0].task.undo is Undo.NEVER
    story.due(at=story.chain.deadline)
    assert story.final_facts == ["chain.failed"]


def test_e7_the_words_of_the_first_who_cancels_stand() -> None:
    story = planting()
    story.cancel("enough")
    before = story.chain
    story.cancel("again")
    assert story.chain is before
    story.result()
    over(story)
    assert story.told("chain.cancelled")[0]["reason"] == "enough"
