"""C12: what the goal asks for, makes conditional or forbids is known before any data is read, and binds calls."""

from typing import Any

import msgspec
import pytest

from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.outputs import StartChild
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.chain.words.patterns_english import PATTERNS
from haltpoint.contracts.answers import WhyNot
from haltpoint.contracts.doors import door
from haltpoint.contracts.events import ToolCompleted
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.policy import Treatment
from haltpoint.contracts.reasons import ReasonKind
from haltpoint.contracts.results import Confirmation, ErrorType, NextAction, Outcome, Target
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.intent import Intent, IntentEntry, IntentOrigin
from haltpoint.contracts.work.plans import Plan, Step
from haltpoint.contracts.work.tasks import Budget, Earlier, Mode, Style, Task
from haltpoint.contracts.work.thoughts import ThoughtKind, Usage, Violation
from tests.support.builders import OK, call, failed, literal_task, plan, spec, tool_step
from tests.unit.chain.story import Story

FIND = spec("find_person", description="Find a person by name.")
SEND = spec("send_message", read_only=False, description="Send a message to a person.")
PAY = spec("pay_invoice", read_only=False, description="Pay an invoice.")
LOCKED = spec("secret", read_only=False, internal=True)
TELL = ToolSpec(
    name="tell_all",
    plan=Plan(steps=(Step(id="s", required_tools=("send_message",), actions=(call("send_message"),)),)),
)
TOOLS = (FIND, SEND, PAY, LOCKED, TELL)
ASKED = Outcome(
    success=True,
    next_action=NextAction.CONFIRMATION_NEEDED,
    confirmation=Confirmation(action="send", target=Target(id="x", name="x", type="tool"), message="Send?"),
)


def told(goal: str, *, policy: Policy | None = None, style: Style = Style.REACT, **task: Any) -> Story:
    return Story(Task(goal=goal, style=style, **task), *TOOLS, policy=policy or Policy(patterns=PATTERNS))


def entry(words: str, *tools: str, when: str | None = None) -> IntentEntry:
    return IntentEntry(tools=tools or ("send_message",), words=words, when=when)


def asks(*entries: IntentEntry) -> Intent:
    return Intent(effects_asked=entries)


def open_ended(goal: str, intent: Intent | None = None, **more: Any) -> Story:
    """An open-ended task whose goal the model has read."""
    story = told(goal, **more)
    story.submit(read=False)
    if story.chain.status is ChainStatus.PLANNING:
        story.read(intent or Intent())
    return story


def planned(goal: str, intent: Intent | None = None, *tools: str, **more: Any) -> Story:
    """A task with a plan of one step, which requires these tools, or may call sending and paying."""
    story = told(goal, style=Style.PLAN, **more)
    story.submit()
    step = Step(id="s", required_tools=tools) if tools else Step(id="s", allowed_tools=("send_message", "pay_invoice"))
    story.draft(plan(step), intent=intent)
    return story


def reasons(story: Story) -> list[ReasonKind]:
    return [reason.kind for reason in story.dispatches[-1].reasons]


def corrections(story: Story) -> str:
    return " ".join(one.message for one in story.thought.corrections)


# ---- reading the goal ----


def test_c12_an_open_ended_task_begins_with_a_thought_about_its_goal() -> None:
    story = told("Tell John I am late")
    story.submit(read=False)
    assert (story.chain.status, story.thought.kind) == (ChainStatus.PLANNING, ThoughtKind.INTENT)
    assert story.thought.receipts == ()

    story.read(asks(entry("tell  john")))

    assert story.chain.status is ChainStatus.EXECUTING
    assert story.chain.intent is not None
    (kept,) = story.chain.intent.effects_asked
    assert (kept.tools, kept.origin) == (("send_message",), IntentOrigin.GOAL)
    story.propose(call("send_message"))
    assert reasons(story) == []


def test_c12_no_model_reads_a_goal_where_no_tool_has_effects() -> None:
    story = Story(Task(goal="Find Ann", style=Style.REACT), FIND, LOCKED)
    story.submit(read=False)
    assert (story.chain.status, story.thought.kind) == (ChainStatus.EXECUTING, ThoughtKind.REASON)


@pytest.mark.parametrize(
    "words", ["tell JOHN", "Tell John", "TellJohn", '"Tell John"', "„Tell  John\u201c", "Tell\nJohn"]
)
def test_c12_quotes_are_compared_without_case_spacing_and_quotation_marks(words: str) -> None:
    story = open_ended('Please "tell" John I am late', asks(entry(words)))

    assert story.chain.intent is not None
    assert len(story.chain.intent.effects_asked) == 1


