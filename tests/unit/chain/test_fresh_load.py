"""What is loaded is what is remembered, also where a person decides in the model's place (CONTRACT
D3).
"""

from haltpoint.chain.model.limits import Policy
from haltpoint.contracts.people.humans import Choice
from haltpoint.contracts.work.bounds import Bounds
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Task
from tests.support.builders import OK, call, owing, spec, writing
from tests.unit.chain.story import Story, submitted

ID = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
TOOLS = (
    spec("look"),
    spec("find"),
    writing("send", parameters=ID, provenance={"id": ("find.id",)}),
)
PLAN = Plan(steps=(owing("a", "look"), owing("e", "find", "send")))


def with_a_case() -> Story:
    """Step e is before a person, because of a call of a proposal that was refused; step a
    thinks.
    """
    story = submitted(
        Task(goal="look, and send it", parallel=2),
        *TOOLS,
        policy=Policy(strikes=1, actions_per_turn=2),
    )
    story.draft(PLAN, bounds=Bounds(required_tools=("send",)))
    story.propose(call("send", id="u1"), thought=2)
    assert story.status == "escalated"
    return story


def test_d3_a_refused_proposal_does_not_come_back_when_a_result_is_given_by_hand() -> None:
    story = with_a_case()
    story.propose(call("look", n=1), call("look", n=2), thought=1)
    story.rule(Choice.MANUAL, value={"id": "u1"})
    story.result(
        OK, "{}", next(one.action for one in story.dispatches if one.action.tool == "look")
    )
    assert "send" not in story.tools_called


def test_d3_a_case_that_is_withdrawn_because_the_chain_fails_leaves_nothing_to_act_on() -> None:
    save, rules = writing("save"), Policy(strikes=1, actions_per_turn=2)
    story = submitted(Task(goal="look, and send it", parallel=3), *TOOLS, save, policy=rules)
    steps = (
        owing("b", "find"),
        owing("a", "save"),
        *PLAN.steps[1:],
    )
    story.draft(Plan(steps=steps), bounds=Bounds(required_tools=("send",)))
    b, a, e = story.thoughts[1:4]
    story.propose(call("find"), thought=b)
    story.propose(call("find", n=1), thought=e)
    find, other = (one.action for one in story.dispatches)
    story.result(OK, "{}", other)
    story.propose(call("send", id="u1"), thought=story.thought)
    assert story.status == "escalated"
    story.no_thought(a.thought_id)
    assert story.chain.failing is not None
    before = story.chain
    story.take(story.proposals[story.thought.thought_id], thought=story.thought)
    assert story.chain is before, "it was heard before"
    story.result(OK, "{}", find)
    assert story.chain.status.value == "failed"
