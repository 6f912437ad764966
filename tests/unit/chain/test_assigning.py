"""Who works on a task that names no agent, where no model is asked (CONTRACT I1): by rules, skills,
turns and room.
"""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from haltpoint.chain.checks.agents import by_load, by_rule, by_skill, in_turn, with_agents
from haltpoint.chain.model.state import FromBelow
from haltpoint.contracts.events import ThoughtFailed
from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.routing import SUPERVISOR, Rule, Strategy, Supervisor
from haltpoint.contracts.work.tasks import Budget, Mode, Style, Task
from haltpoint.contracts.work.thoughts import Proposal, ThoughtKind
from tests.support.builders import ALL_LISTS, call, plan, spec, tool_step, writing
from tests.unit.chain.story import START, Story

BILLING = Agent(name="billing", description="d", skills=("invoice", "refund", "credit card"))
TECHNICAL = Agent(name="technical", description="d", skills=("Error", "crash", "category", "box"))
GENERAL = Agent(name="general", description="d", skills=("C++",))


def file(strategy: Strategy, *rules: Rule, **more: Any) -> Agents:
    said = Supervisor(strategy=strategy, rules=rules, **more)
    return Agents(agents=(BILLING, TECHNICAL, GENERAL), supervisor=said)


INVOICE = Rule(id="invoices", agent="billing", match=r"\binvoices?\b|\brefund")
VIP = Rule(id="vip", agent="general", context={"tier": "gold", "paid": True})
BROKEN_VIP = Rule(id="broken-vip", agent="technical", match="broken", context={"tier": "gold"})
DEEP = Rule(id="deep", agent="general", match="credit card", context={"tier": {"a": [1]}})


@pytest.mark.parametrize(
    ("goal", "context", "agent", "rule"),
    [
        ("Where is my Invoice?", {}, "billing", "invoices"),
        ("Hello.\nPlease send the invoice\nonce more", {}, "billing", "invoices"),
        ("My device is broken", {"tier": "gold"}, "technical", "broken-vip"),
        ("My device is broken", {"tier": "silver"}, None, None),
        ("Hello", {"tier": "gold", "paid": True, "more": [1]}, "general", "vip"),
        ("Hello", {"tier": "gold", "paid": 1}, None, None),
        ("I paid with my credit\n  card", {"tier": {"a": [1]}}, "general", "deep"),
        ("I paid with my credit card", {"tier": {"a": [True]}}, None, None),
        ("", {}, None, None),
    ],
)
def test_i1_the_first_rule_that_fits_goal_and_context_decides(
    goal: str, context: dict[str, Any], agent: str | None, rule: str | None
) -> None:
    found = by_rule(
        Task(goal=goal, context=context), file(Strategy.RULE, INVOICE, BROKEN_VIP, VIP, DEEP), {}, 1
    )
    assert (found.target_agent, found.rule, found.confidence) == (
        agent,
        rule,
        float(rule is not None),
    )


@pytest.mark.parametrize(
    ("skill", "goal", "is_in"),
    [
        ("menu", "Change the menus", True),
        ("GPUs", "Is there a GPU?", True),
        ("credit card", "a card, on credit; a credit for the card", True),
        ("c#", "Is this C#?", True),
        ("C++", "A question on C", False),
        ("C", "Some C++ or C#", False),
        ("notes", "Do not ask", False),
    ],
)
def test_i1_a_skill_is_words_of_the_goal_in_both_numbers_and_with_their_signs(
    skill: str, goal: str, is_in: bool
) -> None:
    assert (by_skill(Task(goal=goal), skilled(skill), {}, 1).target_agent == "one") is is_in


def skilled(skill: str) -> Agents:
    one = Agent(name="one", description="d", skills=(skill,))
    return Agents(agents=(one,), supervisor=Supervisor(strategy=Strategy.SKILL))


def test_i1_a_skill_says_which_words_it_was_found_by_and_how_many_of_all() -> None:
    found = by_skill(Task(goal="A refund of the invoice"), file(Strategy.SKILL), {}, 1)
    assert (found.reasoning, round(found.confidence, 2)) == (
        "the goal mentions invoice, refund",
        0.67,
    )


