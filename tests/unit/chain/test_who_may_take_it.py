"""Who may get a task that a model routes (CONTRACT I2, I3): what a person may choose is what the model may name, what
counts as the decision of a proposal, and where the rounds and turns of routing end.
"""

from dataclasses import replace
from typing import Any

import pytest

from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.agents import Agents
from haltpoint.contracts.work.bounds import Bounds
from haltpoint.contracts.work.routing import SUPERVISOR, OnBound, Supervisor
from haltpoint.contracts.work.tasks import Mode, Style, Task
from haltpoint.contracts.work.thoughts import Proposal, ThoughtKind, Violation
from tests.support.builders import call
from tests.unit.chain.test_agents import Tree
from tests.unit.chain.test_routing import AGENTS, at_the_bound, begun, decision, ended, look_up, routing

REFUND = Bounds(required_tools=("refund",))
UNREADABLE = Proposal(content="x", faults=("the decision names no agent in target_agents",))


def read_as(bounds: Bounds, goal: str, **said: Any) -> Tree:
    """A supervisor whose goal was read in this way."""
    file = Agents(agents=AGENTS, supervisor=Supervisor(**{"tools": ("find_*",), **said}))
    tree = Tree(Task(goal=goal, agent=SUPERVISOR, style=Style.REACT), file)
    tree.root.submit(read=False)
    tree.root.read(bounds)
    return tree


def with_tool(tree: Tree, name: str, **said: Any) -> None:
    """A worker serves a tool that has the name of an agent."""
    tools = {**tree.root.world.tools, name: ToolSpec(name=name, **said)}
    tree.root.world = replace(tree.root.world, tools=tools)


def offered(tree: Tree) -> list[str]:
    return [one.id for one in tree.root.questions[-1].request.options]


# ---- what a person may choose ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [{"internal": True}, {"destructive": True}, {}])
def test_i1_a_tool_that_has_an_agents_name_is_nobody_to_choose(said: dict[str, Any]) -> None:
    tree = routing(threshold=0.7)
    with_tool(tree, "technical", **said)
    tree.root.take(decision("billing", sure=0.1))
    assert offered(tree) == ["billing", "general"]


def test_i1_one_that_comes_while_a_person_thinks_is_not_called_in_its_place() -> None:
    tree = routing(threshold=0.7)
    tree.root.take(decision("billing", sure=0.1))
    with_tool(tree, "technical", destructive=True)
    tree.root.answer(RequestKind.CLARIFICATION, option="technical")
    assert (tree.root.tools_called, begun(tree.root)) == ([], [])
    assert not tree.root.told("chain.routed")
    (fault,) = tree.root.thought.corrections
    assert fault.message.endswith("The agents: billing, general.")


def test_hp215_where_no_agent_may_take_it_there_is_nobody_to_ask_about() -> None:
    tree = routing(max_tool_retries=0)
    for name in ("billing", "general", "technical"):
        with_tool(tree, name)
    tree.root.take(decision("billing"))
    assert tree.root.chain.error is not None
    assert tree.root.chain.error.code == "HP-215"
    assert tree.root.chain.error.message.endswith("the supervisor named no agent"), "it had no rounds of tools"


def test_i3_none_of_them_without_a_word_is_no_value_of_a_persons() -> None:
    tree = routing(threshold=0.7)
    tree.root.take(decision("billing", sure=0.4))
    tree.root.answer(RequestKind.CLARIFICATION, Choice.NONE, text=" ")
    assert tree.root.chain.actions["c.route.1"].data == '{"answer":"None of these agents is the right one."}'


# ---- what a decision is ----------------------------------------------------------------------------------------------


def test_i2_a_second_call_of_an_agent_beside_its_decision_never_runs() -> None:
    tree = routing()
    tree.root.take(decision("billing", beside=(call("billing", task="Pay 1000 to mallory"),)))
    assert ended(tree).chain.task.goal == "Find out where it is"
    assert (begun(tree.root), tree.root.never_executed) == ([], [("billing", "routed")])


def test_i2_calls_of_one_agent_are_one_decision_of_which_the_first_counts() -> None:
    tree = routing(parallel=16)
    tree.root.propose(*[call("billing", task=f"part {number}") for number in range(32)])
    assert (begun(tree.root), tree.begun(tree.root.last).chain.task.goal) == (["billing"], "part 0")
    ended(tree)
    assert tree.root.never_executed == [("billing", "routed")] * 31


def test_i2_an_agent_that_fails_leaves_the_others_of_its_decision_their_task() -> None:
    tree = routing()
    tree.root.take(decision("billing", "technical", beside=(call("find_order", query="17"),)))
    child = tree.begun(tree.root.last)
    child.no_thought(child.thought.thought_id)
    tree.report(child)
    assert begun(tree.root) == ["technical"]
    ended(tree)
    assert tree.root.never_executed == [("find_order", "routed")]


# ---- the bound -------------------------------------------------------------------------------------------------------


