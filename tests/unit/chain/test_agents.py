"""Agents (CONTRACT I): a call that a chain with a goal of its own carries out, and what holds for
the tree of them.
"""

import json
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from msgspec import structs

from haltpoint.chain.checks.agents import assigned_to, with_agents
from haltpoint.chain.checks.core_tools import END_SPEC
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.outputs import CancelChild, Decision, Dispatch, Report, StartChild
from haltpoint.contracts.events import ToolCompleted
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.policy import Pattern
from haltpoint.contracts.reasons import Heard, Reach, ReasonKind, SourceKind
from haltpoint.contracts.results import (
    DeedWords,
    ErrorType,
    Metadata,
    Outcome,
    Spent,
)
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.bounds import Bounds
from haltpoint.contracts.work.ledger import Became
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Assignment, Budget, Mode, Style, Task
from haltpoint.contracts.work.thoughts import ThoughtKind, Usage, Violation
from tests.support.builders import (
    ALL_LISTS,
    asks,
    call,
    confirms,
    failed,
    open_task,
    owing,
    plan,
    spec,
    tool_step,
    worked,
)
from tests.unit.chain.story import START, Story

GOAL = "Refund order 17 of ann@shop.example"
FIND = spec("find_order")
REFUND = ToolSpec(name="refund", provenance={"order_id": ("find_order.id",)})
MAIL = ToolSpec(name="mail", targets=("to",))
TOOLS = {one.name: one for one in (FIND, REFUND, MAIL, END_SPEC)}
FILE = Agents(
    agents=(
        Agent(
            name="front",
            description="Takes everything.",
            tools=("find_*",),
            agents=("billing", "post", "reader"),
        ),
        Agent(
            name="billing",
            description="Refunds.",
            tools=("find_*", "refund"),
            agents=("billing", "post"),
        ),
        Agent(name="post", description="Writes mails.", tools=("mail",)),
        Agent(name="reader", description="Looks things up.", tools=("find_*",)),
    )
)


class Tree:
    """A root and the chains below it, each a story."""

    def __init__(
        self,
        task: Task | None = None,
        file: Agents = FILE,
        policy: Policy | None = None,
        **more: Any,
    ) -> None:
        given = task or open_task(GOAL, agent="front", **more)
        self.file, self.policy = file, policy
        self.stories: dict[str, Story] = {}
        self.root = self._story("c", assigned_to(given, file))

    def _story(self, name: str, task: Task, deadline: int | None = None) -> Story:
        story = Story(task, policy=self.policy)
        chain = structs.replace(story.chain, id=name)
        story.first = story.chain = (
            chain if deadline is None else structs.replace(chain, deadline=deadline)
        )
        tools = with_agents(TOOLS, self.file, task)
        story.world = replace(story.world, tools=tools, agents=self.file)
        self.stories[name] = story
        return story

    def hand_on(self, story: Story, agent: str, task: str = "Refund order 17") -> Story:
        """The story proposes a call of an agent; its chain."""
        decision = story.calls("route", target_agent=agent, task=task)
        return self.begun(decision)

    def begun(self, decision: Decision, which: int = 0, *, read: bool = True) -> Story:
        order = [one for one in decision.outputs if isinstance(one, StartChild)][which]
        child = self._story(order.action.child, order.task, order.deadline)
        child.now = START
        child.submit(read=read)
        return child

    def report(self, child: Story) -> Decision:
        """What the child's end says, heard by its parent."""
        (said,) = child.sends(Report)
        parent = self.stories[child.chain.id.rpartition("~")[0]]
        data = ToolCompleted.Data(action_id=said.action_id, outcome=said.outcome, known=said.known)
        return parent.hear(
            ToolCompleted(id=f"{said.action_id}/child/done", source="t", subject="c", data=data),
            said.data,
        )


def tree(**more: Any) -> Tree:
    """The front agent has been told its goal, which asks for a refund and for nothing else."""
    found = Tree(**more)
    found.root.submit(read=False)
    found.root.read(asking("refund"))
    return found


def asking(*tools: str) -> Bounds:
    """The goal asks for these tools, as far as they are needed."""
    return Bounds(optional_tools=tools)


def done(tool: str, number: int = 1, chain: str = "c", **metadata: Any) -> Outcome:
    deed, name = DeedWords(says=f"did {tool}"), f"{chain}.react.{number}"
    return worked(tool=tool, action_id=name, started_at=START, deed=deed, **metadata)


def found_order(story: Story) -> None:
    story.calls("find_order", query="17")
    story.result(done("find_order", 1, story.chain.id), '{"id": "order_17"}')


