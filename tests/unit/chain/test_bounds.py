"""C12, C6: what the goal asks of tools and says against them is read once, merged, and asked of
each call.
"""

from typing import Any

import pytest

from haltpoint.chain.checks.bounds import merged, nameable
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.outputs import Dispatch, StartChild
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.policy import Does, Pattern, Treatment
from haltpoint.contracts.reasons import Reach, ReasonKind
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.contracts.work.bounds import Bound, Bounds, ChainBounds, SaidBy
from haltpoint.contracts.work.plans import Plan, Step
from haltpoint.contracts.work.tasks import Budget, Earlier, Handed, Mode, Style, Task
from haltpoint.contracts.work.thoughts import ThoughtKind, Usage, Violation
from tests.support.builders import (
    ALL_LISTS,
    SURE,
    bounds,
    call,
    open_task,
    owing,
    plan,
    spec,
    writing,
)
from tests.unit.chain.story import Story, submitted

FIND = spec("find", description="Find a person.")
SEND = writing("send")
PAY = writing("pay")
LOCKED = writing("secret", internal=True)
TELL = ToolSpec(name="tell", plan=Plan(steps=(Step(id="s", actions=(call("send"),)),)))
DROP = writing("drop", destructive=True)
TOOLS = (FIND, SEND, PAY, LOCKED, TELL, DROP)
FIRST = Pattern(id="first", pattern="ask me", does=Does.ASK_BEFORE)
WANTS = Pattern(id="wants", pattern="send", tools=("send", "tell"))


def told(
    *patterns: Pattern, goal: str = "send it", policy: Policy | None = None, **task: Any
) -> Story:
    rules = policy or Policy(patterns=patterns)
    return Story(Task(**{"goal": goal, "style": Style.REACT, **task}), *TOOLS, policy=rules)


def reading(read: Bounds | None = None, **more: Any) -> Story:
    """An open-ended task whose goal was read in this way."""
    story = told(**more)
    story.submit(read=False)
    if story.status == "planning":
        story.read(read or Bounds())
    return story


def joined(story: Story, read: Bounds | None = None) -> ChainBounds:
    return merged(Work.on(story.chain, "", story.world, story.now), read)


def asked(story: Story, tool: str, **arguments: Any) -> list[ReasonKind]:
    """Why a person is asked about a call of this tool."""
    story.calls(tool, **arguments)
    (order,) = story.sends(Dispatch, StartChild)
    return [reason.kind for reason in order.reasons] if isinstance(order, Dispatch) else []


def by(who: SaidBy, *tools: str) -> tuple[Bound, ...]:
    return (Bound(by=who, tools=tools),)


GOAL, OWN = SaidBy.GOAL, SaidBy.SUBMITTER


# ---- reading


def test_c12_an_open_ended_task_reads_its_goal_before_any_data() -> None:
    story = told()
    story.submit(read=False)
    assert (story.status, story.thought.kind, story.thought.receipts) == (
        "planning",
        ThoughtKind.BOUNDS,
        (),
    )
    story.read(Bounds(required_tools=("send",)))
    assert (story.status, story.thought.kind) == ("executing", ThoughtKind.ACT)
    assert story.chain.bounds == ChainBounds(required_tools=by(GOAL, "send"))


@pytest.mark.parametrize(
    ("tools", "task"),
    [
        ((FIND, LOCKED), {}),
        (TOOLS, {"mode": Mode.OFF}),
        (TOOLS, {"bounds": ALL_LISTS}),
        (TOOLS, {"tools": ("find",)}),
    ],
)
def test_c12_no_model_reads_where_nothing_is_to_be_read(
    tools: tuple[ToolSpec, ...], task: JsonObject
) -> None:
    story = submitted(open_task("Find Ann", **task), *tools, read=False)
    assert story.status == "executing"


def test_c12_a_reading_names_tools_with_effects_that_are_open() -> None:
    assert nameable({tool.name: tool for tool in TOOLS}, Task()) == ["drop", "pay", "send", "tell"]
    assert nameable({tool.name: tool for tool in TOOLS}, Task(tools=("s*",))) == ["send"]
    agent = ToolSpec(name="agent", inside=("pay",), kind=ToolKind.AGENT)
    assert nameable({"agent": agent, "pay": PAY}, Task(tools=("x",))) == ["pay"]
    story = reading(
        Bounds(required_tools=("find", "nothing", "secret", "send"), ask_before=("find",))
    )
    assert story.chain.bounds == ChainBounds(required_tools=by(GOAL, "send"))


