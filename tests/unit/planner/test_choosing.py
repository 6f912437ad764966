"""Of many tools the model picks a few before a thought shows them; what is surely needed is not up to it."""

import json
from dataclasses import replace
from typing import Any

import pytest

from haltpoint.chain.checks import human_tool
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.contracts.work.agents import Agent
from haltpoint.contracts.work.intent import IntentEntry
from haltpoint.contracts.work.plans import Plan, Step
from haltpoint.contracts.work.tasks import Style, Task
from haltpoint.contracts.work.thoughts import Correction, ThoughtKind, Usage, Violation
from haltpoint_planner.choosing import MANY, narrowed
from haltpoint_planner.parsing.replies import Reply
from haltpoint_planner.prompting import prompts
from haltpoint_planner.prompting.context import Context
from haltpoint_planner.prompting.tool_forms import MOST_CHOSEN

LINES = {f"line_{number}": ToolSpec(name=f"line_{number}", description=f"Line {number}.") for number in range(40)}
NEEDED = {
    "pay": ToolSpec(name="pay", description="Pay.", provenance={"bill": ("find_bill.id", "goal")}),
    "find_bill": ToolSpec(name="find_bill", description="Find a bill.", read_only=True),
    "desk": ToolSpec(name="desk", description="The desk.", kind=ToolKind.AGENT),
    human_tool.NAME: ToolSpec(name=human_tool.NAME, description="Ask.", read_only=True),
}
TOOLS = LINES | NEEDED
CLERK = Agent(name="clerk", description="d")
PLAN = Plan(
    steps=(
        Step(id="pay", description="Pay it", required_tools=("pay",), allowed_tools=tuple(TOOLS)),
        Step(id="react", description="d"),
    )
)


def context(kind: ThoughtKind = ThoughtKind.REASON, step: str | None = "react", **more: Any) -> Context:
    said: dict[str, Any] = {"corrections": more.pop("corrections", ()), "attempt": more.pop("attempt", 1)}
    request = ThoughtRequest(thought_id="c.react.t1.1", kind=kind, step_id=step, deadline=0, **said)
    task = Task(goal="Pay bill 7", style=Style.REACT)
    about: dict[str, Any] = {"tools": TOOLS, "agent": CLERK}
    return Context(request, task, plan=PLAN, **(about | more))


class Asked:
    """A model that gives these replies, and what it was asked."""

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.about: list[Context] = []

    async def __call__(self, about: Context) -> Reply:
        self.about.append(about)
        return Reply(self.replies.pop(0), usage=Usage(input_tokens=10, output_tokens=2, model="m"))


def picks(*names: str) -> str:
    return json.dumps({"tools": names})


async def test_the_prompt_shows_the_tools_that_were_picked() -> None:
    ask = Asked(picks("line_3", "line_17", "no_such_tool"))
    found, used = await narrowed(context(), ask)
    assert list(found.tools) == ["line_3", "line_17", "desk", human_tool.NAME]
    assert used == Usage(input_tokens=10, output_tokens=2, model="m")
    (about,) = ask.about
    prompt = prompts.build(about)
    system, task = (message["content"] for message in prompt.messages)
    assert system.startswith("You pick tools from a long list")
    assert "- line_3: Line 3.\n" in task
    assert "- desk" not in task, "what is there anyway is not offered"
    assert task.endswith("Goal: Pay bill 7")
    assert (prompt.tools, prompt.force) == ((), False)
    assert prompt.schema is not None
    names = prompt.schema["properties"]["tools"]
    assert names["maxItems"] == MOST_CHOSEN
    assert set(names["items"]["enum"]) == {*LINES, "pay", "find_bill"}


@pytest.mark.parametrize(
    ("more", "sure"),
    [
        ({"kind": ThoughtKind.ACT, "step": "pay"}, {"pay", "find_bill"}),
        ({"asked": (IntentEntry(("pa?",), "Pay bill 7"),)}, {"pay", "find_bill"}),
        ({"corrections": (Correction(Violation.MISSING_TOOL, "m", "line_9"),), "attempt": 2}, {"line_9"}),
    ],
)
async def test_what_is_needed_is_not_up_to_the_pick(more: dict[str, Any], sure: set[str]) -> None:
    found, _ = await narrowed(context(**more), Asked(picks("line_1")))
    assert set(found.tools) == {"line_1", "desk", human_tool.NAME, *sure}