@pytest.mark.parametrize(
    "wrong", [entry("Tell Mary"), entry("Tell John", when="if it rains"), entry(" "), entry("x", "pay_invoice")]
)
def test_c12_an_entry_without_its_quote_is_dropped_and_asked_for_once_more_without_a_strike(wrong: IntentEntry) -> None:
    story = open_ended("Tell John I am late", asks(wrong, entry("Tell John")))
    assert story.chain.plan is None
    assert "is no quote from the goal" in corrections(story)
    assert story.thought.thought_id == "c.intent.t0.2"

    story.read(asks(wrong, entry("Tell John")))

    assert story.chain.status is ChainStatus.EXECUTING
    assert story.chain.intent is not None
    assert [one.words for one in story.chain.intent.effects_asked] == ["Tell John"]
    assert (story.chain.strikes, story.told("contract.violated")) == (0, [])


def test_c12_without_a_usable_intent_the_task_goes_on_with_what_patterns_find() -> None:
    story = told("Tell John I am late, but ask me first")
    story.submit(read=False)
    story.read(None)
    assert "holds no intent" in corrections(story)
    story.no_thought(kind=ThoughtKind.INTENT)

    assert (story.chain.status, story.chain.strikes) == (ChainStatus.EXECUTING, 0)
    assert story.chain.intent is not None
    assert [one.origin for one in story.chain.intent.ask_before] == [IntentOrigin.PATTERN]


def test_c12_a_thought_about_the_goal_that_nobody_waits_for_changes_nothing() -> None:
    story = told("Tell John I am late")
    story.submit(read=False)
    before = story.thought
    story.read(None)
    at = story.chain
    story.hear_intent(before.thought_id, asks(entry("Tell John")))
    story.no_thought(before.thought_id, kind=ThoughtKind.INTENT)
    assert story.chain is at
    story.read(Intent())
    story.hear_intent(before.thought_id, Intent())
    assert story.chain.status is ChainStatus.EXECUTING


def test_c12_what_answers_a_thought_of_another_kind_changes_nothing() -> None:
    story = told("Tell John I am late")
    story.submit(read=False)
    reading = story.chain
    story.draft(plan(Step(id="s")))
    assert story.chain is reading
    story.read(Intent())
    story.propose(call("pay_invoice"))
    looking = story.chain
    story.say("It is paid.")
    story.lose("c.react.t1.1/reply")  # a second copy: the proposal is here
    assert story.chain is looking
    story.read(Intent())
    assert story.tools_called == ["pay_invoice"]

    story = told("Tell John", style=Style.PLAN)
    story.submit()
    planning = story.chain
    story.read(Intent())
    assert story.chain is planning

    story = planned("Find John", None, "find_person")
    story.propose(call("find_person"))
    story.result()
    answering = story.chain
    story.read(Intent())
    assert story.chain is answering


def test_c12_a_thought_about_the_goal_costs_tokens() -> None:
    story = told("Tell John I am late", budget=Budget(tokens=5))
    story.submit(read=False)
    story.read(Intent(), Usage(output_tokens=6))

    assert story.chain.error is not None
    assert story.chain.error.code == "HP-208"


def test_c12_an_effect_for_which_any_tool_would_do_names_none() -> None:
    story = open_ended("Tell John I am late", asks(entry("Tell John", "*")))
    story.propose(call("pay_invoice"))
    assert story.thought.tool == "pay_invoice"

    story = told("Tell John I am late", intent=asks(entry("", "*")))  # the submitter may say so
    story.submit(read=False)
    story.propose(call("pay_invoice"))
    assert reasons(story) == []


def test_c12_the_submitters_intent_takes_the_place_of_the_thought() -> None:
    given = Intent(effects_asked=(entry("", "send_*"),), forbidden=(entry("", "pay_*"),))
    story = told("Settle it with John", intent=given)
    story.submit(read=False)

    assert [think.kind for think in story.thoughts] == [ThoughtKind.REASON]
    assert story.chain.intent is not None
    assert {one.origin for one in story.chain.intent.forbidden} == {IntentOrigin.SUBMITTER}
    story.propose(call("pay_invoice"))
    assert "pay_invoice may not be called: the task says so" in corrections(story)
    story.propose(call("send_message"))
    assert reasons(story) == []


def test_c12_a_literal_plan_has_no_intent_and_nothing_is_unasked() -> None:
    task = msgspec.structs.replace(literal_task(tool="pay_invoice"), goal="Ask me first")
    story = Story(task, *TOOLS, policy=Policy(patterns=PATTERNS))
    story.submit()

    assert story.chain.intent is None
    assert reasons(story) == []


