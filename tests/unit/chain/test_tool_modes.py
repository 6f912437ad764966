"""The policy file says per tool how strictly the contract holds for it, whatever the task says (CONTRACT, modes)."""

from typing import Any

import pytest

from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.reasons import ReasonKind
from haltpoint.contracts.work.intent import Intent, IntentEntry
from haltpoint.contracts.work.plans import Step
from haltpoint.contracts.work.tasks import Mode, Style, Task
from tests.support.builders import call, plan, spec
from tests.unit.chain.story import Story

TO = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
FOUND = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
LOOKUP = spec("lookup", result_schema=FOUND)
SEND = spec("send", read_only=False, parameters=TO, provenance={"to": ("lookup.id",)})
POST = spec("post", read_only=False, parameters=TO, provenance={"to": ("lookup.id",)})
STRICT, ADVISORY, OFF = Mode


def working(mode: Mode, goal: str = "send and post it", *, read: bool = True, **modes: Mode) -> Story:
    """An open-ended chain of a task in this mode, where the policy file names the modes of tools."""
    task = Task(goal=goal, style=Style.REACT, mode=mode)
    story = Story(task, LOOKUP, SEND, POST, policy=Policy(modes=modes, actions_per_turn=3))
    story.submit(read=read)
    return story


def violations(story: Story) -> list[tuple[str, str]]:
    return [(one["tool"], one["violation"]) for one in story.told("contract.violated")]


@pytest.mark.parametrize(
    ("task", "tool", "called", "recorded"),
    [
        (STRICT, ADVISORY, ["send"], [("send", "no_provenance"), ("post", "no_provenance")]),
        (STRICT, OFF, ["send"], [("post", "no_provenance")]),
        (ADVISORY, STRICT, [], [("send", "no_provenance")]),
        (OFF, STRICT, [], [("send", "no_provenance")]),
    ],
)
def test_a_made_up_value_is_judged_as_the_file_says_of_its_tool(
    task: Mode, tool: Mode, called: list[str], recorded: list[tuple[str, str]]
) -> None:
    story = working(task, send=tool)
    story.propose(call("send", to="made up"))
    assert story.tools_called == called
    if called:
        story.result()
    story.propose(call("post", to="made up"))
    assert violations(story)[: len(recorded)] == recorded
    assert story.tools_called == ([*called] if task is STRICT else [*called, "post"])


def test_a_call_of_a_looser_tool_is_no_strike_of_a_strict_step_and_one_of_a_stricter_tool_counts() -> None:
    story = working(STRICT, send=ADVISORY)
    for _ in range(4):
        story.propose(call("send", to="made up"), call("send"))
        story.result()
    assert (story.chain.strikes, story.chain.status) == (0, ChainStatus.EXECUTING)
    assert {one.get("counted") for one in story.told("contract.violated")} == {False}

    story = working(OFF, send=STRICT)
    story.propose(call("send", to="made up"))
    assert story.chain.strikes == 1
    assert story.told("contract.violated")[0].get("counted") is None


def test_the_name_itself_counts_before_the_first_glob_that_fits() -> None:
    modes: dict[str, Any] = {"*": OFF, "se*": OFF, "send": STRICT}
    story = working(STRICT, **modes)
    story.propose(call("send", to="made up"))
    assert story.tools_called == []
    story.propose(call("post", to="made up"))
    assert story.tools_called == ["post"]


@pytest.mark.parametrize("tool", [ADVISORY, OFF])
def test_an_effect_that_the_goal_does_not_ask_for_is_asked_about_where_the_tool_is_strict(tool: Mode) -> None:
    story = working(STRICT, goal="look it up", read=False, send=tool)
    story.read(Intent())
    story.propose(call("send", to="made up"))
    assert story.tools_called == ["send"]
    assert story.dispatches[-1].reasons == ()

    story = working(tool, goal="look it up", read=False, send=STRICT)  # an intent is read also where the task is off
    story.read(Intent())
    story.propose(call("lookup"))
    story.result(data='{"id": "u1"}')
    story.propose(call("send", to="u1"))
    assert story.thought.tool == "send"  # whether the goal asks for it
    story.read(Intent())
    assert [one.kind for one in story.dispatches[-1].reasons] == [ReasonKind.UNASKED]


@pytest.mark.parametrize(
    ("task", "tool", "validation", "strikes"), [(STRICT, OFF, "skipped", 0), (STRICT, ADVISORY, "failed", 1)]
)
def test_the_promise_of_a_step_is_held_as_the_file_says_of_its_tools(
    task: Mode, tool: Mode, validation: str, strikes: int
) -> None:
    story = Story(Task(goal="go", mode=task), LOOKUP, SEND, policy=Policy(modes={"lookup": tool}))
    story.submit()
    story.draft(plan(Step(id="find", required_tools=("lookup",)), Step(id="send", required_tools=("send", "lookup"))))
    story.propose(content="I looked it up.")
    assert story.told("step.completed") == [{"step_id": "find", "validation_status": validation}]
    assert story.chain.strikes == strikes
    story.propose(content="I sent it.")  # of several tools the strictest counts
    assert story.statuses["send"] == "in_progress"
    assert story.chain.strikes == strikes + 1


def test_a_promise_of_a_strict_tool_holds_in_a_task_that_is_off() -> None:
    story = Story(Task(goal="go", mode=OFF), LOOKUP, SEND, policy=Policy(modes={"lookup": STRICT}))
    story.submit()
    story.draft(plan(Step(id="find", required_tools=("lookup",))))
    for _ in range(3):
        story.propose(content="I looked it up.")
    assert story.chain.status is ChainStatus.ESCALATED


@pytest.mark.parametrize(("tool", "status"), [(STRICT, "failed"), (OFF, "completed"), (ADVISORY, "completed")])
def test_an_effect_that_is_owed_fails_a_chain_where_its_tool_is_strict(tool: Mode, status: str) -> None:
    story = working(STRICT, goal="send it", read=False, send=tool)
    story.read(Intent(effects_asked=(IntentEntry(tools=("send",), words="send it"),)))
    for _ in range(2):
        if not story.chain.status.final:
            story.propose(content="It is late.")
    assert story.chain.status.value == status