def test_i1_what_nothing_decides_goes_to_the_fallback_else_to_the_agent_without_a_name() -> None:
    found = by_skill(Task(goal="Hello"), file(Strategy.SKILL, fallback="general"), {}, 1)
    assert (found.target_agent, found.confidence) == ("general", 0.0)
    assert found.reasoning == "the goal names no skill of an agent: general takes it"
    found = by_rule(Task(goal="Hello"), file(Strategy.RULE, INVOICE), {}, 1)
    assert (found.target_agent, found.reasoning) == (
        None,
        "no rule fits: the agent without a name takes it",
    )


def test_i1_agents_take_turns_in_the_order_of_the_file() -> None:
    agents = file(Strategy.ROUND_ROBIN, agents=("general", "billing"))
    found = [in_turn(Task(goal="g"), agents, {}, n) for n in (1, 2, 3)]
    assert [one.target_agent for one in found] == ["billing", "general", "billing"]
    assert found[2].reasoning == "billing is next in turn: task 3"


def test_i3_the_agent_with_the_fewest_open_chains_gets_the_task_and_equal_ones_take_turns() -> None:
    agents = file(Strategy.LOAD)
    found = by_load(Task(goal="g"), agents, {"billing": 2, "technical": 1, "general": 3}, 3)
    assert (found.target_agent, found.reasoning) == (
        "technical",
        "technical has the fewest: 1 open chain",
    )
    names = [
        by_load(Task(goal="g"), agents, {"technical": 1}, n).target_agent for n in (1, 2, 3, 4)
    ]
    assert names == ["billing", "general", "general", "billing"]


# ---- a chain that is routed
# -----------------------------------------------------------------------------------------

TOOLS = (spec("find_order"), writing("refund"))
FRONT = Agent(
    name="front",
    description="d",
    tools=("find_*",),
    agents=("billing",),
    style=Style.REACT,
    max_turns=3,
    budget=Budget(seconds=60),
)


def submitted(task: Task, agents: Agents, **counted: Any) -> Story:
    """The first decision of a task, in a world with these counts."""
    story = Story(task, *TOOLS)
    served = story.world.tools
    story.world = replace(story.world, agents=agents, **counted)
    story.submit(read=False)
    tools = with_agents(
        served, agents, story.chain.task
    )  # as the executor shows it to whom the chain belongs
    story.world = replace(story.world, tools=tools)
    return story


def with_front(strategy: Strategy, *rules: Rule, **more: Any) -> Agents:
    agents = file(strategy, *rules, **more)
    return structs.replace(agents, agents=(FRONT, *agents.agents))


TO_FRONT = Rule(id="orders", agent="front", match="order")


def test_i1_a_task_that_a_rule_routes_is_the_agents_own_as_if_it_had_named_this_one() -> None:
    agents = with_front(Strategy.RULE, TO_FRONT)
    task = Task(goal="Look at order 17", mode=Mode.ADVISORY, bounds=ALL_LISTS)
    story, named = submitted(task, agents), submitted(structs.replace(task, agent="front"), agents)
    assert story.chain.task == named.chain.task
    assert story.chain.deadline == START + 60_000
    for one in (story, named):
        one.calls("route", target_agent="billing", task="Refund order 17")
    assert story.last.outputs == named.last.outputs
    (first, second) = story.decisions[0].facts[:2]
    assert (first.type, second.type) == ("chain.routed", "chain.started")
    assert first.details == {
        "target_agent": "front",
        "strategy": "rule",
        "timestamp": START,
        "reasoning": "the rule orders fits: order",
        "confidence": 1.0,
        "rule": "orders",
    }
    assert second.details == {"origin": "react", "agent": "front"}
    assert story.chain.below == FromBelow(decisions=1)


def test_i1_a_task_that_nothing_routes_goes_to_the_agent_without_a_name_as_it_always_did() -> None:
    task = Task(goal="Hello", max_turns=5)
    story, plain = submitted(task, with_front(Strategy.RULE, TO_FRONT)), Story(task, *TOOLS)
    plain.submit(read=False)
    assert story.chain.task == task
    assert structs.replace(story.chain, below=FromBelow()) == plain.chain
    assert story.last.outputs == plain.last.outputs
    assert story.told("chain.routed")[0].get("target_agent") is None
    assert story.told("chain.started") == [{"origin": "drafted"}]


def test_i1_a_literal_plan_is_routed_too() -> None:
    task = Task(goal="Look at order 17", plan=plan(tool_step("a", call("find_order"))))
    story = submitted(task, with_front(Strategy.RULE, TO_FRONT))
    assert (story.chain.task.agent, story.status) == ("front", "executing")