def test_c12_a_plan_brings_its_intent_and_misquoting_sends_it_back_once() -> None:
    story = planned("Tell John I am late", asks(entry("Tell Mary")), "send_message")
    assert story.thought.kind is ThoughtKind.PLAN
    assert '"Tell Mary" is no quote from the goal' in corrections(story)
    story.draft(plan(Step(id="s", required_tools=("send_message",))), intent=asks(entry("Tell Mary")))

    assert (story.chain.status, story.chain.strikes) == (ChainStatus.EXECUTING, 0)


def test_c12_a_plan_that_leaves_out_what_is_asked_for_is_sent_back_once() -> None:
    story = planned("Find John and tell him I am late", asks(entry("tell him")), "find_person")
    assert 'The words "tell him" ask for send_message' in corrections(story)
    story.draft(plan(Step(id="s", required_tools=("tell_all",))), intent=asks(entry("tell him")))

    assert (story.chain.status, story.chain.strikes) == (ChainStatus.EXECUTING, 0)


def test_c12_a_plan_in_the_documents_form_is_carried_out_and_what_it_requires_counts_as_asked() -> None:
    story = planned("Settle it", None, "pay_invoice")
    story.propose(call("pay_invoice"))

    assert reasons(story) == []


# ---- forbidden, ask before ----

CONDITIONS = [
    ("Tell John I am late, but ask me before you send it.", "ask_before", "ask me before you send it"),
    ("Tell John I am late. Let me confirm first.", "ask_before", "Let me confirm first"),
    ("Find the number of Ann, do not write to her.", "forbidden", "do not write to her"),
    ("Sag John, dass ich zu spät bin, aber frag mich, bevor du etwas sendest.", "ask_before", "frag mich"),
    ("Sag John, dass ich zu spät bin. Lass mich das erst bestätigen.", "ask_before", "Lass mich das erst"),
    ("Such die Nummer von Ann, schreib ihr nicht.", "forbidden", "schreib ihr nicht"),
]


@pytest.mark.parametrize("style", [Style.PLAN, Style.REACT])
@pytest.mark.parametrize("by_model", [False, True])
@pytest.mark.parametrize(("goal", "does", "words"), CONDITIONS)
def test_c12_the_users_conditions_bind_a_model_that_ignores_them(
    goal: str, does: str, words: str, by_model: bool, style: Style
) -> None:
    """The effect waits, by the floor's patterns; without them it waits or is refused, by the model's own reading."""
    read = door(Intent).validate_python(
        {does: [entry(words)], "effects_asked": [entry(goal, "send_message", when=goal)]}
    )
    policy = Policy() if by_model else Policy(patterns=PATTERNS)
    intent = read if by_model else Intent()
    if style is Style.REACT:
        story = open_ended(goal, intent, policy=policy)
    else:
        story = planned(goal, intent, policy=policy)
    story.propose(call("send_message", to="her"))
    if story.thought.kind is ThoughtKind.INTENT:
        story.read(asks(entry(goal)))

    if by_model and does == "forbidden":
        assert story.tools_called == []
        assert words.lower() in corrections(story).lower()
        assert story.told("contract.violated")[-1]["violation"] == Violation.NOT_ALLOWED.value
    else:
        assert ReasonKind.ASK_BEFORE in reasons(story)
        assert words.lower() in story.dispatches[-1].reasons[0].words.lower()


@pytest.mark.parametrize("by_model", [False, True])
@pytest.mark.parametrize(("goal", "does", "words"), CONDITIONS)
def test_c12_a_plan_that_requires_a_forbidden_tool_is_refused(goal: str, does: str, words: str, by_model: bool) -> None:
    read = door(Intent).validate_python({does: [entry(words)]})
    intent, policy = (read, Policy()) if by_model else (None, None)
    story = planned(goal, intent, "send_message", policy=policy)

    if by_model and does == "forbidden":
        assert story.chain.plan is None
        assert words in corrections(story)
        for _ in range(2):
            story.draft(plan(Step(id="s", required_tools=("send_message",))), intent=intent)
        assert story.chain.status is ChainStatus.ESCALATED
    else:
        story.propose(call("send_message"))
        assert reasons(story) == [ReasonKind.ASK_BEFORE]


@pytest.mark.parametrize("style", [Style.PLAN, Style.REACT])
@pytest.mark.parametrize(("goal", "does", "words"), CONDITIONS)
def test_c12_a_model_that_obeys_a_prohibition_is_done_without_the_effect(
    goal: str, does: str, words: str, style: Style
) -> None:
    story = open_ended(goal) if style is Style.REACT else planned(goal)
    story.propose(content="Here is what I found.")
    if style is Style.PLAN:
        story.say("Here is what I found.")

    assert (story.chain.status, story.tools_called, words in goal) == (ChainStatus.COMPLETED, [], True)