async def test_a_pick_that_names_more_than_it_may_is_cut() -> None:
    found, _ = await narrowed(context(), Asked(picks(*LINES)))
    assert len(found.tools) == MOST_CHOSEN + 2


async def test_a_plan_names_only_what_was_picked() -> None:
    found, _ = await narrowed(context(ThoughtKind.PLAN, None), Asked(picks("line_5")))
    task = str(prompts.build(found).messages[1]["content"])
    assert "- line_5()" in task
    assert "- line_6()" not in task


@pytest.mark.parametrize(
    "reply", ['["line_3"]', f"Sure!\n```json\n{picks('functions.line_3')}\n```", '{"Tools": ["line_3"]}']
)
async def test_c9_a_pick_is_read_in_any_dress(reply: str) -> None:
    found, _ = await narrowed(context(), Asked(reply))
    assert "line_3" in found.tools
    assert len(found.tools) == 3


async def test_an_empty_pick_says_that_none_is_needed() -> None:
    found, _ = await narrowed(context(), Asked(picks()))
    assert set(found.tools) == {"desk", human_tool.NAME}


UNREADABLE = ("I would take line_3.", "", picks("line_99"), '{"tools": "line_3"}', "x" * 300_000)


@pytest.mark.parametrize("reply", UNREADABLE)
async def test_an_unreadable_pick_is_asked_for_once_more(reply: str) -> None:
    ask = Asked(reply, picks("line_3"))
    found, used = await narrowed(context(), ask)
    assert set(found.tools) == {"line_3", "desk", human_tool.NAME}
    assert used.input_tokens == 20
    assert [about.request.attempt for about in ask.about] == [1, 2]
    *_, said, told = prompts.build(ask.about[1]).messages
    assert said["content"] == (reply[:600] or "(no reply)")
    assert 'Answer with one JSON object and nothing else: {"tools"' in told["content"]


@pytest.mark.parametrize("reply", UNREADABLE)
async def test_after_two_unreadable_picks_all_tools_are_shown(reply: str) -> None:
    before = context()
    found, used = await narrowed(before, Asked(reply, reply))
    assert found is before
    assert used.output_tokens == 4


@pytest.mark.parametrize(
    "alone",
    [
        context(agent=None),
        context(agent=Agent(name="clerk", description="d", choose=False)),
        context(tools=dict(list(LINES.items())[:MANY])),
        context(tools=NEEDED | dict(list(LINES.items())[: MOST_CHOSEN - 2]) | {
            f"agent_{number}": ToolSpec(name=f"agent_{number}", kind=ToolKind.AGENT) for number in range(20)
        }),
        context(ThoughtKind.INTENT, None),
        context(ThoughtKind.ANSWER, None),
        context(ThoughtKind.ACT, "pay", corrections=(Correction(Violation.NO_CALL, "m"),), attempt=2),
    ],
    ids=["no agent", "choose = false", "few tools", "few to choose from", "intent", "answer", "one tool can be meant"],
)  # fmt: skip
async def test_nothing_is_asked_where_nothing_is_to_choose(alone: Context) -> None:
    ask = Asked()
    assert await narrowed(alone, ask) == (alone, Usage())
    assert not ask.about


async def test_a_pick_sees_the_results_so_far() -> None:
    ask = Asked(picks())
    await narrowed(replace(context(), previous="Which bill?", request=_answered("The red one.")), ask)
    *_, said, told = prompts.build(ask.about[0]).messages
    assert (said["content"], told["content"][:12]) == ("Which bill?", "The red one.")


def _answered(words: str) -> ThoughtRequest:
    return ThoughtRequest(
        thought_id="c.react.t1.1", kind=ThoughtKind.REASON, step_id="react", deadline=0, answered=words
    )
