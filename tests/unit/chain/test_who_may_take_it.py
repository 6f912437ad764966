"""Who may get a task that a model routes (CONTRACT I2, I3): what a person may choose is what the model may name, what
counts as the decision of a proposal, and where the rounds and turns of routing end.
"""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from haltpoint.chain.checks.goal import with_effects
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.answers import WhyNot
from haltpoint.contracts.events import PlanDrafted
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.policy import Pattern
from haltpoint.contracts.results import ErrorInfo, ErrorType
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.intent import Intent, IntentEntry
from haltpoint.contracts.work.plans import Step
from haltpoint.contracts.work.routing import SUPERVISOR, OnBound, Supervisor
from haltpoint.contracts.work.tasks import Mode, Style, Task
from haltpoint.contracts.work.thoughts import Proposal, ThoughtKind, Violation
from tests.support.builders import call, failed, plan
from tests.unit.chain.story import Story
from tests.unit.chain.test_agents import Tree
from tests.unit.chain.test_routing import AGENTS, at_the_bound, begun, decision, ended, look_up, routing

REFUND = Intent(effects_asked=(IntentEntry(tools=("refund",), words="Refund order 17"),))
UNREADABLE = Proposal(content="x", faults=("the decision names no agent in target_agents",))


def read_as(intent: Intent, goal: str, **said: Any) -> Tree:
    """A supervisor whose goal was read in this way."""
    file = Agents(agents=AGENTS, supervisor=Supervisor(**{"tools": ("find_*",), **said}))
    tree = Tree(Task(goal=goal, agent=SUPERVISOR, style=Style.REACT), file)
    tree.root.submit(read=False)
    tree.root.read(intent)
    return tree


def without(*names: str, **said: Any) -> Tree:
    """A supervisor whose user wants none of these agents."""
    goal = "Refund order 17, not with these"
    return read_as(Intent(forbidden=(IntentEntry(tools=names, words="not with these"),)), goal, **said)


def with_tool(tree: Tree, name: str, **said: Any) -> None:
    """A worker serves a tool that has the name of an agent."""
    tools = {**tree.root.world.tools, name: ToolSpec(name=name, **said)}
    tree.root.world = replace(tree.root.world, tools=tools)


def offered(tree: Tree) -> list[str]:
    return [one.id for one in tree.root.questions[-1].request.options]


# ---- what a person may choose ----------------------------------------------------------------------------------------


def test_c12_an_agent_that_the_user_forbids_is_offered_to_nobody() -> None:
    tree = without("billing", threshold=0.7)
    tree.root.take(decision("billing", sure=0.9))
    assert "may not be called" in tree.root.thought.corrections[0].message
    tree.root.take(decision("general", sure=0.1))
    assert offered(tree) == ["general", "technical"]
    tree.root.answer(RequestKind.CLARIFICATION, option="billing")
    assert (begun(tree.root), tree.root.chain.status) == ([], ChainStatus.AWAITING_CLARIFICATION)


def test_c12_a_goal_is_read_for_the_agents_too_where_no_tool_has_effects() -> None:
    file = Agents(agents=AGENTS, supervisor=Supervisor())
    root = Tree(Task(goal="Where is it?", agent=SUPERVISOR, style=Style.REACT), file).root
    reading = {name: one for name, one in root.world.tools.items() if not with_effects(one)}
    root.world = replace(root.world, tools=reading)
    root.submit(read=False)
    assert root.thought.kind is ThoughtKind.INTENT


def test_c12_neither_at_the_bound_nor_in_the_names_that_the_model_gets() -> None:
    tree = without("billing", max_tool_retries=0)
    tree.root.take(decision("legal"))
    assert offered(tree) == ["technical", "general"]
    assert tree.root.told("contract.violated")[-1]["message"].endswith("Agents that can take it: technical, general.")


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
    tree = without("billing", "general", "technical", max_tool_retries=0)
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
    assert [one.violation for one in tree.root.thought.corrections] == [Violation.UNFULFILLED]


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


