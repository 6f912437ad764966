"""Unknown targets of several calls of one tool in one proposal are one card, whose yes or no holds
for all that it lists (C6).
"""

import json
from typing import Any

import pytest

from haltpoint.contracts.answers import WhyNot
from haltpoint.contracts.people.humans import Choice, Question, RequestKind
from haltpoint.contracts.reasons import Reach, Reason, ReasonKind
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.ledger import Became
from haltpoint.contracts.work.plans import ProposedCall
from tests.support.builders import call, confirms, open_task, spec, writing
from tests.unit.chain.story import Story, submitted

SEND = writing("send", targets=("to",), provenance={"room": ("find.id",)})
NOTE = writing("note")
GOAL = "write to bob@x.org, and take a note"


def mail(name: str, **more: Any) -> ProposedCall:
    return call("send", to=f"{name}@x.org", **more)


THREE = [mail("ann"), mail("cid"), mail("dee")]


def story_of(*calls: ProposedCall, tool: ToolSpec = SEND) -> Story:
    story = submitted(open_task(GOAL), tool, NOTE, spec("find"))
    story.propose(*calls)
    return story


def ask(story: Story, *more: Reason) -> Question:
    """The worker asks with the order's reasons, and these."""
    question = confirms(digest="d", reasons=(*story.reasons, *more), message="Shall it?")
    story.result(question)
    return story.questions[-1]


def run_all(story: Story) -> list[str]:
    """Each order runs without a further question. To whom, in turn."""
    thoughts = len(story.thoughts)
    sent: list[str] = []
    while len(story.thoughts) == thoughts:
        assert story.reasons == () or story.order.approval is not None
        sent.append(json.loads(story.action.arguments).get("to", story.action.tool)[:3])
        story.result()
    return sent


def listed(question: Question) -> list[tuple[int, str]]:
    return [(other.place, json.loads(other.arguments)["to"][:3]) for other in question.others]


def test_three_mails_to_people_who_are_not_known_are_one_card() -> None:
    story = story_of(*THREE)
    question = ask(story)
    assert listed(question) == [(1, "cid"), (2, "dee")]
    assert question.question.startswith('Shall it? send will run with to = "cid@x.org".')
    assert [other.reasons[0].value for other in question.others] == ["cid@x.org", "dee@x.org"]
    assert [other.sources["to"].source.value for other in question.others] == ["model", "model"]


@pytest.mark.parametrize("reach", [None, *Reach])
def test_one_yes_holds_for_each_listed_call_however_far_it_reaches(reach: Reach | None) -> None:
    story = story_of(*THREE)
    ask(story)
    story.approve(for_=reach)
    assert run_all(story) == ["ann", "cid", "dee"]
    assert len(story.questions) == 1
    story.propose(mail("dee", body="again"))
    assert (story.reasons != ()) == (reach is Reach.CALL)


def test_an_edit_is_one_of_the_first_call_alone() -> None:
    story = story_of(*THREE)
    ask(story)
    story.approve(arguments={"to": "eve@x.org"})
    assert run_all(story) == ["eve", "cid", "dee"]


def test_one_no_is_one_no_to_each_listed_call() -> None:
    story = story_of(*THREE)
    ask(story)
    story.reject("they have left")
    receipts = [output.action for output in story.resolved]
    assert sorted(action.number for action in receipts) == [1, 2, 3]
    assert {action.error and action.error.error_type for action in receipts} == {ErrorType.DENIED}
    assert {entry.became for entry in story.chain.ledger.values()} == {Became.DENIED}
    story.propose(*THREE)
    assert len(story.thought.corrections) == 3
    assert "denied exactly this call" in story.correction
    story.propose(mail("eve"))  # the second no has not been said yet
    assert {ReasonKind.DENIED, ReasonKind.TARGET}.issubset(reason.kind for reason in story.reasons)
    story.result()
    story.writes("I could not write to them.")
    assert [(line.tool, line.why) for line in story.chain.end.not_done] == [
        ("send", WhyNot.DENIED)
    ] * 3


def test_who_aborts_at_the_card_denies_all_that_it_lists() -> None:
    story = story_of(*THREE)
    ask(story)
    story.answer(RequestKind.CONFIRMATION, Choice.ABORT)
    assert [entry.became for entry in story.chain.ledger.values()] == [Became.DENIED] * 3


def test_a_call_with_a_known_target_between_them_waits_and_is_not_listed() -> None:
    calls = [mail("ann"), mail("bob"), mail("cid"), mail("bob", body="again"), call("note")]
    story = story_of(*calls)
    assert listed(ask(story)) == [(2, "cid")]
    story.approve()
    assert run_all(story) == ["ann", "bob", "cid"]
    assert story.each("action.never_executed", "call") == [4, 5]

    story = story_of(*calls)
    ask(story)
    story.reject()
    assert story.each("action.never_executed", "call") == [2, 4, 5]
    assert [output.action.number for output in story.resolved] == [2, 1]


@pytest.mark.parametrize(
    ("behind", "listed_names"),
    [
        (call("note"), []),
        (mail("cid", room="r1"), []),
        (mail("ann"), []),
        (mail("cid"), ["cid", "dee"]),
    ],
    ids=["another tool", "refused", "it would be a repeat", "alike"],
)
def test_the_card_ends_at_the_first_call_that_is_another_case(
    behind: ProposedCall, listed_names: list[str]
) -> None:
    story = story_of(mail("ann"), behind, mail("dee"))
    assert [name for _, name in listed(ask(story))] == listed_names
    assert (story.told("action.never_executed") == []) == bool(listed_names)


def test_what_is_previewed_destructive_or_asked_for_another_reason_has_its_own_card() -> None:
    hook = Reason(kind=ReasonKind.HOOK, words="It is late.")
    assert listed(ask(story_of(*THREE), hook)) == []
    for trait in ("destructive", "previews"):
        alone = writing("send", targets=("to",), **{trait: True})
        assert listed(ask(story_of(*THREE, tool=alone))) == []


def test_a_question_about_a_listed_call_keeps_those_behind_it() -> None:
    story = story_of(*THREE)
    ask(story)
    story.approve()
    story.result()
    assert listed(ask(story, Reason(kind=ReasonKind.HOOK, words="It is late."))) == []
    story.approve()
    assert run_all(story) == ["cid", "dee"]


def test_an_error_of_one_drops_those_behind_it() -> None:
    story = story_of(*THREE)
    ask(story)
    story.approve()
    story.fails()
    assert story.each("action.never_executed", "call") == [2, 3]


def test_silence_is_no_answer_to_any_of_them() -> None:
    story = story_of(*THREE)
    ask(story)
    story.expire()
    assert story.each("action.never_executed", "call") == [2, 3]


def test_a_card_lists_twenty_calls_beside_the_first() -> None:
    story = story_of(*[mail(f"x{number:02}") for number in range(30)])
    assert len(ask(story).others) == 20
    story.approve()
    assert len(run_all(story)) == 21