# ---- what a chain with an agent is
# ----------------------------------------------------------------------------------


def test_i1_an_agent_tightens_its_task_and_never_loosens_it() -> None:
    own = Agent(
        name="a",
        description="d",
        tools=("x",),
        mode=Mode.OFF,
        style=Style.REACT,
        strikes=5,
        max_turns=3,
        budget=Budget(turns=4, seconds=60),
    )
    task = Task(
        goal="g",
        agent="a",
        mode=Mode.ADVISORY,
        strikes=2,
        max_turns=7,
        budget=Budget(turns=9, actions=1),
    )
    found = assigned_to(task, Agents(agents=(own,)))
    assert (found.mode, found.style, found.strikes, found.max_turns) == (
        Mode.ADVISORY,
        Style.REACT,
        2,
        3,
    )
    assert found.budget == Budget(turns=4, actions=1, seconds=60)
    assert found.handed.assigned == Assignment(tools=("x",))


def test_i5_without_agents_the_tools_are_the_very_same_object() -> None:
    assert with_agents(TOOLS, Agents(), Task()) is TOOLS
    assert with_agents(TOOLS, FILE, Task()) is TOOLS
    assert with_agents(TOOLS, FILE, Task(agent="post")) is TOOLS


def test_i1_to_hand_on_is_as_harmless_as_all_that_the_agents_may_call() -> None:
    route = with_agents(TOOLS, FILE, Task(agent="front"))["route"]
    assert (route.kind, route.read_only, route.inside) == (
        ToolKind.AGENT,
        False,
        ("find_order", "mail", "refund"),
    )
    assert route.parameters["properties"]["target_agent"]["enum"] == ["billing", "post", "reader"]
    assert route.description.endswith(
        "billing: Refunds.; post: Writes mails.; reader: Looks things up."
    )
    scoped = with_agents(TOOLS, FILE, Task(agent="front", tools=("find_*",)))["route"]
    assert (scoped.read_only, scoped.inside) == (True, ("find_order",))


def test_hp216_a_task_for_an_agent_that_is_not_there_fails_with_the_names_that_there_are() -> None:
    story = Tree(open_task("g", agent="legal")).root
    story.submit()
    assert (story.error.code, story.error.message) == (
        "HP-216",
        "there is no agent 'legal'; there are: front, billing, post, reader",
    )


def test_i1_an_agent_may_call_its_own_tools_ask_a_person_and_hand_on_and_nothing_else() -> None:
    story = tree().root
    allowed = story.chain.plan.steps[0].allowed_tools if story.chain.plan else ()
    assert allowed == ("find_order", "route")
    story.calls("refund", order_id="17")
    (fault,) = story.thought.corrections
    assert (fault.violation, fault.tool) == (Violation.NOT_ALLOWED, "refund")


# ---- the way down
# --------------------------------------------------------------------------------------------------


def test_i1_a_call_of_an_agent_begins_a_chain_with_the_callers_words_and_the_users() -> None:
    whole = tree(context={"shop": "a"}, private={"k": 1}, user="ann", tenant="t", max_turns=9)
    child = whole.hand_on(whole.root, "billing", "Pay it back")
    task = child.chain.task
    assert child.chain.id == "c~react-1"
    assert (task.goal, task.asked, task.agent) == ("Pay it back", GOAL, "billing")
    assert (task.context, task.private, task.user, task.tenant) == (
        {"shop": "a"},
        {"k": 1},
        "ann",
        "t",
    )
    assert (task.max_turns, task.style, task.mode) == (9, Style.REACT, Mode.STRICT)
    assert task.handed.assigned is not None
    assert task.handed.assigned.tools == ("find_*", "refund")
    assert child.chain.deadline == whole.root.chain.deadline
    assert whole.root.told("action.dispatched")[-1]["child"] == "c~react-1"
    assert child.told("chain.started") == [{"origin": "react", "agent": "billing"}]


def test_i1_an_agent_keeps_to_the_limits_of_the_one_that_hands_on_to_it() -> None:
    file = Agents(
        agents=(
            Agent(
                name="front",
                description="d",
                agents=("post",),
                max_turns=2,
                strikes=1,
                style=Style.REACT,
            ),
            Agent(name="post", description="d", mode=Mode.STRICT, budget=Budget(seconds=60)),
        )
    )
    whole = Tree(Task(goal=GOAL, agent="front", mode=Mode.ADVISORY, max_turns=5), file)
    whole.root.submit()
    task = whole.hand_on(whole.root, "post").chain.task
    assert (task.max_turns, task.strikes, task.mode) == (2, 1, Mode.STRICT)
    assert whole.stories["c~react-1"].chain.deadline == START + 60_000