def test_c12_without_a_usable_reading_nothing_is_due_and_each_effect_is_unasked() -> None:
    story = told()
    story.submit(read=False)
    story.read(None)
    assert story.faults == [Violation.UNREADABLE]
    story.read(None)
    assert (story.chain.bounds, story.strikes) == (ChainBounds(), 0)
    assert story.thought.kind is ThoughtKind.REASON
    assert asked(story, "send") == [ReasonKind.UNASKED]


def test_c12_a_thought_that_fails_is_no_usable_reading() -> None:
    story = told()
    story.submit(read=False)
    story.no_thought(kind=ThoughtKind.BOUNDS)
    story.no_thought(kind=ThoughtKind.BOUNDS)
    assert (story.status, story.chain.bounds) == ("executing", ChainBounds())


def test_c12_from_the_seventh_tool_on_none_is_due_or_named() -> None:
    names = tuple(f"t{number}" for number in range(8))
    story = submitted(open_task("do it"), *(writing(name) for name in names), read=False)
    story.read(Bounds(required_tools=names[:3], optional_tools=names[3:], forbidden=("t7",)))
    held = story.chain.bounds
    assert held is not None
    assert [one.tools[0] for one in (*held.required_tools, *held.optional_tools)] == [
        f"t{n}" for n in range(6)
    ]
    assert held.forbidden == by(GOAL, "t7")
    assert asked(story, "t5") == []


def test_c12_a_plan_without_a_reading_has_the_promises_of_patterns_and_submitter() -> None:
    story = told(WANTS, style=Style.PLAN)
    story.submit()
    story.plans(owing("s", "pay"))
    assert story.correction.startswith(
        'No step promises send or tell, which the goal ("send", pattern wants) requires.'
    )
    story.plans(Step(id="s", one_of=("send", "tell")))
    assert story.status == "executing"


def test_a_reading_that_costs_more_than_there_is_is_not_acted_on() -> None:
    story = told(budget=Budget(tokens=1))
    story.submit(read=False)
    story.read(Bounds(), Usage(input_tokens=10))
    assert story.error.code == "HP-208"


def test_a_late_or_foreign_reading_changes_nothing() -> None:
    story = told()
    story.submit(read=False)
    before = story.chain
    assert story.hear_bounds("c.other", Bounds()).chain is before
    story.read(Bounds())
    before = story.chain
    assert story.hear_bounds("c.bounds.t0.1", Bounds(forbidden=("send",))).chain is before


# ---- merging, per tool the stricter wins


@pytest.mark.parametrize(
    ("given", "read", "patterns", "holds"),
    [
        (
            {"required_tools": ("find",)},
            Bounds(required_tools=("pay",)),
            (),
            {"required_tools": by(OWN, "find")},
        ),
        (
            {},
            Bounds(required_tools=("send",), forbidden=("send",)),
            (),
            {"forbidden": by(GOAL, "send")},
        ),
        (
            {},
            Bounds(required_tools=("send",), ask_before=("send",)),
            (),
            {"required_tools": by(GOAL, "send"), "ask_before": by(GOAL, "send")},
        ),
        (
            {"required_tools": ("send",)},
            Bounds(forbidden=("send",)),
            (),
            {"required_tools": by(OWN, "send"), "ask_before": by(GOAL, "send")},
        ),
        (
            {"forbidden": ("send", "tell")},
            Bounds(),
            (WANTS,),
            {"forbidden": by(OWN, "send") + by(OWN, "tell")},
        ),
        (
            {"optional_tools": ("send",)},
            Bounds(ask_before=("send",)),
            (),
            {"optional_tools": by(OWN, "send"), "ask_before": by(GOAL, "send")},
        ),
    ],
)
def test_c12_per_tool_the_stricter_entry_wins(
    given: JsonObject, read: Bounds, patterns: tuple[Pattern, ...], holds: JsonObject
) -> None:
    story = told(*patterns, bounds=Bounds(**given) if given else None)
    assert joined(story, read) == ChainBounds(**holds)


# ---- the rows of the judges


def test_c6_a_forbidden_tool_is_refused_also_inside_of_a_skill() -> None:
    for tool in ("send", "tell"):
        story = reading(Bounds(forbidden=("send",)))
        story.calls(tool)
        [fault] = story.thought.corrections
        assert (fault.violation, story.tools_called) == (Violation.NOT_ALLOWED, [])
        assert (
            fault.message == f"{tool} may not be called: the goal forbids it. Continue without it."
        )


