"""Whole stories through `decide`: what a model, a person and the runtime say to each other, and
what was done.
"""

import pytest

from haltpoint.chain.checks.core_tools import HUMAN_SPEC as ASK_HUMAN
from haltpoint.contracts.answers import WhyNot
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.reasons import Reach, ReasonKind
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.work.bounds import Bounds
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Style, Task
from haltpoint.contracts.work.thoughts import ThoughtKind
from tests.support.builders import SURE, call, owing, plan, spec, writing
from tests.unit.chain.story import Story, submitted

LIST = spec("list_people", description="List people.")
OVERDUE = spec("list_overdue", description="List overdue invoices.")
SEND = writing("send", description="Send a message.")
ASKED = Bounds(required_tools=("send",))
FIND = owing("find", "list_people")
TELL = owing("tell", "send", dependencies=("find",))


def begun(
    goal: str, read: Bounds = ASKED, *, style: Style = Style.REACT, steps: Plan | None = None
) -> Story:
    story = submitted(Task(goal=goal, style=style), LIST, OVERDUE, SEND, ASK_HUMAN, read=False)
    if style is Style.REACT:
        story.read(read)
    else:
        story.draft(steps or plan(FIND, TELL), bounds=read)
    return story


def reasons(story: Story) -> list[ReasonKind]:
    return [reason.kind for reason in story.reasons]


def test_c3_c7_a_mail_to_all_of_a_group_in_one_proposal() -> None:
    for style in Style:
        story = begun("Tell everybody that lunch is at one", style=style)
        story.calls("list_people")
        story.returns('{"people": ["ann", "bob", "eve"]}')
        story.propose(*(call("send", to=name) for name in ("ann", "bob", "eve")))
        for _ in range(3):
            story.result()
        if style is Style.REACT:
            story.writes("Everybody knows.")
        else:
            story.say("Everybody knows.")

        assert story.tools_called == ["list_people", "send", "send", "send"]
        assert (story.status, story.strikes, len(story.thoughts)) == (
            "completed",
            0,
            4,
        )
        assert not story.chain.end.unfinished


def mails_to_three() -> Story:
    """A drafted step whose one proposal has three mails; the first is under way."""
    steps = plan(owing("tell", "send", actions_per_turn=1))
    story = begun("Tell everybody that lunch is at one", style=Style.PLAN, steps=steps)
    story.propose(*(call("send", to=name) for name in ("ann", "bob", "eve")))
    return story


@pytest.mark.parametrize("reach", list(Reach))
def test_c7_a_step_goes_on_when_a_card_has_dropped_mails_of_it(reach: Reach) -> None:
    story = mails_to_three()
    story.result(SURE)
    story.approve(for_=reach)
    story.result()
    assert (story.status, story.thought.due, story.strikes) == ("executing", (), 0)
    story.propose(*(call("send", to=name) for name in ("bob", "eve")))
    story.result()
    story.result()
    assert story.thought.kind is ThoughtKind.ANSWER
    assert story.tools_called == ["send"] * 4


def test_c7_a_step_goes_on_when_an_error_has_dropped_mails_of_it() -> None:
    story = mails_to_three()
    story.result()
    story.fails(ErrorType.RATE_LIMIT)
    assert story.never_executed == [("send", "the call before it failed")]
    assert story.thought.step_id == "tell"
    story.writes("Eve knows already.")
    assert story.thought.kind is ThoughtKind.ANSWER


def test_c7_a_step_is_over_when_only_calls_that_it_does_not_promise_were_dropped() -> None:
    steps = plan(owing("tell", "send", allowed_tools=("list_people",), actions_per_turn=1))
    story = begun("Tell Ann that lunch is at one", style=Style.PLAN, steps=steps)
    story.propose(call("send", to="ann"), call("list_people"))
    story.result()
    assert story.thought.kind is ThoughtKind.ANSWER


