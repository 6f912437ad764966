"""F1 over data: who retells what tools brought claims nothing, and data make nobody's deeds."""

from dataclasses import replace
from typing import Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from haltpoint.chain.claims import unfounded_claims
from haltpoint.chain.claims_retold import Background, kinds_asked_for
from haltpoint.chain.human_tool import SPEC as ASK_HUMAN
from haltpoint.chain.state import ChainStatus
from haltpoint.contracts.humans import Choice, RequestKind
from haltpoint.contracts.plans import Step
from haltpoint.contracts.tasks import Style, Task
from haltpoint.contracts.tools import ErrorType, ToolSpec
from tests.support.builders import call, failed, plan, spec
from tests.unit.chain.retold_scenes import OTHERS, SCENES, STRANGERS, Scene
from tests.unit.chain.story import Story
from tests.unit.chain.test_claims import TOOLS

ALL: Final = (*SCENES, *OTHERS, *STRANGERS)
TAKEN_FOR_CLAIMS: Final = (
    "The review with Grace has been moved from Friday to Monday, so the meeting was rescheduled.",
    "Your rent was paid by standing order, as always.",
)
"""Honest, in words that the data do not have."""
NOT_FOUND: Final = (
    "I moved the review with Grace to Monday.",
    "I've returned the consent form by email.",
    "I have reset the fire panel.",
    "The dryer was started.",
    "The window was closed.",
    "The lab was called and the result was sent to you.",
    "An appointment for Monday was booked.",
)
"""Made up: verbs that are weak or unknown, and deeds that the data tell of something near."""


def lines(scenes: tuple[Scene, ...], name: str) -> list[tuple[Scene, str]]:
    return [(scene, line.strip()) for scene in scenes for line in getattr(scene, name).strip().splitlines()]


def is_alarm(scene: Scene, line: str) -> bool:
    tools = {**TOOLS, scene.tool: ToolSpec(name=scene.tool, read_only=True)}
    background = Background(scene.goal, scene.planned, (scene.data,))
    return bool(unfounded_claims(line, tools, (scene.tool,), background=background))


@pytest.mark.parametrize(("scene", "line"), lines(ALL, "honest"))
def test_f1_who_retells_what_data_tell_claims_nothing(scene: Scene, line: str) -> None:
    assert is_alarm(scene, line) == (line in TAKEN_FOR_CLAIMS)


@pytest.mark.parametrize(("scene", "line"), lines(ALL, "made_up"))
def test_f1_what_is_made_up_beside_data_is_a_claim(scene: Scene, line: str) -> None:
    assert is_alarm(scene, line) == (line not in NOT_FOUND)


def test_f1_there_are_enough_scenes() -> None:
    assert len(lines(SCENES, "honest")) >= 120
    assert len(lines(SCENES, "made_up")) >= 80
    assert len(lines((*OTHERS, *STRANGERS), "honest")) >= 60 <= len(lines((*OTHERS, *STRANGERS), "made_up"))


@pytest.mark.parametrize(("scene", "line"), [*lines(ALL, "honest"), *lines(ALL, "made_up")])
def test_f1_data_never_make_a_claim(scene: Scene, line: str) -> None:
    assert is_alarm(replace(scene, data=""), line) or not is_alarm(scene, line)


# ---- what data say


def told(data: str, text: str = "The contract was cancelled.", goal: str = "What is new?") -> bool:
    return unfounded_claims(text, TOOLS, (), background=Background(goal, (), (data,))) == ()


@pytest.mark.parametrize(
    "data",
    [
        "The contract was cancelled.",
        "We cancelled the contract in May.",
        '{"contract":"Acme","state":"canceled"}',
        '[["contract","cancelled"],["lease","kept"]]',
        "We talked about the contract. It was terminated.",
        "The contract? We cancelled it.",
        '{"title":"Contract","events":["signed","cancelled"]}',
        '{"text":"THE CONTRACT\\nhas been CANCELLED"}',
    ],
)
def test_f1_data_that_tell_of_it_found_what_is_retold(data: str) -> None:
    assert told(data)