def test_c6_a_tool_under_ask_before_is_asked_about_also_inside_of_a_skill() -> None:
    for tool in ("send", "tell"):
        story = reading(Bounds(optional_tools=("tell",), ask_before=("send",)))
        story.calls(tool)
        words = [one.words for one in story.reasons]
        assert words == [f"{tool} must be approved first: the goal wants to be asked."]


def test_c2_a_pattern_without_tools_asks_about_every_effect_and_no_lookup() -> None:
    story = reading(
        Bounds(optional_tools=("send",)), goal="ask me, send it", policy=Policy(patterns=(FIRST,))
    )
    assert asked(story, "find") == []
    story.result()
    assert asked(story, "send") == [ReasonKind.ASK_BEFORE]
    assert 'the goal ("ask me", pattern first) wants to be asked.' in story.reasons[0].words


def test_c6_every_effect_is_asked_about_while_the_goal_has_conditions() -> None:
    story = reading(Bounds(required_tools=("send",), conditions=("at most two", "not Bob")))
    assert asked(story, "find") == []
    story.result()
    for number in range(2):
        assert asked(story, "send", n=number) == [ReasonKind.CONDITION]
        assert '"at most two"; "not Bob"' in story.reasons[0].words
        story.result(SURE)
        story.approve()
        story.result()


@pytest.mark.parametrize(
    ("tool", "unasked"), [("send", False), ("pay", True), ("find", False), ("tell", True)]
)
def test_c6_an_effect_that_nothing_names_is_unasked(tool: str, unasked: bool) -> None:
    story = reading(Bounds(optional_tools=("send",)))
    assert asked(story, tool) == ([ReasonKind.UNASKED] if unasked else [])


def test_c6_what_a_plan_promises_is_asked_for_unless_it_may_come_from_earlier_answers() -> None:
    for earlier, unasked in (((), []), ((Earlier(chain_id="a", goal="x"),), [ReasonKind.UNASKED])):
        story = told(style=Style.PLAN, handed=Handed(earlier=earlier))
        story.submit()
        story.plans(owing("s", "pay"))
        assert asked(story, "pay") == unasked


@pytest.mark.parametrize(
    ("rule", "runs", "refused"),
    [(Treatment.ASK, True, 0), (Treatment.ALLOW, True, 0), (Treatment.REFUSE, False, 1)],
)
def test_c6_the_policy_says_what_happens_to_an_effect_that_nothing_names(
    rule: Treatment, runs: bool, refused: int
) -> None:
    story = reading(policy=Policy(unasked_effects=rule))
    story.calls("pay")
    assert (story.tools_called == ["pay"]) is runs
    assert len(story.told("contract.violated")) == refused


def approve(story: Story, reach: Reach | None = None) -> None:
    story.result(SURE)
    story.approve(for_=reach)
    story.result()


@pytest.mark.parametrize(
    "read", [Bounds(ask_before=("send",)), Bounds(conditions=("at most two",)), Bounds()]
)
@pytest.mark.parametrize(
    ("reach", "again"), [(None, True), (Reach.CALL, True), (Reach.TOOL, False)]
)
def test_c6_a_yes_holds_for_the_call_and_for_the_tool_where_the_person_says_so(
    read: Bounds, reach: Reach | None, again: bool
) -> None:
    story = reading(read)
    assert asked(story, "send", n=1)
    approve(story, reach)
    assert bool(asked(story, "send", n=2)) is again
    story.result()
    assert asked(story, "pay")


def test_c6_a_yes_to_a_destructive_tool_is_for_the_call_alone() -> None:
    story = reading()
    assert asked(story, "drop", n=1) == [ReasonKind.UNASKED]
    approve(story, Reach.TOOL)
    assert asked(story, "drop", n=2) == [ReasonKind.UNASKED]


@pytest.mark.parametrize(
    "lists", [{"ask_before": ("send",)}, {"forbidden": ("send",)}, {"conditions": ("at most two",)}]
)
@pytest.mark.parametrize(
    ("mode", "own", "holds"),
    [
        (Mode.STRICT, False, True),
        (Mode.STRICT, True, True),
        (Mode.ADVISORY, False, False),
        (Mode.ADVISORY, True, True),
        (Mode.OFF, True, False),
    ],
)
def test_in_advisory_mode_the_submitters_bounds_hold_and_in_off_none(
    lists: JsonObject, mode: Mode, own: bool, holds: bool
) -> None:
    given = bounds(**lists, optional_tools=("send",)) if own else None
    read = None if own else Bounds(**lists, optional_tools=("send",))
    story = reading(read, mode=mode, bounds=given)
    story.calls("send")
    free = story.tools_called == ["send"] and not story.reasons
    assert free is not holds