def test_c12_a_supervisor_decides_who_does_what_is_owed() -> None:
    tree = read_as(REFUND, "Refund order 17")
    tree.root.take(decision("technical", task="Look"))
    ended(tree)
    tree.root.propose(content="All is fine.")
    (fault,) = tree.root.thought.corrections
    assert "Decide which agent does it." in fault.message


def test_c12_behind_its_last_decision_nothing_can_be_called_any_more() -> None:
    tree = read_as(REFUND, "Refund order 17", max_iterations=1)
    tree.root.take(decision("technical", task="Look"))
    ended(tree)
    tree.root.say("All is fine.")
    assert tree.root.thought.kind is ThoughtKind.ANSWER
    (fault,) = tree.root.thought.corrections
    assert "It cannot be called any more." in fault.message


def failing(tree: Tree, agent: str, kind: ErrorType | None) -> ErrorInfo | None:
    """The error of an agent that looks something up in vain and ends with that, or gives up before any call."""
    tree.root.take(decision(agent))
    child = tree.begun(tree.root.last)
    if kind is not None:
        child.propose(call("find_order", query="X-1"))
        child.result(failed(kind, "there is no order X-1"))
    if not child.chain.status.final:
        child.propose(content="This is not my work: it is about delivery.", give_up=True)
    assert (child.chain.status, child.told("contract.violated")) == (ChainStatus.FAILED, [])
    tree.report(child)
    return next(reversed(tree.root.chain.actions.values())).error


@pytest.mark.parametrize("kind", [ErrorType.NOT_FOUND, ErrorType.PERMISSION, ErrorType.BLOCKED, ErrorType.VALIDATION])
def test_c12_what_a_failed_agent_might_have_done_is_reported_by_its_error(kind: ErrorType) -> None:
    tree = read_as(REFUND, "Refund order 17")
    assert failing(tree, "billing", kind) == ErrorInfo(kind, "there is no order X-1", recoverable=True)
    tree.root.propose(content="There is no order X-1.")
    assert (tree.root.chain.status, tree.root.chain.answer) == (ChainStatus.COMPLETED, "There is no order X-1.")
    assert [(one.tool, one.says) for one in tree.root.chain.unfulfilled] == [("refund", "Refund order 17")]


def routed_to(agent: Agent) -> tuple[Tree, Story]:
    """A supervisor that has decided for this agent, and the agent's chain."""
    file = Agents(agents=(agent, *AGENTS), supervisor=Supervisor(agents=(agent.name, "general")))
    tree = Tree(Task(goal="Refund order 17", agent=SUPERVISOR, style=Style.REACT), file)
    tree.root.submit(read=False)
    tree.root.read(REFUND)
    tree.root.take(decision(agent.name))
    return tree, tree.begun(tree.root.last)


def refuses(tree: Tree, caller: Story) -> ErrorInfo | None:
    """The error for the caller of an agent that looks something up and then refuses the task."""
    child = tree.begun(caller.last)
    child.propose(call("find_order", query="17"))
    child.result()
    child.propose(content="This is not my work.", give_up=True)
    tree.report(child)
    action = next(reversed(caller.chain.actions.values()))
    assert not action.told.reported
    return action.error


def test_c12_an_agent_that_refuses_after_a_call_reports_nothing() -> None:
    tree = read_as(REFUND, "Refund order 17")
    tree.root.take(decision("billing"))
    assert refuses(tree, tree.root) == ErrorInfo(ErrorType.VALIDATION, "This is not my work.", recoverable=True)
    tree.root.propose(content="It is done.")
    assert [one.violation for one in tree.root.thought.corrections] == [Violation.UNFULFILLED]


def test_c11_an_agent_that_is_called_hears_that_it_may_refuse() -> None:
    _, child = routed_to(Agent(name="clerk", description="Refunds.", style=Style.PLAN))
    child.draft(plan(Step(id="s1", required_tools=("refund",))))
    assert child.thought.skippable
    child.propose(content="I do not know which order.")
    told = child.thought.corrections[0].message
    assert "If it is not needed, or not your work, answer" in told
    assert "must call" not in told


