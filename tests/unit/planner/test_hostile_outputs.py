"""Hostile outputs, from the model's server through the parser and the machine: nothing happens, and the model is told.

C3, C6, C9, D1: no exception, no effect, and for each a violation with a type that goes back as a correction.
"""

from collections import Counter

import pytest

from haltpoint.contracts.base import MAX_BODY
from haltpoint.contracts.events import ActionProposed, ActionRequested, ProposedActions, ThoughtRequest
from haltpoint.contracts.plans import Step
from haltpoint.contracts.tasks import Task
from haltpoint.contracts.thoughts import Proposal, ThoughtKind, Violation
from haltpoint.runtime.wire import encode
from haltpoint_planner.drafting import draft_proposal
from haltpoint_planner.plan_drafting import draft_plan
from haltpoint_planner.replies import read_reply
from tests.support.builders import plan
from tests.support.hostile_outputs import COUNT, KINDS, TOOLS, Hostile, hostile_outputs
from tests.unit.chain.story import Story

OUTPUTS = hostile_outputs()


def told() -> Story:
    """A chain in the middle of a step that may call both tools with effects."""
    story = Story(Task(goal="tell John"), *TOOLS)
    story.submit()
    story.draft(plan(Step(id="s1", description="Note it and tell him", required_tools=("note", "send"))))
    return story


def proposal_in(hostile: Hostile) -> Proposal:
    reply = read_reply(hostile.body)
    assert reply is not None
    return draft_proposal(reply)


def test_there_are_five_hundred_of_all_kinds_and_always_the_same() -> None:
    assert len(OUTPUTS) == COUNT
    assert set(Counter(one.kind for one in OUTPUTS)) == set(KINDS)
    assert hostile_outputs() == OUTPUTS


@pytest.mark.parametrize("kind", KINDS)
def test_c6_c9_hostile_outputs_have_no_effect_and_are_refused_by_type(kind: str) -> None:
    for hostile in (one for one in OUTPUTS if one.kind == kind):
        proposal = proposal_in(hostile)
        story = told()
        said = ProposedActions(thought_id=story.thought.thought_id, step_id="s1", proposal=proposal)
        message = ActionProposed(id="c.s1.t1.1/reply", source="haltpoint/planner", subject="c", data=said)
        assert len(encode(message)) < MAX_BODY
        story.hear(message)
        assert story.dispatches == [], hostile
        violations = {Violation(one["violation"]) for one in story.told("contract.violated")}
        assert violations, hostile
        assert story.thought.attempt == 2
        corrections = story.thought.corrections
        if hostile.kind == "near name":
            assert not any("vault" in correction.message for correction in corrections), "who guesses is not helped"
        assert {correction.violation for correction in corrections} == violations
        name = story.thought.thought_id
        asked = ThoughtRequest(thought_id=name, kind=ThoughtKind.ACT, deadline=0, corrections=corrections)
        assert len(encode(ActionRequested(id=name, source="haltpoint/executor", data=asked))) < MAX_BODY


@pytest.mark.parametrize("kind", KINDS)
def test_c1_hostile_outputs_are_no_plans(kind: str) -> None:
    for hostile in (one for one in OUTPUTS if one.kind == kind):
        reply = read_reply(hostile.body)
        assert reply is not None
        assert isinstance(draft_plan(reply), str), hostile
