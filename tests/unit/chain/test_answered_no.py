"""C12: what a person answers to a question of the model binds its later calls, as the words of the goal do."""

import pytest

from haltpoint.chain.checks import human_tool
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.outputs import Dispatch
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.chain.words.patterns_english import PATTERNS
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.reasons import ReasonKind
from haltpoint.contracts.results import Confirmation, NextAction, Outcome, Target
from haltpoint.contracts.work.intent import Intent, IntentEntry
from haltpoint.contracts.work.plans import Step
from haltpoint.contracts.work.tasks import Mode, Style, Task
from tests.support.builders import call, plan, spec, tool_step
from tests.unit.chain.story import Story
from tests.unit.chain.test_agents import Tree
from tests.unit.chain.test_exits import question

GOAL = "Email bob@x.de the status"
SEND = spec("send_mail", read_only=False, description="Send an e-mail.")
PAY = spec("pay_invoice", read_only=False, description="Pay an invoice.")
READ = Intent(effects_asked=(IntentEntry(tools=("send_mail", "pay_invoice"), words=GOAL),))
ASKED = Outcome(
    success=True,
    next_action=NextAction.CONFIRMATION_NEEDED,
    confirmation=Confirmation(action="send", target=Target(id="x", name="x", type="tool"), message="Send?"),
)


def open_ended(goal: str = GOAL, mode: Mode = Mode.STRICT, policy: Policy | None = None) -> Story:
    task = Task(goal=goal, style=Style.REACT, mode=mode)
    story = Story(task, SEND, PAY, human_tool.SPEC, policy=policy or Policy(patterns=PATTERNS))
    story.submit(read=False)
    story.read(READ)
    return story


def planning(goal: str = GOAL) -> Story:
    story = Story(Task(goal=goal), SEND, PAY, human_tool.SPEC, policy=Policy(patterns=PATTERNS))
    story.submit()
    return story


def reasons(story: Story, tool: str = "send_mail") -> list[str]:
    """Why a person is asked before the model's next call."""
    story.propose(call(tool, n=len(story.dispatches)))
    assert all(one.kind is ReasonKind.ASK_BEFORE for one in story.dispatches[-1].reasons)
    return [one.words for one in story.dispatches[-1].reasons]


def must(tool: str, words: str) -> list[str]:
    return [f'{tool} must be approved first: a person answered "{words}".']


def approve(story: Story) -> None:
    story.result(ASKED)
    story.answer(RequestKind.CONFIRMATION, Choice.APPROVE)
    story.result()


@pytest.mark.parametrize("policy", [None, Policy()])
@pytest.mark.parametrize(
    "said",
    [
        *("No", "Nein.", "no, thanks!", "No, don't.", "Nope - not now", "nein danke\nBob", "No please don't", "N."),
        *("No\n1. The figures are wrong", "No issue may go out yet", "No 2 of them are wrong", "No-don't send it"),
        *("no not yet", "No problem, but don't send it"),
    ],
)
def test_c12_after_a_no_every_effect_waits_for_a_yes(said: str, policy: Policy | None) -> None:
    story = open_ended(policy=policy)
    story.propose(content="Should I really send it?")
    story.answer(RequestKind.INPUT, text=said)

    shown = " ".join(said.split())
    assert reasons(story) == must("send_mail", shown)
    approve(story)
    assert reasons(story, "pay_invoice") == must("pay_invoice", shown)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Bitte nicht senden", "nicht senden"),
        ("Well, do not send it today", "do not send it today"),
        ("Ask me before you send it", "Ask me before you send it"),
    ],
)
def test_c12_the_patterns_read_a_persons_answer_like_the_goal(said: str, words: str) -> None:
    story = open_ended()
    story.propose(content="Should I really send it?")
    story.answer(RequestKind.INPUT, text=said)

    assert reasons(story) == must("send_mail", words)
    approve(story)
    assert reasons(story, "pay_invoice") == []


@pytest.mark.parametrize(
    "said",
    [
        "Yes",
        "No. 5",
        "No #7",
        "No problem",
        "No worries. Go on",
        "no-reply@x.de",
        "N Smith",
        "Norway",
        "Nine",
        "Anna said no",
    ],
)
def test_c12_other_answers_bind_nothing(said: str) -> None:
    story = open_ended()
    story.propose(content="Should I really send it?")
    story.answer(RequestKind.INPUT, text=said)

    assert reasons(story) == []


@pytest.mark.parametrize(("option", "asked"), [("1", []), ("2", must("send_mail", "No"))])
def test_c12_an_option_that_a_person_picks_is_their_answer(option: str, asked: list[str]) -> None:
    story = open_ended()
    story.propose(call("askHuman", question="Should I send it?", options=["Yes", "No"]))
    story.answer(RequestKind.INPUT, option=option)

    assert reasons(story) == asked