@pytest.mark.parametrize(
    ("off", "asked"),
    [((), ["*", "pay_invoice"]), (("do-not",), ["*"]), (("ask-first",), ["pay_invoice"]), (("*",), [])],
)
def test_c2_what_patterns_restrict_may_be_off_for_a_task(off: tuple[str, ...], asked: list[str]) -> None:
    intent = open_ended("Ask me first. Never pay invoices.", patterns_off=off).chain.intent
    assert intent is not None
    assert [tool for one in intent.ask_before for tool in one.tools] == asked
    assert {one.pattern for one in intent.ask_before}.isdisjoint(off)


def test_c2_an_entry_of_an_older_chain_names_no_pattern() -> None:
    stored = '{"tools": ["send_message"], "words": "tell John", "from": "pattern"}'
    assert msgspec.json.decode(stored, type=IntentEntry).pattern is None


def test_c12_the_first_call_asks_and_once_approved_the_tool_is_not_asked_about_again() -> None:
    story = open_ended("Tell John and Ann, but ask me first", asks(entry("Tell John and Ann")))
    story.propose(call("send_message", to="john"))
    assert reasons(story) == [ReasonKind.ASK_BEFORE]
    story.result(ASKED)
    story.answer(RequestKind.CONFIRMATION, Choice.APPROVE)
    story.result()
    story.propose(call("send_message", to="ann"))

    assert reasons(story) == []


def test_c12_an_approval_of_another_tool_allows_nothing() -> None:
    story = open_ended("Tell John, ask me before you send it", asks(entry("Tell John", "send_message", "pay_invoice")))
    story.propose(call("pay_invoice"))
    story.result(ASKED)
    story.answer(RequestKind.CONFIRMATION, Choice.APPROVE)
    story.result()
    story.propose(call("send_message"))

    assert reasons(story) == [ReasonKind.ASK_BEFORE]


def test_c12_a_skill_is_held_to_what_its_steps_call() -> None:
    story = open_ended("Find Ann, do not send anything", Intent())
    story.propose(call("tell_all"))
    story.read(Intent())

    words = 'tell_all must be approved first: the goal says "do not send anything".'
    assert story.dispatches[-1].reasons[0].words == words


def test_c12_a_skill_is_asked_for_when_all_its_effects_are() -> None:
    story = open_ended("Tell them", asks(entry("Tell them", "send_message")))
    story.propose(call("tell_all"))

    assert story.chain.actions["c.react.1"].tool == "tell_all"
    assert [think.kind for think in story.thoughts] == [ThoughtKind.INTENT, ThoughtKind.REASON]


@pytest.mark.parametrize(
    ("mode", "from_model", "called", "violations", "kinds"),
    [
        (Mode.STRICT, True, [], ["not_allowed"], []),
        (Mode.ADVISORY, True, ["send_message"], ["not_allowed"], []),
        (Mode.ADVISORY, False, ["send_message"], [], [ReasonKind.ASK_BEFORE]),
        (Mode.OFF, False, ["send_message"], [], []),
    ],
)
def test_c12_the_users_own_words_hold_in_every_mode_but_off(
    mode: Mode, from_model: bool, called: list[str], violations: list[str], kinds: list[ReasonKind]
) -> None:
    """What only the model has read is written down in advisory mode, and the call runs."""
    goal = "Find Ann, do not write to her"
    read = Intent(forbidden=(entry("do not write to her"),))
    policy = Policy() if from_model else Policy(patterns=PATTERNS)
    story = open_ended(goal, read if from_model else Intent(), mode=mode, policy=policy)
    story.propose(call("send_message"))

    assert story.tools_called == called
    assert [one["violation"] for one in story.told("contract.violated")] == violations
    assert [one.kind for dispatch in story.dispatches for one in dispatch.reasons] == kinds


@pytest.mark.parametrize(
    "goal",
    [
        "Schick die Mail an Anna und nicht an Bernd",
        "Schreib eine nicht zu lange Mail an Anna",
        "Send nothing but the summary to Anna",
        "Don't send more than two lines to Anna, and mail her",
        "Mail Anna the invoices that are not paid",
    ],
)
def test_c12_a_pattern_never_forbids_the_tool_that_the_goal_asks_for(goal: str) -> None:
    """A false alarm costs one question at most."""
    story = open_ended(goal, asks(entry(goal)))
    story.propose(call("send_message", to="Anna"))
    if reasons(story):
        assert goal.startswith(story.dispatches[-1].reasons[0].words.split('"')[1][:10])
        story.result(ASKED)
        story.answer(RequestKind.CONFIRMATION, Choice.APPROVE)
    story.result()
    story.propose(content="Anna has it.")

    assert (story.chain.status, story.told("contract.violated")) == (ChainStatus.COMPLETED, [])
    assert story.chain.unfulfilled == ()