def test_a_literal_plan_has_no_bounds() -> None:
    steps = plan(Step(id="s", actions=(call("send"),)))
    story = submitted(Task(goal="ask me", plan=steps, bounds=bounds(forbidden=("send",))), *TOOLS)
    assert (story.chain.bounds, story.tools_called) == (None, ["send"])


# ---- pressed (D1 of what was measured: the worst that this runtime did)


def pressed(heard: str, *, corrected: bool = True, mode: Mode = Mode.STRICT) -> list[ReasonKind]:
    """A step that owes a call; a person says something, and then the model is corrected."""
    story = submitted(Task(goal="send it", mode=mode), *TOOLS, ASK)
    story.draft(
        plan(owing("s", "send", allowed_tools=("pay",))),
        bounds=Bounds(optional_tools=("pay",)),
    )
    if heard == "words":
        story.calls("askHuman", question="Send it?")
        story.tell("stop, forget it")
    elif heard == "a picked no":
        story.calls("askHuman", question="Send it?", options=["Yes", "No"])
        story.answer(RequestKind.INPUT, option="2")
    elif heard == "no":
        story.calls("pay")
        story.result(SURE)
        story.reject()
    if corrected:
        story.calls("nonsense")
    story.calls("send")
    return [reason.kind for reason in story.reasons]


ASK = writing("askHuman")


@pytest.mark.parametrize("heard", ["words", "a picked no", "no"])
def test_c6_an_effect_behind_a_correction_since_a_person_spoke_is_asked_about(heard: str) -> None:
    assert pressed(heard) == [ReasonKind.PRESSED]
    assert pressed(heard, corrected=False) == []


def test_c6_a_correction_where_no_person_spoke_presses_nobody() -> None:
    assert pressed("nothing") == []
    assert pressed("words", mode=Mode.OFF) == []


def test_c6_a_persons_next_answer_ends_it() -> None:
    story = submitted(Task(goal="send it"), *TOOLS, ASK)
    story.plans(owing("s", "send"))
    story.calls("askHuman", question="Send it?")
    story.tell("stop")
    story.writes("I stop.")
    story.calls("askHuman", question="Really?")
    story.tell("no, send it after all")
    assert asked(story, "send") == []


# ---- other words (D3)


def test_d3_what_the_goal_asks_of_tools_holds_under_a_persons_other_words() -> None:
    read = Bounds(required_tools=("send",), forbidden=("pay",), conditions=("at most two",))
    story = reading(read, policy=Policy(strikes=2, unasked_effects=Treatment.ALLOW))
    story.calls("nonsense")
    story.calls("nonsense")
    story.rule(Choice.REPHRASE, text="just say what you found")
    assert story.thought.due == (("send",),)
    story.calls("pay")
    assert "the goal forbids it" in story.correction
    assert ReasonKind.CONDITION in asked(story, "send")


def test_d3_what_the_submitter_requires_stays_due_and_what_was_done_counts() -> None:
    story = told(bounds=bounds(required_tools=("send", "pay")), policy=Policy(strikes=1))
    story.submit()
    story.calls("send")
    story.result()
    story.writes("Done.")
    story.rule(Choice.REPHRASE, text="then pay")
    assert story.thought.due == (("pay",),)


def test_d3_a_goal_that_is_rephrased_while_it_is_planned_is_read_anew() -> None:
    story = told(style=Style.PLAN, policy=Policy(strikes=1))
    story.submit()
    story.draft(None, "no plan", bounds=Bounds(forbidden=("send",)))
    story.rule(Choice.REPHRASE, text="send it after all")
    assert story.chain.bounds is None
    story.draft(plan(owing("s", "send")), bounds=Bounds(required_tools=("send",)))
    assert asked(story, "send") == []


def test_d1_a_plan_whose_step_promises_only_forbidden_tools_is_refused() -> None:
    story = told(style=Style.PLAN)
    story.submit()
    story.draft(plan(owing("s", "pay")), bounds=Bounds(forbidden=("pay",)))
    assert story.correction == "step 's': pay may not be called: the goal forbids it"
    story.plans(Step(id="s", one_of=("pay", "send")))
    assert story.status == "executing"
