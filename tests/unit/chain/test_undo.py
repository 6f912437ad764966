"""The chain that undoes another one: its plan, and who may call what undoes (CONTRACT E7)."""

from dataclasses import replace

from msgspec import structs

from haltpoint.chain.checks.undoing import undo_plan
from haltpoint.chain.model.state import ChainStatus
from haltpoint.contracts.base import STEP_ID, is_undo, undo_id
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.work.tasks import Style, Task
from tests.support.builders import failed, spec
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