@pytest.mark.parametrize(("mode", "kinds"), [(Mode.ADVISORY, []), (Mode.STRICT, [ReasonKind.ASK_BEFORE])])
def test_c12_the_models_own_reading_asks_in_strict_only(mode: Mode, kinds: list[ReasonKind]) -> None:
    read = Intent(effects_asked=(entry("Tell Ann"),), ask_before=(entry("with care"),))
    story = open_ended("Tell Ann with care", read, mode=mode)
    story.propose(call("send_message"))

    assert reasons(story) == kinds


def test_c12_a_chain_that_fails_for_what_it_owes_keeps_its_words() -> None:
    story = open_ended("Tell John I am late", asks(entry("Tell John")), strikes=1)
    for _ in range(2):
        story.propose(content="I sent it.")
    assert story.chain.error is not None
    assert story.chain.answer == "I sent it."


@pytest.mark.parametrize(("other", "owed"), [("pay_invoice", []), ("find_person", ["send_message"])])
def test_c12_a_step_that_another_effect_of_its_one_of_has_kept_leaves_nothing_unfulfilled(
    other: str, owed: list[str]
) -> None:
    story = told("Tell John I am late", style=Style.PLAN)
    story.submit()
    story.draft(plan(Step(id="s", one_of=("send_message", other))), intent=asks(entry("Tell John")))
    story.propose(call(other))
    story.result()
    story.say("It is done.")
    story.say("It is done.")
    assert [one.tool for one in story.chain.unfulfilled] == owed


# ---- the conversation before (C15) ----


def after(goal: str, *earlier: str, style: Style = Style.REACT, intent: Intent | None = None) -> Story:
    """A task of ann's behind these goals: the last of them is bob's."""
    users = [*("ann" for _ in earlier[1:]), "bob"]
    before = tuple(Earlier(chain_id="a", goal=one, user=by, answer="x") for one, by in zip(earlier, users, strict=True))
    opened = open_ended if style is Style.REACT else planned
    return opened(goal, intent, *(() if style is Style.REACT else ("send_message",)), user="ann", earlier=before)


def test_c15_an_intent_may_quote_the_same_users_earlier_goals_and_nobody_elses() -> None:
    story = after("Yes, do it", "Tell John I am late", "Tell Eve", intent=asks(entry("Tell John")))
    story.propose(call("send_message"))
    assert reasons(story) == []

    story = after("Yes, do it", "Tell John I am late", "Tell Eve", intent=asks(entry("Tell Eve")))
    assert "is no quote from the goal" in corrections(story)


def test_c15_who_wanted_to_be_asked_before_is_asked_in_later_tasks_too() -> None:
    words = "Ask me before you send anything. Do not pay"
    story = after("Tell John I am late", words, "Ask me before you pay", intent=asks(entry("Tell John")))
    story.propose(call("send_message"))
    (reason,) = story.dispatches[-1].reasons
    assert reason.words == (
        'send_message must be approved first: an earlier goal says "Ask me before you send anything".'
    )
    story.result(failed(ErrorType.NOT_FOUND))
    story.propose(call("pay_invoice"))
    story.read(Intent())
    assert reasons(story) == [ReasonKind.UNASKED]


def test_c15_what_a_plan_requires_that_has_read_earlier_answers_is_not_asked_for_by_that() -> None:
    story = after("Thanks, that is all", "Read the mail", "x", style=Style.PLAN)
    story.propose(call("send_message"))
    assert story.thought.tool == "send_message"
    story.read(Intent())
    assert reasons(story) == [ReasonKind.UNASKED]


def test_c12_a_card_says_whose_words_it_quotes() -> None:
    own = Intent(ask_before=(entry("be careful"),))
    story = told("Tell John", intent=own)
    story.submit()
    story.propose(call("send_message"))
    assert story.dispatches[-1].reasons[0].words.endswith('approved first: the task says "be careful".')


# ---- effects that nobody asks for ----


@pytest.mark.parametrize("style", [Style.PLAN, Style.REACT])
def test_c12_an_effect_that_no_entry_names_is_looked_at_once_and_without_a_quote_a_person_is_asked(
    style: Style,
) -> None:
    goal = "Sum up the mails"
    story = open_ended(goal) if style is Style.REACT else planned(goal)
    story.propose(call("pay_invoice", n=1))
    assert (story.thought.kind, story.thought.tool, story.thought.receipts) == (ThoughtKind.INTENT, "pay_invoice", ())
    assert story.tools_called == []

    story.read(asks(entry("Pay everything", "pay_invoice")))

    assert reasons(story) == [ReasonKind.UNASKED]
    story.result(failed(ErrorType.NOT_FOUND))
    story.propose(call("pay_invoice", n=2))
    assert reasons(story) == [ReasonKind.UNASKED]
    assert len([think for think in story.thoughts if think.tool]) == 1