def test_c12_nor_does_one_that_passes_on_what_another_one_has_refused() -> None:
    tree, child = routed_to(Agent(name="desk", description="Takes everything.", agents=("billing",)))
    child.propose(call("billing", task="Refund order 17"))
    refuses(tree, child)
    child.propose(content="No agent does it.", give_up=True)
    tree.report(child)
    told = next(reversed(tree.root.chain.actions.values()))
    assert (told.error and told.error.message, told.told.reported) == ("This is not my work.", False)


@pytest.mark.parametrize("by_person", [False, True])
def test_c11_what_an_agent_leaves_out_is_left_out_of_the_tree(by_person: bool) -> None:
    tree, child = routed_to(Agent(name="clerk", description="Refunds.", style=Style.PLAN))
    first = Step(id="s1", required_tools=("find_order",))
    child.draft(plan(first, Step(id="s2", required_tools=("refund",), dependencies=("s1",))))
    child.propose(call("find_order", query="17"))
    child.result()
    if by_person:
        for _ in range(3):
            child.propose(content="It was refunded already.")
        child.answer(RequestKind.ESCALATION, Choice.SKIP, text="It was refunded already.", request="c~route-1.r1")
    else:
        child.propose(content="It was refunded already.", give_up=True)
    child.say("It was refunded already.")
    tree.report(child)
    tree.root.propose(content="It was refunded already.")
    assert tree.root.chain.status is ChainStatus.COMPLETED
    [left] = tree.root.chain.unfulfilled
    assert (left.tool, left.why, left.message[:24]) == ("refund", WhyNot.NOT_NEEDED, "It was refunded already.")


@pytest.mark.parametrize("given_up", [False, True])
def test_c2_what_a_pattern_requires_no_agent_leaves_out(given_up: bool) -> None:
    """Neither by giving its step up, nor by a plan without such a step."""
    policy = Policy(patterns=(Pattern(id="refund", pattern="refund", tools=("refund",)),))
    clerk = Agent(name="clerk", description="Refunds.", style=Style.PLAN)
    front = Agent(name="front", description="Takes everything.", style=Style.PLAN, agents=("clerk",))
    tree = Tree(Task(goal="Refund order 17", agent="front", style=Style.PLAN), Agents(agents=(front, clerk)), policy)
    tree.root.submit()
    tree.root.draft(plan(Step(id="s1", required_tools=("clerk",))))
    tree.root.propose(call("clerk", task="Refund order 17"))
    child = tree.begun(tree.root.last)
    first = Step(id="s1", required_tools=("find_order",))
    refunds = Step(id="s2", required_tools=("refund",), dependencies=("s1",))
    child.draft(plan(first, refunds) if given_up else plan(first))
    child.propose(call("find_order", query="17"))
    child.result()
    if given_up:
        child.propose(content="It needs none.", give_up=True)
    else:
        child.say("It needs none.")
    tree.report(child)
    if not given_up:
        tree.root.say("I am done with everything.")
        assert [one.violation for one in tree.root.thought.corrections] == [Violation.UNFULFILLED]
        tree.root.say("I am done with everything.")
        assert tree.root.chain.status is ChainStatus.FAILED
        return
    assert next(reversed(tree.root.chain.actions.values())).error is not None, "it has refused"


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


@pytest.mark.parametrize("tool", ["find_order", "refund"])
def test_c12_an_agent_that_says_in_words_that_an_effect_failed_has_reported_it(tool: str) -> None:
    tree = read_as(REFUND, "Refund order 17")
    tree.root.take(decision("billing"))
    child = tree.begun(tree.root.last)
    child.propose(call(tool, query="17"))
    child.result(failed(ErrorType.NOT_FOUND, "there is no order 17"))
    child.propose(content="There is no order 17, so I refunded nothing.")
    assert child.chain.status is ChainStatus.COMPLETED
    tree.report(child)
    tree.root.propose(content="There is no order 17.")
    assert (tree.root.chain.status is ChainStatus.COMPLETED) is (tool == "refund")


