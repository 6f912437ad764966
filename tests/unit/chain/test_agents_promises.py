"""Promises of the user's goal in the chains of agents (CONTRACT C3, C11, C12, I1)."""

import pytest

from haltpoint.chain.checks.core_tools import HUMAN_SPEC
from haltpoint.contracts.answers import WhyNot
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.reasons import Heard, ReasonKind
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.tools import ASK_HUMAN
from haltpoint.contracts.work.agents import Agents
from haltpoint.contracts.work.bounds import Bounds, LeftOut
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.routing import SUPERVISOR, Supervisor
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import ThoughtKind
from tests.support.builders import open_task, owing
from tests.unit.chain import test_agents as known
from tests.unit.chain.story import Story
from tests.unit.chain.test_agents import Tree, done, found_order
from tests.unit.chain.test_routing import AGENTS, decision

GOAL = "Refund order 17"
REFUND = Bounds(required_tools=("refund",))
LEFT = LeftOut(tools=("refund",), reason="It was refunded before.")


def supervisor(bounds: Bounds = REFUND) -> Tree:
    tree = Tree(
        open_task(GOAL, agent=SUPERVISOR),
        Agents(AGENTS, supervisor=Supervisor()),
    )
    tree.root.submit(read=False)
    tree.root.read(bounds)
    return tree


def routed(tree: Tree, agent: str) -> Story:
    tree.root.take(decision(agent, task=GOAL))
    return tree.begun(tree.root.last)


def test_i1_a_child_reads_no_bounds_and_promises_what_it_can_call() -> None:
    tree = supervisor()
    billing = routed(tree, "billing")
    assert [thought.kind for thought in billing.thoughts] == [ThoughtKind.ACT]
    assert billing.thought.due == (("refund",),)

    technical = routed(supervisor(), "technical")
    assert (technical.thought.kind, technical.thought.due) == (ThoughtKind.REASON, ())


def test_c11_a_supervisor_whose_agent_refuses_routes_again_and_owes_it_no_more() -> None:
    tree = supervisor()
    child = routed(tree, "billing")
    child.end(LEFT.reason, "not_needed")
    request = f"{child.chain.id}.r1"
    assert child.questions[-1].kind is RequestKind.LEAVE_OUT
    child.answer(RequestKind.LEAVE_OUT, Choice.ACCEPT, request=request)
    child.say("It was refunded before.")
    assert (child.status, child.chain.end.unfinished) == ("completed", True)
    tree.report(child)

    assert (tree.root.chain.left_out, tree.root.thought.due) == ((LEFT,), ())
    again = routed(tree, "technical")
    again.writes("It is on its way.")
    tree.report(again)
    tree.root.writes("Nothing is left to do.")
    assert (tree.root.status, tree.root.chain.end.unfinished) == ("completed", True)
    assert [(one.tool, one.why, one.message) for one in tree.root.chain.end.not_done] == [
        ("refund", WhyNot.LEFT_OUT, LEFT.reason)
    ]


def test_f1_what_one_agent_left_out_and_another_one_did_is_done() -> None:
    tree = supervisor()
    child = routed(tree, "billing")
    child.calls("find_order", query="17")
    child.fails(ErrorType.NOT_FOUND)
    child.end(LEFT.reason)
    child.say("There is none.")
    tree.report(child)
    tree.root.take(decision("billing", task="Try once more"))
    other = tree.begun(tree.root.last)
    found_order(other)
    other.calls("refund", order_id="order_17")
    other.result(done("refund", 2, other.chain.id))
    other.writes("Paid back.")
    tree.report(other)
    tree.root.writes("It is refunded.")
    assert (tree.root.chain.end.not_done, tree.root.chain.end.unfinished) == ((), False)


@pytest.mark.parametrize("above", [False, True])
def test_c6_what_a_person_said_in_one_chain_counts_in_the_others(
    above: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An effect that the model was corrected about since is asked about."""
    monkeypatch.setitem(known.TOOLS, ASK_HUMAN, HUMAN_SPEC)
    tree = supervisor()
    asker = tree.root if above else routed(tree, "technical")
    asker.calls("askHuman", question="Refund it?")
    asker.answer(RequestKind.INPUT, Choice.ANSWER, text="stop, forget it")
    if not above:
        asker.writes("They said stop.")
        tree.report(asker)
    assert tree.root.chain.people.heard is Heard.ANSWER
    child = routed(tree, "billing")
    found_order(child)
    child.writes("I do not refund it.")
    child.calls("refund", order_id="order_17")
    assert ReasonKind.PRESSED in [one.kind for one in child.reasons]


def heard_stop(asker: Story) -> None:
    asker.calls("askHuman", question="Refund it?")
    request = f"{asker.chain.id}.r1"
    asker.answer(RequestKind.INPUT, Choice.ANSWER, text="stop, forget it", request=request)


def is_pressed(tree: Tree) -> bool:
    child = routed(tree, "billing")
    found_order(child)
    child.calls("refund", order_id="order_17")
    return ReasonKind.PRESSED in [reason.kind for reason in child.reasons]


def test_c6_a_correction_above_presses_below(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(known.TOOLS, ASK_HUMAN, HUMAN_SPEC)
    free = supervisor()
    heard_stop(free.root)
    assert not is_pressed(free)

    pressed = supervisor()
    heard_stop(pressed.root)
    pressed.root.writes("I leave it.")
    assert is_pressed(pressed)


def test_c6_a_correction_of_one_agent_presses_the_next_until_a_person_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(known.TOOLS, ASK_HUMAN, HUMAN_SPEC)
    pressed = supervisor()
    first = routed(pressed, "billing")
    heard_stop(first)
    first.writes("I leave it.")
    first.end("They said stop.", "not_needed")
    first.say("I left it.")
    pressed.report(first)
    assert pressed.root.chain.people.corrected

    free = supervisor()
    free.root.writes("Let me see.")
    first = routed(free, "technical")
    heard_stop(first)
    first.writes("They said stop.")
    free.report(first)
    assert not is_pressed(free)


def test_c3_a_front_agent_is_shown_whom_to_call_for_what_is_due() -> None:
    tree = Tree(open_task(GOAL, agent="front"))
    tree.root.submit(read=False)
    tree.root.read(REFUND)
    tree.root.writes("Done.")
    (fault,) = tree.root.thought.corrections
    assert '"target_agent":"billing"' in fault.form


def test_c12_what_the_goal_asked_for_and_one_agent_did_another_may_do_again() -> None:
    tree = supervisor()
    first = routed(tree, "billing")
    found_order(first)
    first.calls("refund", order_id="order_17")
    first.result(done("refund", 2, first.chain.id))
    first.writes("It is refunded.")
    tree.report(first)
    second = routed(tree, "billing")
    assert second.thought.due == ()
    found_order(second)
    second.calls("refund", order_id="order_17", part="postage")
    assert second.action.tool == "refund"
    assert second.reasons == (), "the goal names it"


def test_i1_what_no_step_of_a_plan_promises_by_itself_is_due_in_the_chain_of_its_agent() -> None:
    tree = Tree(Task(goal=GOAL, agent="front"))
    tree.root.submit()
    tree.root.draft(Plan(steps=(owing("hand", "route"),)), bounds=REFUND)
    child = tree.hand_on(tree.root, "billing")
    assert child.chain.bounds is not None
    assert [bound.tools for bound in child.chain.bounds.required_tools] == [("refund",)]
    child.cancel("enough")
    tree.report(child)
    assert [(line.tool, line.why) for line in tree.root.chain.end.not_done] == []