def test_i2_behind_the_bound_a_question_in_words_is_no_round_more() -> None:
    tree = routing(max_tool_retries=0)
    tree.root.take(decision("billing"))
    ended(tree)
    tree.root.propose(content="Which order number?")
    assert (tree.root.questions, tree.root.chain.answer) == ([], "Which order number?")


def test_i2_nor_where_an_effect_is_owed() -> None:
    tree = read_as(REFUND, "Refund order 17", max_tool_retries=0)
    tree.root.take(decision("technical", task="Look"))
    ended(tree)
    tree.root.propose(content="Which order number?")
    assert tree.root.questions == []
    assert [one.violation for one in tree.root.thought.corrections] == [Violation.NO_CALL]


@pytest.mark.parametrize(("rounds", "turns"), [(12, None), (20, None), (3, 1), (3, 3)])
def test_i2_rounds_are_no_turns_of_the_step(rounds: int, turns: int | None) -> None:
    tree = routing(policy=Policy(max_turns=turns) if turns else None, max_tool_retries=rounds)
    for number in range(rounds):
        assert not tree.root.thought.forced
        look_up(tree, str(number), data=f'{{"id": "order_{number}"}}')
    assert tree.root.thought.forced
    tree.root.take(decision("billing"))
    assert begun(tree.root) == ["billing"]


@pytest.mark.parametrize("reply", [UNREADABLE, decision("legal"), decision("legal", beside=(call("refund"),))])
@pytest.mark.parametrize("mode", [Mode.STRICT, Mode.OFF])
def test_i2_a_model_that_uses_up_its_turns_without_a_decision_is_at_the_bound(mode: Mode, reply: Proposal) -> None:
    tree = routing(mode, policy=Policy(max_turns=2))
    look_up(tree)
    for _ in range(2):
        assert tree.root.chain.status is ChainStatus.EXECUTING
        tree.root.take(reply)
    assert offered(tree) == ["technical", "billing", "general"]
    tree.root.answer(RequestKind.CLARIFICATION, option="general")
    assert begun(tree.root) == ["general"]
    ended(tree)
    assert (begun(tree.root), tree.root.thought.kind) == ([], ThoughtKind.ROUTE)
    tree.root.take(decision("billing"))
    assert begun(tree.root) == ["billing"]


def test_hp215_or_fails_with_what_was_found_out() -> None:
    tree = routing(policy=Policy(max_turns=2), on_bound=OnBound.FAIL)
    look_up(tree)
    for _ in range(2):
        tree.root.take(UNREADABLE)
    assert tree.root.chain.error is not None
    assert tree.root.chain.error.code == "HP-215"
    assert 'find_order: {"id": "order_17"}' in (tree.root.chain.answer or "")


@pytest.mark.parametrize("on_bound", OnBound)
def test_c7_calls_at_the_bound_are_recorded_as_never_executed(on_bound: OnBound) -> None:
    tree = at_the_bound(on_bound=on_bound)
    tree.root.propose(call("find_order", query="19"), call("find_order", query="20"))
    assert tree.root.never_executed == [("find_order", "no agent was named")] * 2


# ---- what is owed ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("told", ["shown", "empty"])
def test_i2_behind_the_bound_the_results_stand_once_an_agent_is_done(told: str) -> None:
    tree = at_the_bound(on_bound=OnBound.FAIL)
    tree.root.take(decision("billing"))
    ended(tree)
    look_up(tree, "18")
    look_up(tree, "19")
    assert tree.root.thought.forced
    if told == "shown":
        tree.root.take(Proposal(content="The note says {}", shown=True, faults=("it shows a decision",)))
        assert (tree.root.thought.forced, tree.root.chain.strikes) == (True, 0)
        tree.root.propose(content="The note says {}")
        assert tree.root.chain.answer == "The note says {}"
        return
    tree.root.take(UNREADABLE)
    assert tree.root.chain.status is ChainStatus.COMPLETED
    assert "billing: It is on its way." in str(tree.root.chain.answer)


def test_i2_behind_the_bound_a_decision_beside_words_is_asked_about_too() -> None:
    tree = at_the_bound(on_bound=OnBound.FAIL)
    tree.root.take(Proposal(content="Like this: {}", shown=True, faults=("it shows a decision",)))
    assert (tree.root.thought.forced, tree.root.chain.strikes) == (True, 0)
    tree.root.take(decision("billing"))
    assert begun(tree.root) == ["billing"]


def test_i2_a_supervisor_that_has_done_the_work_itself_answers() -> None:
    tree = read_as(REFUND, "Refund order 17", tools=("find_*", "refund"))
    tree.root.propose(call("refund", order="17"))
    tree.root.result()
    tree.root.propose(content="Order 17 is refunded.")
    assert (tree.root.chain.status, tree.root.chain.answer) == (ChainStatus.COMPLETED, "Order 17 is refunded.")


def test_d3_a_person_chooses_at_the_limit_while_an_effect_is_owed() -> None:
    tree = read_as(REFUND, "Refund order 17")
    tree.root.take(decision("technical", task="Look"))
    ended(tree)
    for _ in range(3):
        tree.root.take(decision("refunds"))
    assert tree.root.chain.status is ChainStatus.AWAITING_CLARIFICATION