def test_c12_an_agent_that_fails_reports_for_no_tool_that_it_may_not_call() -> None:
    tree = read_as(REFUND, "Refund order 17")
    failing(tree, "technical", None)
    tree.root.propose(content="Technical could not do it.")
    assert [one.violation for one in tree.root.thought.corrections] == [Violation.UNFULFILLED]


def test_c12_a_later_agent_that_ends_well_without_the_effect_owes_it_again() -> None:
    tree = read_as(REFUND, "Refund order 17")
    failing(tree, "billing", ErrorType.NOT_FOUND)
    tree.root.take(decision("billing", task="Try order 17"))
    ended(tree, words="It is refunded.")
    tree.root.propose(content="Order 17 was refunded.")
    assert [one.violation for one in tree.root.thought.corrections] == [Violation.UNFULFILLED]


def test_d3_a_person_chooses_at_the_limit_while_an_effect_is_owed() -> None:
    tree = read_as(REFUND, "Refund order 17")
    tree.root.take(decision("technical", task="Look"))
    ended(tree)
    for _ in range(3):
        tree.root.take(decision("refunds"))
    assert tree.root.chain.status is ChainStatus.AWAITING_CLARIFICATION


def test_c12_an_agent_that_refuses_the_task_reports_nothing() -> None:
    tree = read_as(REFUND, "Refund order 17")
    failing(tree, "billing", None)
    tree.root.propose(content="It is done.")
    assert [one.violation for one in tree.root.thought.corrections] == [Violation.UNFULFILLED]


def test_c11_a_question_after_an_agents_failure_still_goes_to_a_person() -> None:
    tree = read_as(REFUND, "Refund order 17")
    failing(tree, "billing", ErrorType.NOT_FOUND)
    tree.root.propose(content="Which order number do you mean?")
    assert tree.root.chain.status is ChainStatus.AWAITING_INPUT


# ---- an agent that does not take it ----------------------------------------------------------------------------------


def test_c11_an_agent_may_say_that_it_is_not_its_work_and_another_gets_it() -> None:
    tree = read_as(REFUND, "Refund order 17")
    words = "This is not my work: it is about delivery."
    assert failing(tree, "technical", None) == ErrorInfo(ErrorType.VALIDATION, words, recoverable=True)
    assert (tree.root.chain.status, tree.root.chain.strikes) == (ChainStatus.EXECUTING, 0)
    tree.root.take(decision("billing"))
    assert begun(tree.root) == ["billing"]


def test_c11_without_a_word_it_is_asked_once_more_as_is_a_task_of_a_users_own() -> None:
    tree = routing()
    tree.root.take(decision("billing"))
    child = tree.begun(tree.root.last)
    child.propose(give_up=True)
    own = Tree(Task(goal="Where is it?", agent="billing", style=Style.REACT), tree.file).root
    own.submit(read=False)
    own.read(Intent())
    own.propose(content="This is not my work.", give_up=True)
    assert [one.thought.corrections[0].violation for one in (child, own)] == [Violation.UNFOUNDED_FAIL] * 2


def test_c11_an_agent_that_makes_plans_may_say_so_in_place_of_one() -> None:
    agents = Agents((structs.replace(AGENTS[1], style=Style.PLAN), AGENTS[2]), supervisor=Supervisor())
    tree = Tree(Task(goal="Refund order 17", agent=SUPERVISOR, style=Style.REACT), agents)
    tree.root.submit(read=False)
    tree.root.read(Intent())
    tree.root.take(decision("billing"))
    child = tree.begun(tree.root.last)
    assert child.thought.kind is ThoughtKind.PLAN
    name, words = child.thought.thought_id, "This is not my work."
    data = PlanDrafted.Data(thought_id=name, fault="there is no plan", refused=words)
    child.hear(PlanDrafted(id="p", source="test", subject=child.chain.id, data=data))
    assert (child.chain.status, child.chain.strikes) == (ChainStatus.FAILED, 0)
    tree.report(child)
    error = next(reversed(tree.root.chain.actions.values())).error
    assert error == ErrorInfo(ErrorType.VALIDATION, words, recoverable=True)
