"""Another tool stands in for one that failed without an effect (CONTRACT E3)."""

from typing import Any

import pytest

from haltpoint.chain.model.state import next_due
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.people.humans import Answer, Choice, RequestKind
from haltpoint.contracts.reasons import ReasonKind
from haltpoint.contracts.results import (
    Confirmation,
    ErrorInfo,
    ErrorType,
    Metadata,
    NextAction,
    Outcome,
    StandsInFor,
    Target,
)
from haltpoint.contracts.tools import Fallback, Retry, ToolSpec
from haltpoint.contracts.work.intent import Intent, IntentEntry
from haltpoint.contracts.work.tasks import Style, Task
from tests.support.builders import OK, call, failed, plan, spec, tool_step
from tests.unit.chain.story import Story

TEXT = {"type": "string"}


def sends(name: str, *parameters: str, **declared: Any) -> ToolSpec:
    schema = {"type": "object", "properties": dict.fromkeys(parameters, TEXT), "required": list(parameters)}
    return spec(name, read_only=False, parameters=schema, **declared)


SMS = Fallback(tool="sms", arguments={"number": "to", "text": "words"})
MAIL = sends("mail", "to", "words", fallback=(SMS, Fallback(tool="letter")))
TOOLS = (MAIL, sends("sms", "number", "text"), sends("letter", "to", "words"))
MAILED = StandsInFor(tool="mail", arguments='{"to":"jo","words":"hi"}')


def down(kind: ErrorType = ErrorType.SERVER, no_effect: bool | None = True, **metadata: Any) -> Outcome:
    fault = ErrorInfo(kind, "it is down", no_effect=no_effect)
    return Outcome(success=False, next_action=NextAction.ERROR, error=fault, metadata=Metadata(**metadata))


def sent_by(tool: str) -> Outcome:
    metadata = Metadata(tool=tool, action_id="c.s.1", stands_in_for=MAILED)
    return Outcome(success=True, next_action=NextAction.CONTINUE, metadata=metadata)


def literal(*tools: ToolSpec) -> Story:
    steps = tool_step("s", call("mail", to="jo", words="hi"))
    story = Story(Task(goal="x", plan=plan(steps)), *(tools or TOOLS))
    story.submit()
    return story


def of_a_model(goal: str = "mail jo that I say hi", intent: Intent | None = None, **task: Any) -> Story:
    story = Story(Task(goal=goal, style=Style.REACT, **task), *TOOLS)
    story.submit(read=intent is None)
    if intent is not None:
        story.read(intent)
    story.propose(call("mail", to="jo", words="hi"))
    return story


def fail(story: Story, outcome: Outcome | None = None) -> None:
    story.result(outcome or down())
    if story.chain.resting:
        story.due(at=next_due(story.chain))


def sent(story: Story) -> list[tuple[str, str, int]]:
    return [(one.spec.name, one.action.arguments, one.action.attempt) for one in story.dispatches]


def test_e3_a_fallback_runs_under_the_same_action_with_its_own_parameters_and_its_receipt_counts() -> None:
    story = literal()
    fail(story)
    assert sent(story)[1:] == [("sms", '{"number":"jo","text":"hi"}', 2)]
    order = story.dispatches[-1]
    assert order.action.id == "c.s.1"
    assert order.again
    assert order.stands_in_for == MAILED
    assert order.notes == ("mail failed without an effect, and sms was called in its place",)
    assert story.told("action.dispatched")[-1]["stands_in_for"] == "mail"
    assert story.chain.actions_used == 1
    story.result(sent_by("sms"))
    assert story.statuses == {"s": "completed"}
    assert story.chain.status is ChainStatus.COMPLETED


def test_e3_fallbacks_are_called_in_order_and_the_last_ones_error_counts() -> None:
    story = literal()
    fail(story)
    fail(story)
    assert sent(story)[2:] == [("letter", '{"to":"jo","words":"hi"}', 3)]
    assert story.dispatches[-1].stands_in_for == MAILED
    fail(story)
    assert story.chain.status is ChainStatus.FAILED
    assert story.chain.error is not None
    assert story.chain.error.message == "letter: SERVER: it is down"


def test_e3_attempts_are_used_up_first_and_a_fallback_has_its_own() -> None:
    tools = [
        spec(one.name, read_only=False, retry=Retry(attempts=2), parameters=one.parameters, fallback=one.fallback)
        for one in TOOLS
    ]
    story = literal(*tools)
    for _ in range(4):
        fail(story, down(again=True))
    assert [name for name, _, _ in sent(story)] == ["mail", "mail", "sms", "sms", "letter"]


@pytest.mark.parametrize(
    "outcome",
    [
        failed(ErrorType.SERVER),
        down(ErrorType.TIMEOUT, no_effect=None),
        down(ErrorType.NOT_FOUND),
        down(ErrorType.PERMISSION),
        down(effects=("0123456789abcdef 1 c.s.1/1 done",)),
    ],
)
def test_e3_no_fallback_where_something_may_have_happened_or_another_tool_would_not_help(outcome: Outcome) -> None:
    story = literal()
    fail(story, outcome)
    assert len(story.dispatches) == 1