@pytest.mark.parametrize("own_step", [False, True])
@pytest.mark.parametrize("style", list(Style))
@pytest.mark.parametrize(
    ("option", "words"), [(None, "stop, forget it"), (None, "3pm"), (None, "yes"), ("2", "")]
)
def test_c6_a_model_asks_and_obeys_or_is_corrected_and_calls(
    option: str | None, words: str, style: Style, own_step: bool
) -> None:
    """What the answer means nobody decides: it leaves the step without a person, or a corrected
    call asks one.
    """
    asks = owing("ask", "askHuman")
    tells = owing("tell", "send", dependencies=("ask",))
    steps = plan(asks, tells) if own_step else plan(owing("tell", "send"))

    def answered() -> Story:
        story = begun("Tell Ann when we meet", style=style, steps=steps)
        offered = {"options": ["Send it", "No"]} if option else {}
        story.calls("askHuman", question="Shall I send it?", **offered)
        story.answer(
            RequestKind.INPUT,
            option=option,
            text=words,
            decision=Choice.SELECT if option else Choice.ANSWER,
        )
        return story

    obeys = answered()
    obeys.writes("I leave it.")
    assert [one.message.count(" now") for one in obeys.thought.corrections] == [0]
    assert "end_step" in obeys.thought.corrections[0].form
    obeys.end("The person said so.", "not_needed")
    obeys.say("I left it.")
    assert (obeys.status, obeys.chain.end.unfinished, obeys.tools_called) == (
        "completed",
        True,
        [],
    )
    assert len(obeys.questions) == 1

    pressed = answered()
    pressed.writes("I leave it.")
    pressed.calls("send", to="ann")
    assert reasons(pressed) == [ReasonKind.PRESSED]

    free = answered()
    free.calls("send", to="ann")
    assert reasons(free) == []


def test_c11_nothing_is_overdue() -> None:
    step = owing("look", "list_overdue")
    remind = owing("remind", "send", dependencies=("look",))
    for in_words in (False, True):
        story = begun("Remind who is overdue", style=Style.PLAN, steps=plan(step, remind))
        story.calls("list_overdue")
        story.returns('{"invoices": [], "count": 0}')
        if in_words:
            story.writes("Nothing is overdue.")
        story.end("Nothing is overdue.", "not_needed")
        story.say("Nothing is overdue.")
        assert (story.status, story.final_answer) == (
            "completed",
            "Nothing is overdue.",
        )
        assert (story.questions, story.chain.end.unfinished) == ([], True)
        [left] = story.chain.end.not_done
        assert (left.tool, left.why, left.message) == (
            "send",
            WhyNot.LEFT_OUT,
            "Nothing is overdue.",
        )


def test_c11_a_lazy_model_behind_a_lookup_is_before_a_person() -> None:
    story = begun("Remind who is overdue", style=Style.PLAN)
    story.calls("list_people")
    story.returns('{"people": ["ann"]}')
    story.writes("All were reminded.")
    story.end("It is not needed.", "not_needed")
    assert story.questions[-1].kind is RequestKind.LEAVE_OUT
    story.answer(RequestKind.LEAVE_OUT, Choice.INSIST, text="remind her")
    story.calls("send", to="ann")
    assert reasons(story) == []
    story.result()
    story.say("Ann was reminded.")
    assert (story.status, story.chain.end.unfinished) == ("completed", False)


def test_c6_a_no_and_a_respelled_call() -> None:
    """The equal call is refused, and words after the no end the step."""
    story = begun("Tell Ann", Bounds(required_tools=("send",), ask_before=("send",)))
    story.calls("send", to="Ann")
    story.result(SURE)
    story.reject("not today")
    sent = len(story.dispatches)
    story.calls("send", to="Ann")
    assert len(story.dispatches) == sent
    story.writes("Then not.")
    assert (story.status, story.final_answer, story.chain.end.unfinished) == (
        "completed",
        "Then not.",
        True,
    )
