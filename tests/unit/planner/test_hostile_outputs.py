"""Hostile outputs, from the model's server through the parser and the machine: nothing happens, and
the model is told.

C3, C6, C9, D1: no exception, no effect, and for each a violation with a type that goes back as a
correction.
"""

from collections import Counter
from functools import partial

import pytest

from haltpoint.contracts.base import MAX_BODY
from haltpoint.contracts.commands import ActionRequested, AnswerRequested, ThoughtRequest
from haltpoint.contracts.events import ActionProposed, AnswerDrafted
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.work.plans import Step
from haltpoint.contracts.work.tasks import Style, Task
from haltpoint.contracts.work.thoughts import Proposal, ThoughtKind, Violation
from haltpoint.runtime.streams.wire import encode
from haltpoint_planner.drafting import MAX_CONTENT, draft_proposal
from haltpoint_planner.parsing.completions import read_reply
from haltpoint_planner.plan_drafting import draft_plan
from haltpoint_planner.thoughts import reply_to
from tests.support.hostile_outputs import COUNT, KINDS, TOOLS, Hostile, hostile_outputs
from tests.unit.chain.story import Story, submitted

OUTPUTS = hostile_outputs()
KNOWN = {spec.name: spec for spec in TOOLS}


def told(style: str) -> Story:
    """A chain in the middle of a step that may call both tools with effects, that thinks, or that
    is open-ended.
    """
    story = submitted(
        Task(goal="tell John", style=Style.REACT if style == "react" else Style.PLAN), *TOOLS
    )
    if style != "react":
        tools = ("note", "send") if style == "tool" else ()
        story.plans(Step(id="s1", description="Note it and tell him", required_tools=tools))
    return story


STEPS = {style: partial(told, style) for style in ("tool", "reason", "react")}


def proposal_in(hostile: Hostile, *, due: bool) -> Proposal:
    reply = read_reply(hostile.body)
    assert reply is not None
    return draft_proposal(reply, KNOWN, due=due)


def test_there_are_five_hundred_of_all_kinds_and_always_the_same() -> None:
    assert len(OUTPUTS) == COUNT
    assert set(Counter(one.kind for one in OUTPUTS)) == set(KINDS)
    assert hostile_outputs() == OUTPUTS


def refused(story: Story, hostile: Hostile) -> None:
    """The output was refused; what is true of every refusal holds."""
    violations = {Violation(one["violation"]) for one in story.told("contract.violated")}
    assert violations, hostile
    thought = story.thought
    assert thought.attempt == 2
    assert {correction.violation for correction in thought.corrections} == violations
    if hostile.kind == "near name":
        assert not any("vault" in correction.message for correction in thought.corrections), (
            "who guesses is not helped"
        )
    asked = ThoughtRequest(
        thought_id=thought.thought_id,
        kind=thought.kind,
        deadline=0,
        corrections=thought.corrections,
    )
    message = ActionRequested(id=thought.thought_id, source="haltpoint/executor", data=asked)
    assert len(encode(message)) < MAX_BODY


@pytest.mark.parametrize("style", STEPS)
@pytest.mark.parametrize("kind", KINDS)
def test_c6_c9_hostile_outputs_have_no_effect_and_are_refused_by_type(
    kind: str, style: str
) -> None:
    """In a tool step all of them; where words are enough, those that are nothing but words are
    words (C4, C9).
    """
    for hostile in (one for one in OUTPUTS if one.kind == kind):
        story = STEPS[style]()
        proposal = proposal_in(hostile, due=story.thought.kind is not ThoughtKind.REASON)
        said = ActionProposed.Data(
            thought_id=story.thought.thought_id,
            step_id=story.thought.step_id or "",
            proposal=proposal,
        )
        message = ActionProposed(
            id="c.s1.t1.1/reply", source="haltpoint/planner", subject="c", data=said
        )
        assert len(encode(message)) < MAX_BODY
        story.hear(message)
        assert story.dispatches == [], hostile
        if hostile.kind == "a way out":
            leave_out = [ask for ask in story.questions if ask.kind is RequestKind.LEAVE_OUT]
            assert bool(leave_out) is (style == "tool"), "a person decides what is left out (C11)"
        elif style == "tool" or proposal.faults or proposal.calls:
            refused(story, hostile)
        else:
            assert story.final_facts == (["chain.completed"] if style == "react" else [])
            assert len(encode(proposal.content)) <= MAX_CONTENT + len(
                " [cut: 999999 more characters]"
            )


@pytest.mark.parametrize("kind", KINDS)
def test_c6_f2_hostile_outputs_are_no_answers_but_for_words(kind: str) -> None:
    for hostile in (one for one in OUTPUTS if one.kind == kind):
        reply = read_reply(hostile.body)
        assert reply is not None
        story = told("reason")
        story.writes("It is noon.")
        request = ThoughtRequest(
            thought_id=story.thought.thought_id, kind=ThoughtKind.ANSWER, deadline=0
        )
        asked = AnswerRequested(id=request.thought_id, source="haltpoint/executor", data=request)
        message = reply_to(asked, reply, KNOWN)
        assert isinstance(message, AnswerDrafted)
        assert len(encode(message)) < MAX_BODY
        story.hear(message)
        if message.data.called:
            refused(story, hostile)
        else:
            assert story.final_facts == ["chain.completed"]


@pytest.mark.parametrize("kind", KINDS)
def test_c1_hostile_outputs_are_no_plans(kind: str) -> None:
    for hostile in (one for one in OUTPUTS if one.kind == kind):
        reply = read_reply(hostile.body)
        assert reply is not None
        assert isinstance(draft_plan(reply), str), hostile
