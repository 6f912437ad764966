"""Routing by a model (CONTRACT I2, I3): looking things up and deciding are two kinds of proposal of
one step, rounds of tools are bounded, and nothing is handed on to an agent that was not decided
for.
"""

from typing import Any

import pytest

from haltpoint.chain.checks.core_tools import HUMAN_SPEC
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.outputs import StartChild
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.bounds import Bounds
from haltpoint.contracts.work.routing import SUPERVISOR, Supervisor
from haltpoint.contracts.work.tasks import Budget, Mode, Style, Task
from haltpoint.contracts.work.thoughts import Proposal, ThoughtKind, Violation
from tests.support.builders import call, spec
from tests.unit.chain.story import START, Story
from tests.unit.chain.test_agents import TOOLS, Tree

GOAL = "My order 17 has not come"
AGENTS = (
    Agent(name="technical", description="Things that do not work.", tools=(), style=Style.REACT),
    Agent(
        name="billing",
        description="Invoices and refunds.",
        tools=("find_*", "refund"),
        style=Style.REACT,
    ),
    Agent(name="general", description="Everything else.", tools=(), style=Style.REACT),
)


def routing(
    mode: Mode = Mode.STRICT,
    parallel: int | None = None,
    policy: Policy | None = None,
    task_tools: tuple[str, ...] | None = None,
    budget: Budget | None = None,
    **said: Any,
) -> Tree:
    """A supervisor that has read what its goal asks for: nothing that has an effect."""
    file = Agents(agents=AGENTS, supervisor=Supervisor(**{"tools": ("find_*",), **said}))
    tree = Tree(
        Task(
            goal=GOAL,
            agent=SUPERVISOR,
            mode=mode,
            parallel=parallel,
            tools=task_tools,
            budget=budget or Budget(),
        ),
        file,
        policy,
    )
    tree.root.submit(read=False)
    if mode is not Mode.OFF:
        tree.root.read(Bounds())
    return tree


def decision(
    agent: str, task: str = "Find out where it is", sure: float = 0.9, beside: Any = ()
) -> Proposal:
    chosen = call("route", target_agent=agent, task=task, reasoning="so", confidence=sure)
    return Proposal(calls=(chosen, *beside))


def look_up(tree: Tree, query: str = "17") -> None:
    tree.root.calls("find_order", query=query)
    tree.root.returns('{"id": "order_17"}')


def begun(story: Story) -> list[str]:
    """The agents whose chains the last event has begun."""
    return [str(one.task.agent) for one in story.last.outputs if isinstance(one, StartChild)]


def ended(tree: Tree, which: int = 0, words: str = "It is on its way.") -> Story:
    """The chain of an agent that the last decision began, after its end was heard."""
    child = tree.begun(tree.root.last, which)
    child.writes(words)
    tree.report(child)
    return child


# ---- a decision
# --------------------------------------------------------------------------------------------------


def test_i2_a_supervisor_is_one_open_step_whose_tools_are_its_own_a_question_and_route() -> None:
    root = routing().root
    (step,) = root.chain.plan.steps if root.chain.plan else ()
    assert (step.id, step.allowed_tools) == ("route", ("find_order", "route"))
    assert (root.thought.kind, root.thought.forced, root.thought.thought_id) == (
        ThoughtKind.ACT,
        False,
        "c.route.t1.1",
    )


def test_i2_calls_of_its_tools_come_before_the_decision_and_their_results_are_kept() -> None:
    tree = routing()
    look_up(tree)
    tree.root.calls("find_order", query="18")
    tree.root.result()
    assert tree.root.thought.receipts == ("c.route.1", "c.route.2")
    tree.root.take(decision("billing"))
    assert begun(tree.root) == ["billing"]
    assert tree.root.chain.below.rounds == 0, "they are counted for each decision"


def test_i3_calls_beside_a_decision_never_run_however_many_may_run_in_a_turn() -> None:
    tree = routing(policy=Policy(actions_per_turn=3))
    look = call("find_order", query="17")
    tree.root.take(decision("billing", beside=(look, *decision("general").calls)))
    assert (begun(tree.root), tree.root.tools_called) == (["billing"], [])
    ended(tree)
    assert tree.root.tools_called == []
    why = "too many calls in one reply"
    assert tree.root.never_executed == [("route", why), ("find_order", why)]
    assert len(tree.root.told("chain.routed")) == 1


def test_i3_calls_before_a_decision_in_its_reply_never_run_either() -> None:
    tree = routing()
    tree.root.propose(call("find_order", query="17"), *decision("billing").calls)
    ended(tree)
    assert tree.root.never_executed == [("find_order", "too many calls in one reply")]