def test_c12_a_no_in_a_step_of_a_plan_binds_the_later_ones() -> None:
    story = planning()
    ask = Step(id="ask", required_tools=("askHuman",))
    story.draft(plan(ask, Step(id="s", required_tools=("send_mail",), dependencies=("ask",))), intent=READ)
    story.propose(call("askHuman", question="Should I send it?"))
    story.answer(RequestKind.INPUT, text="Nein")

    assert reasons(story) == must("send_mail", "Nein")


@pytest.mark.parametrize("said", ["No", "Do not send it before noon"])
def test_c12_a_no_while_the_plan_is_drafted_binds_its_steps(said: str) -> None:
    story = planning()
    question(story, "Should I really send it?")
    story.answer(RequestKind.INPUT, text=said)
    story.draft(plan(Step(id="s", required_tools=("send_mail",))), intent=READ)

    assert reasons(story) == must("send_mail", said)


def test_c12_a_no_to_an_agent_that_plans_binds_it_beside_the_users_intent() -> None:
    whole = Tree(Task(goal=GOAL, agent="front"))
    whole.root.submit()
    whole.root.draft(plan(Step(id="s1", required_tools=("post",))), intent=Intent())
    child = whole.hand_on(whole.root, "post", "Write to ann")
    question(child, "Should I really write to her?")
    child.answer(RequestKind.INPUT, text="No", request=f"{child.chain.id}.r1")
    child.draft(plan(Step(id="w", required_tools=("mail",))))
    child.propose(call("mail", to="ann@shop.example"))
    child.read(Intent())

    (order,) = [one for one in child.last.outputs if isinstance(one, Dispatch)]
    assert order.reasons[0].words == must("mail", "No")[0]


def test_c12_a_no_takes_earlier_approvals_back() -> None:
    story = open_ended(f"{GOAL}, but ask me first")
    assert reasons(story) == ['send_mail must be approved first: the goal says "ask me first".']
    approve(story)
    assert reasons(story) == []
    story.result()
    story.propose(call("askHuman", question="Shall I send one more?"))
    story.answer(RequestKind.INPUT, text="no")

    assert reasons(story) == must("send_mail", "no")


@pytest.mark.parametrize(("mode", "asked"), [(Mode.ADVISORY, must("send_mail", "no")), (Mode.OFF, [])])
def test_c12_a_no_holds_in_every_mode_but_off(mode: Mode, asked: list[str]) -> None:
    story = open_ended(mode=mode)
    story.propose(call("askHuman", question="Should I send it?"))
    story.answer(RequestKind.INPUT, text="no")

    assert reasons(story) == asked


def test_c12_behind_an_answered_question_words_end_the_task() -> None:
    story = open_ended()
    story.propose(content="Should I really send it?")
    story.answer(RequestKind.INPUT, text="No")
    story.propose(content="I did not send it.")
    assert "If a result shows that it is not needed, say so." in story.thought.corrections[0].message
    story.propose(content="I did not send it.")

    assert story.chain.status is ChainStatus.COMPLETED


def test_c12_a_literal_plan_has_no_intent_after_a_no_either() -> None:
    ask, send = call("askHuman", question="Send it?"), call("send_mail")
    steps = plan(tool_step("ask", ask), tool_step("s", send, after=("ask",)))
    story = Story(Task(goal="", plan=steps), SEND, human_tool.SPEC, policy=Policy(patterns=PATTERNS))
    story.submit()
    story.answer(RequestKind.INPUT, text="no")

    assert (story.chain.intent, story.dispatches[-1].reasons) == (None, ())


@pytest.mark.parametrize("said", ["No", "Do not send it before I confirm"])
@pytest.mark.parametrize("drafted", [True, False])
def test_c12_what_a_person_answered_holds_for_other_words_of_the_goal(said: str, *, drafted: bool) -> None:
    story = planning() if drafted else open_ended()
    if drafted:
        question(story, "Should I really send it?")
    else:
        story.propose(content="Should I really send it?")
    story.answer(RequestKind.INPUT, text=said)
    for _ in range(3):
        if drafted:
            story.draft(plan(Step(id="s", required_tools=("nope",))))
        else:
            story.propose(call("nope"))
    story.answer(RequestKind.ESCALATION, Choice.REPHRASE, text="Email bob@x.de the status of the week")
    if drafted:
        story.draft(plan(Step(id="s", required_tools=("send_mail",))), intent=READ)
    else:
        story.propose(call("send_mail"))
        story.read(READ)

    story.propose(call("send_mail"))
    assert must("send_mail", said)[0] in [one.words for one in story.dispatches[-1].reasons]