# ---- where values come from
# -----------------------------------------------------------------------------------------


def test_c13_only_the_users_goal_counts_as_goal_below() -> None:
    whole = tree()
    child = whole.hand_on(whole.root, "post", "Mail ann@shop.example and eve@evil.example")
    child.calls("mail", to="eve@evil.example")
    (order,) = child.sends(Dispatch)
    assert order.sources["to"].source is SourceKind.MODEL
    assert "target" in [one.kind.value for one in order.reasons]


def test_c13_receipts_above_and_of_agents_that_have_ended_are_origins_below() -> None:
    whole = tree()
    reader = whole.hand_on(whole.root, "reader", "Find order 17")
    found_order(reader)
    reader.writes("It is order_17.")
    whole.report(reader)
    billing = whole.hand_on(whole.root, "billing", "Refund order_17")
    billing.calls("refund", order_id="order_17")
    (order,) = billing.sends(Dispatch)
    assert order.reasons == ()
    assert (order.sources["order_id"].source, order.sources["order_id"].where) == (
        SourceKind.RESULT,
        "c~react-1.react.1 data.id",
    )


def test_c6_words_of_an_agent_are_no_origin() -> None:
    whole = tree()
    reader = whole.hand_on(whole.root, "reader", "Find order 17")
    reader.writes("order_99")
    whole.report(reader)
    billing = whole.hand_on(whole.root, "billing", "Refund order_99")
    billing.calls("refund", order_id="order_99")
    assert billing.faults == [Violation.NO_PROVENANCE]


def test_c14_an_effect_of_one_agent_is_not_made_again_by_another() -> None:
    file = Agents(
        agents=(*FILE.agents[2:], Agent(name="front", description="d", agents=("post", "reader")))
    )
    whole = tree(file=file)
    for number in (1, 2):
        post = whole.hand_on(whole.root, "post", f"Write to her, {number}")
        post.calls("mail", to="ann@shop.example", text="hi")
        (order,) = post.sends(Dispatch)
        assert [one.kind.value for one in order.reasons] == (
            ["unasked"] if number == 1 else ["unasked", "repeat"]
        )
        post.result(done("mail", 1, post.chain.id))
        post.writes("Done.")
        whole.report(post)


def test_c14_who_cancels_at_the_card_of_a_call_has_said_no_to_it() -> None:
    whole = tree()
    first = whole.hand_on(whole.root, "post", "Write to her")
    first.calls("mail", to="ann@shop.example")
    first.result(confirm(first))
    first.answer(RequestKind.CONFIRMATION, Choice.ABORT, text="do not mail her")
    whole.report(first)
    assert whole.root.chain.people.heard is Heard.NO
    second = whole.hand_on(whole.root, "post", "Write to ann")
    second.calls("mail", to="ann@shop.example")
    assert "A person denied exactly this call" in second.correction
    second.calls("mail", to="ann@shop.example", text="hi")
    assert ReasonKind.DENIED in [reason.kind for reason in second.reasons]


@pytest.mark.parametrize("in_doubt", [False, True])
def test_c14_a_call_is_in_doubt_when_a_person_cancels_if_it_was_before(in_doubt: bool) -> None:
    whole = tree()
    first = whole.hand_on(whole.root, "post", "Write to her")
    first.calls("mail", to="ann@shop.example")
    first.result(failed(ErrorType.IN_DOUBT, "it broke") if in_doubt else asks("a", "b"))
    kind = RequestKind.IN_DOUBT if in_doubt else RequestKind.CLARIFICATION
    first.answer(kind, Choice.ABORT)
    whole.report(first)
    entries = whole.root.chain.ledger.values()
    doubts = [entry.tool for entry in entries if entry.became is Became.IN_DOUBT]
    assert ("mail" in doubts) is in_doubt


def test_c6_a_yes_for_a_tool_holds_in_all_chains_of_the_root() -> None:
    whole = tree()
    first = whole.hand_on(whole.root, "post", "Write to eve")
    first.calls("mail", to="eve@evil.example")
    assert ReasonKind.TARGET in [reason.kind for reason in first.reasons]
    first.result(confirm(first))
    first.approve(for_=Reach.TOOL)
    first.result(done("mail", 1, first.chain.id))
    first.writes("It is sent.")
    whole.report(first)
    second = whole.hand_on(whole.root, "post", "Write to bob")
    second.calls("mail", to="bob@evil.example")
    assert second.reasons == ()