@pytest.mark.parametrize(
    "first",
    [
        down(no_effect=None, again=True),
        down(ErrorType.RATE_LIMIT, no_effect=False, again=True),
        down(ErrorType.RATE_LIMIT, no_effect=False, limit="2/s"),
    ],
)
def test_e3_no_fallback_where_an_earlier_attempt_may_have_had_its_effect(first: Outcome) -> None:
    tools = (sends("mail", "to", "words", fallback=(SMS,), retry=Retry(attempts=2)), *TOOLS[1:])
    story = literal(*tools)
    fail(story, first)
    fail(story, down(again=True))
    if first.metadata.limit:  # it used up no attempt
        fail(story, down(again=True))
    assert {name for name, _, _ in sent(story)} == {"mail"}
    assert story.chain.status is ChainStatus.FAILED


def test_e3_a_fallback_is_called_after_all_when_the_doubt_about_its_call_is_resolved() -> None:
    retry = Retry(attempts=3)
    tools = (sends("mail", "to", "words", fallback=(SMS,), reconciles=True, retry=retry), *TOOLS[1:])
    story = literal(*tools)
    fault = ErrorInfo(ErrorType.IN_DOUBT, "it broke", cause=ErrorInfo(ErrorType.UNKNOWN, "it broke"))
    fail(story, Outcome(success=False, next_action=NextAction.ERROR, error=fault))
    assert story.dispatches[-1].reconcile
    fail(story, down(ErrorType.UNKNOWN, reconciled=True))
    fail(story)
    assert sent(story)[-1][0] == "sms"


def test_e3_a_refusal_for_now_did_nothing() -> None:
    story = literal()
    fail(story, down(ErrorType.RATE_LIMIT, no_effect=None))
    assert len(story.dispatches) == 2


def test_e3_a_fallback_that_is_gone_or_that_the_arguments_do_not_fit_is_left_out() -> None:
    narrow = {"type": "object", "properties": {"number": {"type": "integer"}, "text": TEXT}}
    for sms in (sends("sms", "number", "text", gone=True), spec("sms", read_only=False, parameters=narrow)):
        story = literal(MAIL, sms, TOOLS[2])
        fail(story)
        assert sent(story)[-1][0] == "letter"
    story = literal(MAIL)
    fail(story)
    assert story.chain.status is ChainStatus.FAILED
    short = Fallback(tool="letter", arguments={"to": "to", "words": "title"})
    story = literal(sends("mail", "to", "words", fallback=(short,)), TOOLS[2])
    fail(story)
    assert story.chain.status is ChainStatus.FAILED


def test_e3_nothing_stands_in_past_the_deadline_nor_for_a_tool_that_is_gone() -> None:
    story = literal()
    story.now = story.chain.deadline - 1
    story.result(down())
    assert story.chain.status is ChainStatus.FAILED
    story = literal()
    story.without("mail")
    fail(story)
    assert story.chain.status is ChainStatus.FAILED
    story = literal()
    story.result(down())
    story.without("sms")
    story.due(at=next_due(story.chain))
    assert story.chain.error is not None
    assert story.chain.error.message == "no worker declares sms any more"


def test_e3_the_model_is_told_of_a_success_and_the_ledger_knows_both_calls() -> None:
    story = of_a_model()
    fail(story)
    assert [len(one.reasons) for one in story.dispatches] == [0, 0]
    story.result(sent_by("sms"))
    for again in (call("mail", to="jo", words="hi"), call("sms", number="jo", text="hi")):
        story.propose(again)
        assert [one.kind for one in story.dispatches[-1].reasons] == [ReasonKind.REPEAT]
        story.result(failed(ErrorType.DENIED))


def test_c12_no_fallback_that_the_users_words_forbid_or_the_task_leaves_out_and_one_to_ask_before_is_asked() -> None:
    goal = "mail jo that I say hi, no sms"
    asked = (IntentEntry(tools=("mail",), words="mail jo"),)
    never = (IntentEntry(tools=("sms",), words="no sms"),)
    scope: dict[str, Any] = {"tools": ("mail", "letter")}
    for intent, task in ((Intent(effects_asked=asked, forbidden=never), dict[str, Any]()), (None, scope)):
        story = of_a_model(goal, intent, **task)
        fail(story)
        assert sent(story)[-1][0] == "letter"
    story = of_a_model(goal, Intent(effects_asked=asked, ask_before=never))
    fail(story)
    assert [one.kind for one in story.dispatches[-1].reasons] == [ReasonKind.ASK_BEFORE]


def question() -> Outcome:
    asked = Confirmation(action="sms", target=Target(), message="Send it?", digest="d")
    return Outcome(success=True, next_action=NextAction.CONFIRMATION_NEEDED, confirmation=asked)