@pytest.mark.parametrize(
    "data",
    [
        "",
        "The contract is new.",
        "The contract was not cancelled.",
        "The contract will be cancelled.",
        "Cancel the contract!",
        "Was the contract cancelled?",
        '{"contract":"Acme","cancelled":false}',
        "The contract is here. The lease was cancelled.",
        '[["contract","kept"],["lease","cancelled"]]',
        '{"lines":["contract kept","lease cancelled"]}',
        "uncancelled contract",
        " " * 12_000 + "The contract was cancelled.",
    ],
)
def test_f1_data_that_do_not_found_nothing(data: str) -> None:
    assert not told(data)


def test_f1_what_is_to_be_set_is_not_set() -> None:
    line = "The reminder was set for noon."
    assert told('{"notes":["reminder set for noon"]}', line)
    assert not told('{"notes":["set the reminder for noon"]}', line)
    assert not told("Please set the reminder for noon.", line)


def test_f1_what_went_through_was_completed() -> None:
    assert told('{"payment":"rent","state":"completed"}', "The rent payment went through.")
    assert not told('{"payment":"rent","state":"open"}', "The rent payment went through.")


def test_f1_data_in_other_letters_are_read() -> None:
    assert told('{"text":"Ren\\u00e9e was told about it."}', "Renée was told about it.")


def test_f1_data_found_nothing_in_the_first_person() -> None:
    assert not told("I cancelled the contract. The contract was cancelled.", "I cancelled the contract.")
    assert not told("The contract was cancelled.", "The contract was cancelled by me.")


def test_f1_of_very_much_data_as_much_is_looked_at_as_a_model_is_shown() -> None:
    line = "The contract was cancelled."
    some, much = ("x" * 12_000,) * 3, ("x" * 12_000,) * 4
    assert unfounded_claims(line, TOOLS, (), background=Background("", (), (*some, line))) == ()
    assert unfounded_claims(line, TOOLS, (), background=Background("", (), (*much, line)))


HOSTILE = st.one_of(
    st.text(), st.lists(st.sampled_from(["sent", "message", '{"', '","', "],[", "}", "\\u12", "it"])).map("".join)
)


@given(HOSTILE, HOSTILE)
@example('"' * 13_000 + "cancelled", "")
def test_f1_no_data_and_no_goal_break_it(data: str, goal: str) -> None:
    told(data, goal=goal)


@pytest.mark.parametrize(
    "unit", ["sent ", "the message sent. ", '"sent","', "[[", "},{", "\\u0041", "never sent it? ", "message"]
)
def test_f1_much_data_take_no_longer_per_letter(unit: str) -> None:
    """As much as is looked at, of the worst; the test's time limit would end what is not linear."""
    background = Background("", (), (unit * 12_000,) * 4)
    unfounded_claims("The vendor contract message was sent.", TOOLS, (), background=background)


# ---- what was asked for


@pytest.mark.parametrize(
    ("goal", "kinds"),
    [
        ("Tell John that I'm late", {"send"}),
        ("Read the mail, then reply to Bo", {"send"}),
        ("Could you let Tom know that lunch is at one?", {"send"}),
        ("Ask Sarah where she is", {"send"}),
        ("Write to Grace that lunch is cancelled", {"send"}),
        ("I want the message sent to John", {"send"}),
        ("Drop Grace a line", {"send"}),
        ("Find the order and cancel it", {"delete"}),
        ("Write a file a.txt", {"write"}),
        ("Do what todo.txt says", {"any"}),
        ("Take care of my inbox", {"any"}),
        ("Write a summary of the minutes", set()),
        ("Tell me what was sent", set()),
        ("Let me know whether the invoice was paid", set()),
        ("Summarize my email", set()),
        ("What was sent to the board?", set()),
        ("Read the call log", set()),
    ],
)
def test_f1_what_a_goal_asks_for(goal: str, kinds: set[str]) -> None:
    assert kinds_asked_for(goal) == kinds


DUE = "Read Bo's mail and tell John what it says"
MAIL = "The message was sent to John. The email was sent to Mr. Smith. It was sent. The supplier was informed."


@pytest.mark.parametrize(
    "line",
    [
        "The message was sent to John.",
        "The message was sent.",
        "The email was sent to Mr. Smith.",
        "It was sent.",
        "John was informed.",
        "I sent the message to John.",
        "The user told John about it.",
    ],
)
def test_f1_a_mail_that_says_it_was_sent_sends_nothing(line: str) -> None:
    assert not told(MAIL, line, DUE)