def test_c12_a_look_that_quotes_the_goal_finds_the_effect_asked_for() -> None:
    story = open_ended("Settle the bill of ACME")
    story.propose(call("pay_invoice"))
    story.read(asks(entry("Settle the bill", "pay_*")))

    assert reasons(story) == []
    assert story.chain.intent is not None
    assert story.chain.intent.effects_asked[-1].tools == ("pay_invoice",)


def test_c12_a_look_at_one_tool_finds_nothing_of_another() -> None:
    story = open_ended("Tell John I am late", asks(entry("Tell John")))
    story.propose(call("pay_invoice"))
    story.read(asks(entry("Tell John", "send_message")))

    assert reasons(story) == [ReasonKind.UNASKED]


@pytest.mark.parametrize(
    ("goal", "words", "counts"),
    [
        ("Send it to Ann", "en", False),
        ("Send it to Ann", "end", False),
        ("Send it to Ann", "it to", False),
        ("Send it to Ann", "d it to Ann", True),
        ("Go on", "go on", True),
        ("请给安娜发邮件", "发邮件", True),
    ],
)
def test_c12_a_quote_has_a_whole_word_of_the_goal_or_is_all_of_it(goal: str, words: str, counts: bool) -> None:
    story = open_ended(goal, asks(entry(words)))
    assert (story.chain.plan is not None) is counts


def test_c12_a_look_may_find_what_the_first_reading_missed() -> None:
    story = open_ended("Sum up the mails and keep your hands off the bank", policy=Policy())
    story.propose(call("pay_invoice"))
    story.read(Intent(forbidden=(entry("hands off the bank", "pay_invoice"),)))

    assert story.tools_called == []
    assert "hands off the bank" in corrections(story)


def test_c12_each_of_two_tools_is_looked_at_before_anything_runs() -> None:
    story = open_ended("Sum up the mails")
    story.propose(call("find_person"), call("pay_invoice"), call("send_message"), call("secret"), call("nothing"))
    assert story.thought.tool == "pay_invoice"
    story.read(None)
    assert (story.thought.tool, story.tools_called) == ("send_message", [])
    story.no_thought(kind=ThoughtKind.INTENT)

    assert story.tools_called == ["find_person"]


def test_c12_a_repeat_during_a_look_changes_nothing() -> None:
    story = open_ended("Sum up the mails")
    asked = story.thought
    story.propose(call("pay_invoice"))
    waiting = story.chain
    story.propose(call("send_message"), thought=asked)
    assert story.chain is waiting
    story.hear_intent("c.intent.t0.1", Intent())
    assert story.chain is waiting


def test_c12_a_chain_that_is_cancelled_during_a_look_tells_what_never_ran() -> None:
    story = open_ended("Sum up the mails")
    story.propose(call("pay_invoice"))
    story.cancel()

    assert story.never_executed == [("pay_invoice", "the chain was cancelled")]


def test_c12_a_look_that_no_tokens_are_left_for_ends_the_chain() -> None:
    story = open_ended("Sum up the mails", budget=Budget(tokens=5))
    story.propose(call("pay_invoice"), usage=Usage(output_tokens=5))

    assert (story.chain.status, story.tools_called) == (ChainStatus.FAILED, [])


def test_c12_a_look_costs_tokens() -> None:
    story = open_ended("Sum up the mails", budget=Budget(tokens=5))
    story.propose(call("pay_invoice"))
    story.read(Intent(), Usage(output_tokens=6))

    assert story.chain.status is ChainStatus.FAILED


@pytest.mark.parametrize(
    ("rules", "called", "kinds"),
    [
        (Treatment.ALLOW, ["pay_invoice"], []),
        (Treatment.ASK, ["pay_invoice"], [ReasonKind.UNASKED]),
        (Treatment.REFUSE, [], []),
        ({"pay_*": Treatment.REFUSE, "pay_invoice": Treatment.ALLOW}, ["pay_invoice"], []),
        ({"pay_*": Treatment.REFUSE}, [], []),
        ({"send_*": Treatment.REFUSE}, ["pay_invoice"], [ReasonKind.UNASKED]),
    ],
)
def test_c12_the_policy_says_what_happens_to_unasked_effects(
    rules: Any, called: list[str], kinds: list[ReasonKind]
) -> None:
    story = open_ended("Sum up the mails", policy=Policy(unasked_effects=rules))
    story.propose(call("pay_invoice"))
    if story.thought.tool:
        story.read(Intent())

    assert story.tools_called == called
    if called:
        assert reasons(story) == kinds
    else:
        assert "Nothing in the goal asks for pay_invoice" in corrections(story)