def test_g1_an_approval_is_for_the_call_that_was_asked_about_and_not_for_its_fallback() -> None:
    story = literal()
    story.result(question())
    story.answer(RequestKind.CONFIRMATION, Choice.APPROVE)
    fail(story)
    assert sent(story)[-1][0] == "sms"
    assert story.dispatches[-1].approval is None
    story.result(question())
    edited = {"number": "007", "text": "hi"}
    story.give(Answer(kind=RequestKind.CONFIRMATION, decision=Choice.APPROVE, arguments=edited))
    assert sent(story)[-1] == ("sms", '{"number":"007","text":"hi"}', 4)
    assert story.dispatches[-1].stands_in_for == MAILED
    fail(story)
    assert sent(story)[-1] == ("letter", '{"to":"jo","words":"hi"}', 5)


def test_e4_a_fallback_that_a_person_denied_does_not_stand_in_again() -> None:
    story = of_a_model()
    fail(story)
    story.result(question())
    story.answer(RequestKind.CONFIRMATION, Choice.REJECT)
    story.propose(call("mail", to="jo", words="hi"))
    fail(story)
    assert sent(story)[-1][0] == "letter"


def test_e5_what_a_person_says_of_a_fallback_in_doubt_counts_for_the_step() -> None:
    story = literal()
    fail(story)
    story.result(failed(ErrorType.IN_DOUBT))
    story.answer(RequestKind.IN_DOUBT, Choice.HAPPENED)
    assert story.chain.status is ChainStatus.COMPLETED
    (resolved,) = story.resolved
    assert resolved.action.outcome is not None
    assert resolved.action.outcome.metadata.stands_in_for == MAILED


def test_c14_an_equal_call_of_another_step_waits_for_the_fallback_too() -> None:
    steps = [tool_step(name, call("mail", to="jo", words="hi")) for name in ("s", "t")]
    story = Story(Task(goal="x", plan=plan(*steps), parallel=2), *TOOLS)
    story.submit()
    fail(story)
    assert [one.action.id for one in story.dispatches] == ["c.s.1", "c.s.1"]
    story.result(OK)
    assert story.dispatches[-1].action.id == "c.t.1"


def test_c6_a_value_out_of_a_fallbacks_result_has_the_origin_that_its_tool_stands_for() -> None:
    find = spec("find", fallback=(Fallback(tool="search"),))
    open_it = spec(
        "open_it", provenance={"id": ("find.id",)}, parameters={"type": "object", "properties": {"id": TEXT}}
    )
    story = Story(Task(goal="open the report", style=Style.REACT), find, spec("search"), open_it)
    story.submit()
    story.propose(call("find"))
    fail(story)
    found = Metadata(tool="search", action_id="c.react.1", stands_in_for=StandsInFor(tool="find", arguments="{}"))
    story.result(Outcome(success=True, next_action=NextAction.CONTINUE, metadata=found), data='{"id":"r-17"}')
    story.propose(call("open_it", id="r-17"))
    assert story.dispatches[-1].spec.name == "open_it"


def two(first: tuple[str, dict[str, str]], second: tuple[str, dict[str, str]], *tools: ToolSpec) -> Story:
    """Two steps side by side, each with one of these calls."""
    steps = [tool_step(name, call(tool, **given)) for name, (tool, given) in (("a", first), ("b", second))]
    story = Story(Task(goal="x", plan=plan(*steps), parallel=2), *tools)
    story.submit()
    return story


def test_c14_a_fallback_waits_for_an_equal_call_of_another_step() -> None:
    words = {"number": "jo", "text": "hi"}
    story = two(("sms", words), ("mail", {"to": "jo", "words": "hi"}), *TOOLS)
    smsed, mailed = (one.action for one in story.dispatches)
    story.result(down(), action=mailed)
    for _ in range(2):
        story.due(at=story.now + 10)
        assert story.tools_called == ["sms", "mail"]
    assert next_due(story.chain) == story.chain.deadline
    story.result(action=smsed)
    assert story.tools_called == ["sms", "mail", "sms"]
    story.result(sent_by("sms"))
    assert story.chain.status is ChainStatus.COMPLETED


def test_c14_two_fallbacks_never_wait_for_each_other() -> None:
    ours = {"to": "jo", "words": "hi"}
    pairs = (("one", "other"), ("other", "one"))
    tools = [sends(name, "to", "words", fallback=(Fallback(stands_in),)) for name, stands_in in pairs]
    story = two(("one", ours), ("other", ours), *tools)
    for action in [one.action for one in story.dispatches]:
        story.result(down(), action=action)
    story.due(at=story.now + 10)
    assert story.tools_called == ["one", "other", "other"]
    story.result()
    assert story.tools_called == ["one", "other", "other", "one"]
    story.result()
    assert story.chain.status is ChainStatus.COMPLETED