def test_f1_what_else_the_mail_says_may_be_retold() -> None:
    assert told(MAIL, "The supplier was informed.", DUE)


def test_f1_who_only_asks_may_hear_of_the_user_too() -> None:
    assert told("", "The user cancelled the contract.", "What happened?")
    assert not told("", "The user has cancelled the contract.", "Cancel the contract")
    assert told("", "The user sent me a request to cancel the contract.", "Send it")


# ---- in a chain


READ = spec("read_mail")
SEND = spec("send_message", read_only=False, claims=("send",))
SENT = "The offer was sent to the board."
SAYS_SENT = '{"text":"The offer was sent to the board."}'


def chain(*steps: Step, **task: object) -> Story:
    story = Story(Task.model_validate({"goal": "What does the mail say?", **task}), READ, SEND, ASK_HUMAN)
    story.submit()
    story.draft(plan(*(steps or (Step(id="read", required_tools=("read_mail",)),))))
    return story


def read(story: Story, data: str = SAYS_SENT) -> Story:
    story.propose(call("read_mail"))
    story.result(data=data)
    return story


def test_f2_an_answer_that_retells_what_was_read_is_delivered() -> None:
    story = read(chain())
    story.say(SENT)

    assert story.chain.status is ChainStatus.COMPLETED
    assert story.chain.answer == SENT
    assert story.told("contract.violated") == []


def test_f2_an_answer_that_tells_what_nobody_read_is_not() -> None:
    story = read(chain(), '{"text":"The offer is good."}')
    story.say(SENT)

    assert len(story.told("contract.violated")) == 1


def test_f1_what_a_failed_call_or_one_with_effects_brought_is_no_data() -> None:
    story = chain(Step(id="read", required_tools=("read_mail",)), Step(id="think"))
    story.propose(call("read_mail"))
    story.result(failed(ErrorType.NOT_FOUND), data=SAYS_SENT)
    story.propose(call("read_mail"))
    story.result(data="{}")
    story.propose(content=SENT)
    assert len(story.told("contract.violated")) == 1

    write = spec("fix_typos", read_only=False, claims=("fix",))
    story = Story(Task(goal="What does the mail say?"), READ, SEND, write)
    story.submit()
    story.draft(plan(Step(id="fix", required_tools=("fix_typos",))))
    story.propose(call("fix_typos"))
    story.result(data=SAYS_SENT)
    story.say(SENT)
    assert len(story.told("contract.violated")) == 1


def test_f1_where_the_plan_sends_data_do_not_found_that_it_was_sent() -> None:
    sends = Step(id="send", required_tools=("send_message",), dependencies=("read",))
    goal = "See that the offer gets to the board"
    story = read(chain(Step(id="read", required_tools=("read_mail",)), sends, goal=goal))
    story.propose(content=SENT)

    assert [one["violation"] for one in story.told("contract.violated")] == ["no_call", "fabricated"]


def test_f1_where_a_call_was_proposed_data_do_not_found_that_it_was_made() -> None:
    story = Story(Task(goal="See that the offer gets to the board", style=Style.REACT), READ, SEND)
    story.submit()
    read(story)
    story.propose(call("send_message"), content=SENT)

    assert len(story.told("contract.violated")) == 1


def test_f1_what_a_person_answered_may_be_retold() -> None:
    story = chain(Step(id="ask", required_tools=("askHuman",)))
    story.propose(call("askHuman", question="What about the offer?"))
    story.answer(RequestKind.INPUT, Choice.ANSWER, text="The offer was sent to the board.")
    story.say(SENT)

    assert story.chain.answer == SENT


@pytest.mark.parametrize(
    "task",
    [
        {"goal": "Sum this up: On Monday the offer was sent to the board."},
        {"goal": "Sum this up", "context": {"minutes": "On Monday the offer was sent to the board."}},
    ],
)
def test_f1_what_came_with_the_task_may_be_retold(task: dict[str, object]) -> None:
    story = chain(Step(id="think"), **task)
    story.propose(content=SENT)

    assert story.told("contract.violated") == []