@pytest.mark.parametrize("mode", [Mode.ADVISORY, Mode.OFF])
def test_c12_nothing_is_looked_at_outside_of_strict(mode: Mode) -> None:
    story = open_ended("Sum up the mails", mode=mode)
    story.propose(call("pay_invoice"))

    assert reasons(story) == []


def test_c12_other_words_of_a_person_are_looked_at_anew() -> None:
    story = open_ended("Sum up the mails", policy=Policy(patterns=PATTERNS, strikes=1))
    story.propose(call("pay_invoice"))
    story.read(Intent())
    story.result(failed(ErrorType.NOT_FOUND))
    story.propose(call("nothing"))
    story.answer(RequestKind.ESCALATION, Choice.REPHRASE, text="Pay the bill of ACME")
    story.propose(call("pay_invoice", n=2))
    assert story.thought.tool == "pay_invoice"
    story.read(asks(entry("Pay the bill", "pay_invoice")))

    assert reasons(story) == []


# ---- what a correction names (D1) ----


@pytest.mark.parametrize("wrong", ["nothing", "pay_invoces"])
def test_d1_a_correction_names_no_effect_that_nobody_asks_for(wrong: str) -> None:
    story = open_ended("Sum up the mails, tell Ann", asks(entry("tell Ann")))
    story.propose(call(wrong))

    assert "send_message" in corrections(story)
    assert "pay_invoice" not in corrections(story)


def test_d1_a_step_that_allows_an_effect_does_not_offer_it() -> None:
    story = planned("Sum up the mails")
    story.propose(call("find_person"))

    assert "pay_invoice" not in corrections(story)
    story = planned("Sum up the mails", None, "nothing_known")
    assert "pay_invoice" not in corrections(story)


# ---- effects that are asked for and not done ----


def test_c12_an_effect_without_a_deed_is_asked_for_once_more_and_then_the_chain_fails_with_its_words() -> None:
    story = open_ended("Tell John I am late", asks(entry("Tell John")))
    story.propose(content="I told him.")
    assert story.chain.status is ChainStatus.EXECUTING
    assert story.thought.corrections[0].violation is Violation.UNFULFILLED
    assert 'The words "Tell John" ask for send_message' in corrections(story)
    assert (story.chain.strikes, story.told("contract.violated")) == (0, [])

    story.propose(content="I told him, really.")

    assert story.chain.error is not None
    assert (story.chain.error.code, story.chain.answer) == ("HP-213", "I told him, really.")
    (missing,) = story.chain.unfulfilled
    assert (missing.tool, missing.says, missing.why) == ("send_message", "Tell John", WhyNot.UNFULFILLED)


def test_c12_the_second_time_it_may_be_done() -> None:
    story = open_ended("Tell John I am late", asks(entry("Tell John")))
    story.propose(content="I told him.")
    story.propose(call("send_message"))
    story.result()
    story.propose(content="I told him.")

    assert (story.chain.status, story.chain.unfulfilled) == (ChainStatus.COMPLETED, ())


def test_c12_behind_a_reading_the_words_that_are_said_once_more_are_taken() -> None:
    story = open_ended("Tell John I am late", asks(entry("Tell John")))
    story.propose(call("find_person"))
    story.result()
    story.propose(content="There is no John.")
    assert "If a result shows that it is not needed, say so. Otherwise call it now." in corrections(story)
    story.propose(content="There is no John.")

    assert story.chain.status is ChainStatus.COMPLETED
    assert len(story.chain.unfulfilled) == 1


def test_c12_a_deed_does_not_show_that_another_effect_is_not_needed() -> None:
    story = open_ended("Tell John, pay the bill", asks(entry("Tell John"), entry("pay the bill", "pay_invoice")))
    story.propose(call("send_message"))
    story.result()
    story.propose(content="Both are done.")
    assert "and it was not done. Call it now." in corrections(story)
    story.propose(content="John knows, and it is paid.")

    assert story.chain.error is not None
    assert (story.chain.error.code, [one.tool for one in story.chain.unfulfilled]) == ("HP-213", ["pay_invoice"])