def confirm(story: Story) -> Outcome:
    told = Metadata(tool="mail", action_id=story.action.id)
    return structs.replace(confirms("mail", reasons=story.reasons), metadata=told)


# ---- the way up
# --------------------------------------------------------------------------------------------------


def test_i1_the_end_of_an_agent_is_the_receipt_of_its_call() -> None:
    whole = tree()
    child = whole.hand_on(whole.root, "billing")
    found_order(child)
    child.calls("refund", order_id="order_17")
    child.result(done("refund", 2, child.chain.id), '{"paid": true}')
    child.propose(content="Paid back.", usage=Usage(input_tokens=5, output_tokens=2))
    (said,) = child.sends(Report)
    assert json.loads(said.data) == {"agent": "billing", "text": "Paid back."}
    told = said.outcome.metadata.below
    assert (told.agent, told.nested_successes) == ("billing", ("find_order", "refund"))
    assert told.spent == Spent(turns=3, actions=2, tokens=7)
    whole.report(child)
    assert whole.root.chain.below.spent == Spent(turns=3, actions=2, tokens=7, chains=1)
    whole.root.writes("Done.")
    assert whole.root.final_facts == ["chain.completed"]


def test_i1_an_agent_that_fails_leaves_its_caller_another_way() -> None:
    whole = tree()
    child = whole.hand_on(whole.root, "billing")
    child.lose("c~react-1/timer")
    (said,) = child.sends(Report)
    error = said.outcome.error
    assert error is not None
    assert (error.error_type.value, error.recoverable) == ("SERVER", True)
    whole.report(child)
    assert whole.root.thought.kind is ThoughtKind.REASON
    assert whole.root.final_facts == []


def test_i1_an_agent_that_a_person_stops_is_denied() -> None:
    whole = tree()
    child = whole.hand_on(whole.root, "billing")
    child.cancel("not today")
    whole.report(child)
    action = whole.root.chain.actions["c.react.1"]
    assert action.error is not None
    assert (action.error.error_type.value, action.error.recoverable) == ("DENIED", False)


def test_r1_c14_the_end_of_the_caller_ends_its_agents_and_waits_for_what_they_hand_back() -> None:
    whole = tree()
    child = whole.hand_on(whole.root, "billing")
    grandchild = whole.hand_on(child, "post", "Write to her")
    grandchild.calls("mail", to="ann@shop.example")
    (order,) = [one for one in whole.root.cancel("enough").outputs if isinstance(one, CancelChild)]
    assert order.chain_id == child.chain.id
    (next_order,) = [
        one for one in child.cancel(order.reason).outputs if isinstance(one, CancelChild)
    ]
    assert next_order.chain_id == grandchild.chain.id
    assert [story.final_facts for story in (whole.root, child)] == [[], []]
    grandchild.cancel(next_order.reason)
    whole.report(grandchild)
    whole.report(child)
    assert all(story.final_facts == ["chain.cancelled"] for story in whole.stories.values())
    became = {entry.tool: entry.became for entry in whole.root.chain.ledger.values()}
    assert became["mail"] is Became.IN_DOUBT


def test_r1_a_chain_whose_time_is_over_waits_for_no_chain_below() -> None:
    whole = tree()
    whole.hand_on(whole.root, "billing")
    whole.root.due(at=whole.root.chain.deadline)
    assert whole.root.final_facts == ["chain.failed"]


# ---- bounds
# --------------------------------------------------------------------------------------------------


def test_budget_an_agent_gets_what_is_left_and_what_it_used_is_added_when_it_ends() -> None:
    whole = tree(budget=Budget(turns=6, actions=10, tokens=100))
    whole.root.chain = structs.replace(whole.root.chain, spent=Spent(turns=1, tokens=10))
    child = whole.hand_on(whole.root, "billing")
    assert child.chain.task.budget == Budget(turns=5, actions=9, tokens=90)
    assert whole.root.chain.below.spent == Spent()
    found_order(child)
    child.writes("Found.")
    whole.report(child)
    assert whole.root.chain.below.spent == Spent(turns=2, actions=1, chains=1)
    again = whole.hand_on(whole.root, "post", "Write")
    assert again.chain.task.budget == Budget(turns=2, actions=7, tokens=90)


# ---- plans that name agents
# -----------------------------------------------------------------------------------------