def test_i1_a_skill_of_a_routed_task_is_not_routed_again() -> None:
    agents = with_front(Strategy.RULE, Rule(id="all", agent="front", match="."))
    child = Story(Task(goal="note: writes", plan=plan(tool_step("a", call("find_order")))), *TOOLS)
    child.first = child.chain = structs.replace(child.chain, id="c~react-1")
    child.world = replace(child.world, agents=agents)
    child.submit(read=False)
    assert (
        child.chain.task.agent,
        child.chain.task.handed.assigned,
        child.told("chain.routed"),
    ) == (None, None, [])


def test_i2_where_a_model_routes_the_task_is_the_supervisors() -> None:
    story = submitted(Task(goal="order"), with_front(Strategy.LLM))
    assert (story.chain.task.agent, story.told("chain.routed")) == (SUPERVISOR, [])


# ---- a function of the operator's
# -----------------------------------------------------------------------------------

BY_FUNCTION: dict[str, Any] = {"function": "shop:route", "fallback": "general"}


def names(agent: str, reasoning: str = "", confidence: float = 0.0) -> Proposal:
    """What the planner makes of a function's word."""
    return Proposal(
        calls=(call("route", target_agent=agent, reasoning=reasoning, confidence=confidence),)
    )


def test_i1_the_function_is_asked_once_and_the_task_is_then_that_of_the_agent_that_it_names() -> (
    None
):
    story = submitted(
        Task(goal="g", bounds=ALL_LISTS), with_front(Strategy.FUNCTION, **BY_FUNCTION)
    )
    assert (story.status, story.told("chain.started")) == ("planning", [])
    assert (story.thought.kind, story.thought.thought_id, story.thought.step_id) == (
        ThoughtKind.ROUTE,
        "c.route.t0.1",
        None,
    )
    thought = story.thought
    story.take(names("front", "It knows orders.", 0.7))
    (told,) = story.told("chain.routed")
    assert (told["target_agent"], told["strategy"], told["reasoning"], told["confidence"]) == (
        "front",
        "function",
        "It knows orders.",
        0.7,
    )
    assert (story.chain.task.agent, story.thought.kind) == ("front", ThoughtKind.REASON)
    before = story.chain
    story.take(names("billing"), thought=thought)
    assert story.chain is before, "a repeat changes nothing"


def test_i1_a_reply_to_no_thought_of_the_chain_routes_nothing() -> None:
    story = submitted(Task(goal="g"), with_front(Strategy.FUNCTION, **BY_FUNCTION))
    before, other = story.chain, structs.replace(story.thought, thought_id="c.route.t0.2")
    story.take(names("billing"), thought=other)
    assert story.chain is before


@pytest.mark.parametrize("name", ["nobody", "supervisor", "front"])
def test_i1_where_the_function_names_no_agent_that_there_is_the_fallback_takes_the_task(
    name: str,
) -> None:
    agents = with_front(Strategy.FUNCTION, **BY_FUNCTION, agents=("billing", "general"))
    story = submitted(Task(goal="g"), agents)
    story.take(names(name, confidence=1.0))
    (told,) = story.told("chain.routed")
    assert (told["target_agent"], told["confidence"]) == ("general", 0.0)
    assert told["reasoning"] == f"the function names {name}: general takes it"


def test_i1_a_reply_that_says_nothing_of_routing_is_no_choice() -> None:
    story = submitted(Task(goal="g"), with_front(Strategy.FUNCTION, function="shop:route"))
    story.take(Proposal(content="billing"))
    assert (story.chain.task.agent, story.chain.task.handed.assigned) == (None, None)


def test_i1_where_the_function_fails_the_fallback_takes_the_task_and_says_why() -> None:
    story = submitted(Task(goal="g"), with_front(Strategy.FUNCTION, **BY_FUNCTION))
    data = ThoughtFailed.Data(
        thought_id="c.route.t0.1",
        kind=ThoughtKind.ROUTE,
        code="HP-311",
        message="shop:route is too slow",
    )
    story.hear(ThoughtFailed(id="f", source="t", subject="c", data=data))
    (told,) = story.told("chain.routed")
    assert told["target_agent"] == "general"
    assert (
        told["reasoning"]
        == "the function failed (HP-311: shop:route is too slow): general takes it"
    )
    assert story.chain.task.agent == "general"