def test_c12_a_tool_that_says_complete_does_not_end_a_task_that_owes_an_effect() -> None:
    story = open_ended("Tell John I am late", asks(entry("Tell John")))
    story.propose(call("find_person"))
    story.result(Outcome(success=True, next_action=NextAction.COMPLETE))

    assert (story.chain.status, story.thought.kind) == (ChainStatus.EXECUTING, ThoughtKind.REASON)


def test_c12_at_the_answer_of_a_plan_the_words_say_why_not() -> None:
    story = planned("Find John and tell him", asks(entry("tell him")), "find_person")
    story.draft(plan(Step(id="s", required_tools=("find_person",))), intent=asks(entry("tell him")))
    story.propose(call("find_person"))
    story.result()
    story.say("I told him.")
    assert "It cannot be called any more" in corrections(story)
    story.say("It was not needed.")

    assert (story.chain.status, story.chain.answer) == (ChainStatus.COMPLETED, "It was not needed.")


def test_c12_the_call_of_a_skill_is_a_deed_of_what_it_called() -> None:
    story = open_ended("Tell them", asks(entry("Tell them")))
    story.propose(call("tell_all"))
    report = msgspec.structs.replace(
        OK, metadata=msgspec.structs.replace(OK.metadata, nested_successes=("send_message",))
    )
    data = ToolCompleted.Data(action_id="c.react.1", outcome=report)
    story.hear(ToolCompleted(id="c.react.1/child/done", source="t", subject="c", data=data), "{}")
    story.propose(content="They know.")

    assert (story.chain.status, story.chain.unfulfilled) == (ChainStatus.COMPLETED, ())


@pytest.mark.parametrize("kind", [ErrorType.NOT_FOUND, ErrorType.TIMEOUT])
def test_c12_an_error_that_was_reported_excuses_it(kind: ErrorType) -> None:
    story = open_ended("Tell John I am late", asks(entry("Tell John")))
    story.propose(call("send_message"))
    story.result(failed(kind))
    story.propose(content="It did not work.")

    assert story.chain.status is ChainStatus.COMPLETED


def test_c12_a_denial_excuses_it() -> None:
    story = open_ended("Tell John, but ask me first", asks(entry("Tell John")))
    story.propose(call("send_message"))
    story.result(ASKED)
    story.answer(RequestKind.CONFIRMATION, Choice.REJECT)
    story.propose(content="You did not want it.")

    assert story.chain.status is ChainStatus.COMPLETED


def test_c12_a_conditional_effect_never_fails_a_chain_and_is_told() -> None:
    story = open_ended("Tell John if it rains", asks(entry("Tell John", when="if it rains")))
    story.propose(content="It does not rain.")

    assert story.chain.status is ChainStatus.COMPLETED
    (missing,) = story.chain.unfulfilled
    assert missing.message == "if it rains"


@pytest.mark.parametrize("mode", [Mode.ADVISORY, Mode.OFF])
def test_c12_outside_of_strict_the_chain_completes_and_tells_it(mode: Mode) -> None:
    story = told("Tell John I am late", mode=mode, intent=asks(entry("Tell John")))
    story.submit(read=False)
    story.propose(content="I told him.")

    assert story.chain.status is ChainStatus.COMPLETED
    assert [one.says for one in story.chain.unfulfilled] == ["Tell John"]


def test_c12_what_no_tool_here_can_do_or_the_words_forbid_is_not_waited_for() -> None:
    asked = asks(entry("Fly", "book_flight"), entry("do not write to her"))
    forbidden = msgspec.structs.replace(asked, forbidden=(entry("do not write to her"),))
    story = open_ended("Fly there, do not write to her", forbidden)
    story.propose(content="I cannot fly.")

    assert (story.chain.status, story.chain.unfulfilled) == (ChainStatus.COMPLETED, ())


# ---- calls inside of skills ------------------------------------------------------------------------------------------

LIMITS = Intent(
    effects_asked=asks(entry("Do it", "pay_invoice")).effects_asked,
    ask_before=(entry("ask me", "send_*"), entry("sure?", "pay_*", "secret")),
    forbidden=(entry("no secrets", "secret"),),
)


@pytest.mark.parametrize("mode", Mode)
def test_a_submitters_words_bind_the_skills_of_a_literal_plan(mode: Mode) -> None:
    steps = plan(tool_step("a", call("pay_invoice")), tool_step("b", call("tell_all"), after=("a",)))
    story = told("", plan=steps, intent=LIMITS, mode=mode)
    story.submit()
    story.result(OK)
    (below,) = (one.task.intent for one in story.last.outputs if isinstance(one, StartChild))
    kept = Intent(
        ask_before=LIMITS.ask_before[1:], forbidden=LIMITS.forbidden
    )  # the yes to a skill is one to its calls
    assert below == (None if mode is Mode.OFF else kept)