def test_a_literal_plan_hands_on_in_the_users_own_words() -> None:
    steps = plan(tool_step("ask", call("billing", task="Refund order 17")))
    whole = Tree(open_task("Ask billing", agent="front", plan=steps))
    child = whole.begun(whole.root.submit(), read=False)
    assert (child.chain.task.asked, child.thought.kind) == (None, ThoughtKind.BOUNDS)
    child.read(asking("refund"))
    found_order(child)
    child.calls("refund", order_id="order_17")
    child.result(done("refund", 2, child.chain.id))
    child.writes("Paid back.")
    whole.report(child)
    assert whole.root.final_answer == '{"agent":"billing","text":"Paid back."}'


def test_a_literal_plan_that_hands_on_a_result_hands_on_words_that_are_not_the_users() -> None:
    steps = plan(
        tool_step("find", call("find_order", query="17")),
        tool_step("ask", call("billing", task={"$from": "find.data.note"}), after=("find",)),
    )
    whole = Tree(open_task("Ask billing", agent="front", plan=steps))
    whole.root.submit()
    child = whole.begun(whole.root.returns('{"note": "Refund everything"}'), read=False)
    assert (child.chain.task.goal, child.chain.task.asked) == ("Refund everything", "Ask billing")


def test_a_literal_plan_fails_when_its_agent_cannot_take_the_task() -> None:
    steps = plan(tool_step("ask", call("billing", task="Refund order 17")))
    whole = Tree(Task(goal="Ask billing", agent="front", plan=steps))
    assigned = whole.root.chain.task.handed.assigned
    assert assigned is not None
    handed = structs.replace(
        whole.root.chain.task.handed, assigned=structs.replace(assigned, chains=0)
    )
    full = structs.replace(whole.root.chain.task, handed=handed)
    whole.root.chain = structs.replace(whole.root.chain, task=full)
    whole.root.submit()
    assert whole.root.error.message.startswith(
        "billing cannot take it: of the 20 chains of a task none is left"
    )


def test_c2_a_plan_that_hands_on_promises_what_its_agents_may_call() -> None:
    policy = Policy(patterns=(Pattern(id="pay", pattern="refund", tools=("refund",)),))
    whole = Tree(Task(goal=GOAL, agent="front"), policy=policy)
    whole.root.submit()
    whole.root.draft(Plan(steps=(owing("s", "find_order"),)), bounds=asking("refund"))
    assert whole.root.faults == [Violation.BAD_PLAN]
    whole.root.draft(Plan(steps=(owing("s", "route"),)), bounds=asking("refund"))
    assert whole.root.thought.kind is ThoughtKind.ACT


# ---- many trees
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(200))
def test_budget_no_tree_oversteps_its_budget_and_what_is_not_used_comes_back(seed: int) -> None:
    chance = Random(seed)
    names = ("a", "b", "c")
    file = Agents(
        agents=tuple(
            Agent(
                name=name,
                description="d",
                agents=names,
                budget=Budget(turns=chance.choice((None, 2, 5))),
            )
            for name in names
        )
    )
    budget = Budget(
        turns=chance.randint(1, 25), actions=chance.choice((None, chance.randint(1, 12)))
    )
    whole = Tree(
        open_task(GOAL, agent="a", max_turns=100, budget=budget, bounds=ALL_LISTS),
        file,
    )
    whole.root.submit(read=False)

    def play(story: Story) -> None:
        for _ in range(40):
            if story.final_facts:
                return
            if story.chain.requests:  # a person decides: three violations in a row
                break
            what = chance.random()
            if what < 0.2:
                story.writes("Done.")
                continue
            tool = (
                call("find_order", n=story.chain.spent.turns)
                if what < 0.6
                else call("route", target_agent=chance.choice(names), task=str(what))
            )
            decision = story.propose(tool)
            if any(isinstance(one, StartChild) for one in decision.outputs):
                child = whole.begun(decision)
                play(child)
                whole.report(child)
            elif any(isinstance(one, Dispatch) for one in decision.outputs):
                story.result(done("find_order", story.action.number, story.chain.id))
        story.cancel("it is enough")

    play(whole.root)
    chains = [story.chain for story in whole.stories.values()]
    spent, below = whole.root.last.chain.spent, whole.root.chain.below.spent
    assert sum(one.spent.turns for one in chains) <= (budget.turns or 0)
    assert budget.actions is None or sum(one.spent.actions for one in chains) <= budget.actions
    assert (spent.turns + below.turns, below.chains) == (
        sum(one.spent.turns for one in chains),
        len(chains) - 1,
    )
    assert len(chains) <= 20