def test_i2_it_may_decide_again_as_often_as_the_file_says_then_the_answer_is_asked_for() -> None:
    tree = routing(max_iterations=2)
    tree.root.take(decision("billing"))
    ended(tree)
    tree.root.take(decision("technical"))
    ended(tree, words="It was lost.")
    assert tree.root.thought.kind is ThoughtKind.ANSWER
    tree.root.say("It was lost.")
    assert tree.root.final_answer == "It was lost."
    assert len(tree.root.told("chain.routed")) == 2


# ---- what is no decision
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["legal", SUPERVISOR, "find_order", "Billing"])
def test_i3_an_unknown_target_is_a_strike_and_nothing_is_handed_on(name: str) -> None:
    tree = routing(policy=Policy(actions_per_turn=2))
    tree.root.take(decision(name, beside=(call("find_order", query="17"),)))
    (fault,) = tree.root.thought.corrections
    assert (fault.violation, fault.tool, begun(tree.root)) == (Violation.BAD_ARGUMENTS, "route", [])
    assert "technical" in fault.message
    assert (tree.root.strikes, tree.root.told("chain.routed")) == (1, [])
    assert tree.root.never_executed == [("find_order", "too many calls in one reply")]


def test_i3_without_a_task_the_agent_gets_the_goal_and_without_a_number_the_confidence_is_0() -> (
    None
):
    tree = routing()
    tree.root.calls("route", target_agent="billing")
    child = tree.begun(tree.root.last)
    assert (child.chain.task.goal, child.chain.task.asked) == (GOAL, GOAL)
    (told,) = tree.root.told("chain.routed")
    assert (told["reasoning"], told["confidence"]) == ("", 0.0)


def test_i1_models_reach_agents_by_route_alone() -> None:
    tree = routing()
    tree.root.calls("billing", task="Refund it")
    (fault,) = tree.root.thought.corrections
    assert (fault.violation, begun(tree.root)) == (Violation.UNKNOWN_TOOL, [])


def test_i2_words_before_a_decision_are_none_and_the_model_gets_the_form() -> None:
    tree = routing()
    tree.root.writes("I think billing should do it.")
    (fault,) = tree.root.thought.corrections
    assert fault.violation is Violation.NO_CALL
    assert fault.message.startswith(
        "Step 'route' is not complete before these have succeeded in it: route."
    )
    agents = '"target_agent":"technical"'
    assert fault.form.startswith(f'The form of a call is: {{"tool":"route","arguments":{{{agents}')


FORM = {
    "type": "object",
    "properties": {"query": {"type": "string"}},
    "additionalProperties": False,
}


@pytest.fixture
def forms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools that say what they take, askHuman among them."""
    for one in (spec("find_order", parameters=FORM), HUMAN_SPEC):
        monkeypatch.setitem(TOOLS, one.name, one)


@pytest.mark.usefixtures("forms")
@pytest.mark.parametrize(
    "narrower", [{"tools": ()}, {"task_tools": ()}, {"task_tools": ("askHuman",)}]
)
def test_d1_calls_where_no_tool_is_configured_are_violations(narrower: JsonObject) -> None:
    tree = routing(**narrower)
    tree.root.calls("find_order", query="17")
    assert tree.root.strikes == 1


@pytest.mark.usefixtures("forms")
def test_d1_a_refused_call_beside_one_that_was_sent_is_a_strike_and_a_round() -> None:
    tree = routing(tools=("nope_*",), policy=Policy(actions_per_turn=2))
    tree.root.propose(call("find_order", query="17"), call("askHuman", question="Which order?"))
    tree.root.answer(RequestKind.INPUT, text="Order 17")
    assert len(tree.root.told("contract.violated")) == 1
    assert tree.root.chain.below.rounds == 1


def test_i1_an_agent_that_fails_is_no_end_another_may_be_chosen() -> None:
    tree = routing()
    tree.root.take(decision("billing"))
    child = tree.begun(tree.root.last)
    child.no_thought(child.thought.thought_id)
    tree.report(child)
    tree.root.take(decision("general"))
    assert begun(tree.root) == ["general"]


def test_d4_in_advisory_words_without_a_decision_are_the_answer_and_counted() -> None:
    tree = routing(Mode.ADVISORY)
    tree.root.writes("Ask billing.")
    assert (tree.root.final_answer, len(tree.root.told("contract.violated"))) == (
        "Ask billing.",
        1,
    )


# ---- the bound
# --------------------------------------------------------------------------------------------------


def at_the_bound() -> Tree:
    tree = routing(max_tool_retries=2)
    look_up(tree, "17")
    look_up(tree, "18")
    assert tree.root.thought.forced
    return tree


NO_DECISIONS = [
    Proposal(calls=(call("find_order", query="19"),)),
    Proposal(content="I do not know."),
    Proposal(content="Which one?"),
    Proposal(faults=("the reply is empty: it has neither text nor calls",)),
    Proposal(calls=(call("find_order", query="19"), call("find_order", query="20"))),
]


@pytest.mark.parametrize("reply", NO_DECISIONS)
def test_i2_who_does_not_decide_then_has_a_person_decide(reply: Proposal) -> None:
    tree = at_the_bound()
    called = list(tree.root.tools_called)
    tree.root.take(reply)
    assert (tree.root.tools_called, begun(tree.root)) == (called, [])
    dropped = [(one.tool, "a person was asked first") for one in reply.calls]
    assert tree.root.never_executed == dropped
    (asked,) = tree.root.questions
    assert asked.kind is RequestKind.CLARIFICATION
    assert [one.id for one in asked.options] == ["technical", "billing", "general"]
    assert asked.question == f"No agent has the task: it named no agent. Who works on this: {GOAL}"

    tree.root.pick("general")
    child = tree.begun(tree.root.last)
    assert (child.chain.task.agent, child.chain.task.goal) == ("general", GOAL)
    assert tree.root.told("chain.routed")[-1] == {
        "target_agent": "general",
        "strategy": "llm",
        "timestamp": START,
        "reasoning": "",
        "confidence": 0.0,
        "by": "ann",
    }


def test_d3_at_the_limit_of_strikes_a_person_decides_who_works_on_it() -> None:
    tree = routing(max_tool_retries=9)
    for _ in range(3):
        tree.root.take(decision("nobody"))
    (asked,) = tree.root.questions
    assert asked.kind is RequestKind.CLARIFICATION
    assert asked.question.startswith("No agent has the task: too many violations in a row. Who")
    assert len(asked.strikes) == 3
    tree.root.answer(RequestKind.CLARIFICATION, option="billing")
    assert begun(tree.root) == ["billing"]


def test_i2_without_rounds_the_first_thought_is_forced() -> None:
    tree = routing(max_tool_retries=0)
    assert tree.root.thought.forced
    tree.root.take(decision("billing"))
    ended(tree)
    tree.root.writes("It is on its way.")
    assert tree.root.final_answer == "It is on its way."


# ---- confidence
# --------------------------------------------------------------------------------------------------


def test_i3_an_unsure_decision_asks_a_person_and_nothing_is_handed_on_before() -> None:
    tree = routing(threshold=0.7)
    tree.root.take(decision("billing", sure=0.4, beside=(call("find_order", query="17"),)))
    assert (begun(tree.root), tree.root.told("chain.routed")) == ([], [])
    (asked,) = tree.root.questions
    assert "would choose billing, with a confidence of 0.4: so" in asked.question
    options = [(option.id, option.subtitle) for option in asked.options]
    assert ("billing", "Invoices and refunds.") in options
    assert [name for name, _ in options] == ["technical", "billing", "general"]
    assert tree.root.status == "awaiting_clarification"
    dropped = tree.root.each("action.never_executed", "tool")
    assert dropped == ["find_order"], "the decision is the person's now"
    tree.root.pick("billing")
    child = tree.begun(tree.root.last)
    assert (child.chain.task.agent, child.chain.task.goal) == ("billing", "Find out where it is")
    (told,) = tree.root.told("chain.routed")
    assert (told["by"], told["target_agent"]) == ("ann", "billing")
    child.propose(content="Found.")
    tree.report(child)
    assert tree.root.thought.kind is ThoughtKind.REASON


def test_i3_none_of_them_goes_back_to_the_model_with_the_persons_words() -> None:
    tree = routing(threshold=0.7)
    tree.root.take(decision("billing", sure=0.4))
    tree.root.answer(RequestKind.CLARIFICATION, Choice.NONE, text="It is about my account")
    assert begun(tree.root) == []
    assert tree.root.chain.actions["c.route.1"].data == (
        '{"answer":"It is about my account","said":"It is about my account"}'
    )
    assert tree.root.thought.receipts == ("c.route.1",)
    tree.root.take(decision("technical"))
    assert begun(tree.root) == ["technical"]


def test_i3_a_sure_decision_asks_nobody_and_without_a_threshold_no_decision_does() -> None:
    for tree, sure in ((routing(threshold=0.7), 0.7), (routing(), 0.0)):
        tree.root.take(decision("billing", sure=sure))
        assert begun(tree.root) == ["billing"]
