"""Questions to people and their answers: B3, B4, E4, E5, R6, R7."""

import json

import msgspec
import pytest

from haltpoint.chain.checks.core_tools import HUMAN_SPEC as ASK_HUMAN
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.base import request_id
from haltpoint.contracts.doors import door, in_full
from haltpoint.contracts.people.approvals import Approval
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.people.phrases import Phrases
from haltpoint.contracts.reasons import ReasonKind
from haltpoint.contracts.results import (
    ErrorInfo,
    ErrorType,
    Option,
    Outcome,
)
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.bounds import Bounds
from haltpoint.contracts.work.plans import OnFailure, Step
from haltpoint.contracts.work.tasks import Budget, Task
from tests.support.builders import (
    asks,
    call,
    confirms,
    failed,
    fails_with,
    literal_task,
    open_task,
    owing,
    plan,
    spec,
    tool_step,
    worked,
    writing,
)
from tests.unit.chain.story import SAVE, START, Story, submitted

CLARIFICATION, CONFIRMATION, IN_DOUBT = (
    RequestKind.CLARIFICATION,
    RequestKind.CONFIRMATION,
    RequestKind.IN_DOUBT,
)
DAY = 24 * 3600 * 1000
CONTACT = {
    "type": "object",
    "properties": {"contact_id": {"type": "string"}},
    "required": ["contact_id"],
}
SURE = confirms(message="Really send?", preview="to Ann", digest="1a2b")
DOUBT = failed(ErrorType.IN_DOUBT, "the worker died while it was sending")


JOHN = Option(
    id="user_abc123", title="John Doe", confidence=0.9, value={"contact_id": "user_abc123"}
)
JACK = Option(id="user_2", title="John Jack", value={"contact_id": "user_2"})
WHICH = asks(JOHN, JACK, question="Which John?")


def asked(outcome: Outcome, find: ToolSpec | None = None, **task: object) -> Story:
    send = call("send", to={"$from": "find.data.contact_id"})
    steps = plan(
        tool_step("find", call("find", query="John")), tool_step("send", send, after=("find",))
    )
    told = submitted(
        door(Task).validate_python({"plan": steps, **task}), find or spec("find"), writing("send")
    )
    told.result(outcome)
    return told


@pytest.mark.parametrize(
    ("outcome", "kind", "status", "question"),
    [
        (WHICH, CLARIFICATION, ChainStatus.AWAITING_CLARIFICATION, "Which John?"),
        (SURE, CONFIRMATION, ChainStatus.AWAITING_CONFIRMATION, "Really send?"),
        (DOUBT, IN_DOUBT, ChainStatus.ESCALATED, "the worker died while it was sending"),
    ],
)
def test_b3_a_tool_that_is_unsure_stops_the_chain_at_once(
    outcome: Outcome, kind: RequestKind, status: ChainStatus, question: str
) -> None:
    told = asked(outcome)

    assert told.chain.status is status
    assert told.chain.resume is ChainStatus.EXECUTING
    assert told.statuses == {"find": "waiting", "send": "pending"}
    assert told.tools_called == ["find"]
    [ask] = told.questions
    assert (ask.kind, ask.question, ask.tool, ask.arguments) == (
        kind,
        question,
        "find",
        '{"query":"John"}',
    )
    assert (ask.request_id, ask.action_id, ask.deadline) == (
        "c.r1",
        "c.find.1",
        START + DAY,
    )
    assert ask.preview == ("to Ann" if kind is CONFIRMATION else None)
    assert told.told("request.opened") == [
        {"request_id": "c.r1", "kind": kind.value, "step_id": "find", "action_id": "c.find.1"}
    ]


def test_b4_a_choice_completes_the_receipt_and_the_tool_is_not_called_again() -> None:
    told = asked(WHICH)

    told.answer(CLARIFICATION, option="user_abc123")

    assert told.tools_called == ["find", "send"]
    assert json.loads(told.action.arguments) == {"to": "user_abc123"}
    [resolved] = told.resolved
    assert resolved.action.id == "c.find.1"
    assert json.loads(resolved.action.data) == {
        "contact_id": "user_abc123",
        "selected": in_full(JOHN),
    }
    assert resolved.action.outcome == worked(tool="find", started_at=told.now, by="ann")
    assert told.status == "executing"
    assert told.chain.resume is None
    assert told.told("request.answered") == [
        {"request_id": "c.r1", "decision": "select", "by": "ann", "way": "http"}
    ]
    assert told.told("chain.resumed") == [{"step_id": "find", "request_id": "c.r1"}]


def test_b4_an_option_without_a_value_gives_the_option_alone() -> None:
    told = asked(asks(Option(id="a", title="A")), spec("find", result_schema=CONTACT))

    told.answer(CLARIFICATION, option="a")

    assert json.loads(told.resolved[0].action.data)["selected"]["id"] == "a"


def test_none_of_them_is_not_found_with_the_persons_words() -> None:
    told = asked(WHICH)

    told.answer(CLARIFICATION, Choice.NONE, text="I mean my brother")

    assert told.reason == "A person was asked and said: I mean my brother"
    assert told.error.message == "find (NOT_FOUND): A person was asked and said: I mean my brother"
    assert told.resolved[0].action.data == '{"said":"I mean my brother"}'


def test_a_repeat_of_the_result_that_asked_is_not_taken_for_the_result_of_the_approved_run() -> (
    None
):
    told = asked(SURE)
    first = told.dispatches[0].action
    told.approve()

    assert told.result(SURE, action=first).outputs == ()
    assert told.status == "executing"
    told.returns('{"contact_id": "u"}')

    assert told.tools_called == ["find", "find", "send"]


def test_e4_a_rejection_is_denied_with_the_persons_words_and_the_model_reads_do_not_retry() -> None:
    told = asked(SURE)

    told.reject(text="too late at night")

    words = "A person was asked and did not allow it: too late at night"
    assert told.receipt.error == ErrorInfo(ErrorType.DENIED, words, recoverable=False)
    assert told.receipt.instruction_for_ai == "Do not retry this call."
    assert told.reason == words


def test_e5_a_person_says_that_it_happened() -> None:
    told = asked(DOUBT, spec("find", result_schema=CONTACT))

    told.answer(IN_DOUBT, Choice.HAPPENED, value={"contact_id": "u1"})

    assert told.receipt == worked(tool="find", started_at=told.now, by="ann")
    assert json.loads(told.action.arguments) == {"to": "u1"}


def test_e5_it_happened_counts_without_a_value_and_is_marked_as_a_persons_word() -> None:
    told = asked(DOUBT, spec("find", result_schema=CONTACT))

    told.answer(IN_DOUBT, Choice.HAPPENED)

    assert (told.receipt.satisfies, told.receipt.metadata.by) == (True, "ann")
    assert told.receipt.warnings == ("a person says that it happened; its result is not known",)
    assert told.status_of("find") == "completed"


def test_f1_a_deployment_has_other_words_for_it() -> None:
    phrases = Phrases(denied="Ein Mensch hat es nicht erlaubt", no="nein")
    told = submitted(literal_task(), spec(), policy=Policy(phrases=phrases))
    told.result(SURE)
    told.reject()
    assert told.reason == "Ein Mensch hat es nicht erlaubt: nein"


CAUSE = ErrorInfo(ErrorType.UNKNOWN, "KeyError: 'city'", recoverable=True)


@pytest.mark.parametrize(
    ("cause", "error"),
    [
        (CAUSE, CAUSE),
        (None, ErrorInfo(ErrorType.UNKNOWN, "a person says that it did not happen")),
    ],
    ids=["raised", "died"],
)
def test_e5_it_failed_so_the_exception_is_the_error_and_nothing_runs_again(
    cause: ErrorInfo | None, error: ErrorInfo
) -> None:
    doubt = ErrorInfo(ErrorType.IN_DOUBT, "find: it was started", cause=cause)
    told = asked(msgspec.structs.replace(DOUBT, error=doubt))

    told.answer(IN_DOUBT, Choice.FAILED)

    assert (told.receipt.error, told.receipt.metadata.by) == (
        msgspec.structs.replace(error, no_effect=True, recoverable=False),
        "ann",
    )
    assert len(told.dispatches) == 1
    assert (told.status, told.reason) == ("failed", error.message)


def test_e5_a_failure_that_a_person_confirmed_goes_to_the_model() -> None:
    told = submitted(Task(goal="g"), writing("find"))
    told.plans(tool_step("find", call("find")))
    told.calls("find")
    told.result(
        msgspec.structs.replace(DOUBT, error=ErrorInfo(ErrorType.IN_DOUBT, "m", cause=CAUSE))
    )

    told.answer(IN_DOUBT, Choice.FAILED)

    assert told.thought.turn == 2
    assert told.thought.receipts == ("c.find.1",)


def test_e5_it_did_not_happen_so_the_same_action_runs_again() -> None:
    told = asked(DOUBT)

    told.answer(IN_DOUBT, Choice.NOT_HAPPENED)

    again = told.order
    assert (again.action.id, again.action.attempt, again.approval, again.again) == (
        "c.find.1",
        2,
        None,
        True,
    )


def test_abort_cancels_the_chain() -> None:
    told = asked(WHICH)

    told.answer(CLARIFICATION, Choice.ABORT, text="never mind")

    assert told.status == "cancelled"
    assert told.told("chain.cancelled") == [{"by": "ann", "reason": "never mind"}]
    assert told.statuses == {"find": "cancelled", "send": "pending"}
    assert told.last.outputs == ()


def test_a_cancellation_takes_the_open_question_back() -> None:
    told = asked(WHICH)

    told.cancel()

    [withdrawn] = told.last.outputs
    assert (withdrawn.request_id, withdrawn.reason) == ("c.r1", "the chain was cancelled")  # type: ignore[union-attr]
    assert told.told("request.withdrawn") == [
        {"request_id": "c.r1", "reason": "the chain was cancelled"}
    ]
    assert told.final_facts == ["chain.cancelled"]
    assert told.chain.requests == ()


def test_r6_an_answer_that_does_not_fit_or_comes_again_changes_nothing() -> None:
    told = asked(WHICH)
    waiting = told.chain

    told.approve()
    told.answer(CLARIFICATION, option="user_made_up")
    told.answer(CLARIFICATION, option="user_2", request=request_id("other", 1))
    told.answer(CLARIFICATION, option="user_2", request="c.r2")
    told.answer(CLARIFICATION, option="user_2", at=START + DAY + 1)
    assert told.chain is waiting

    told.answer(CLARIFICATION, option="user_2")
    resumed = told.chain
    told.answer(CLARIFICATION, option="user_abc123", request="c.r1")
    assert told.chain is resumed


def test_r7_nothing_else_moves_a_chain_that_waits() -> None:
    told = asked(WHICH)
    waiting = told.chain

    told.submit()
    told.result(action=told.dispatches[0].action)
    told.no_thought("c.find.t1.1")

    assert told.chain is waiting


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [(WHICH, ErrorType.TIMEOUT), (SURE, ErrorType.TIMEOUT), (DOUBT, ErrorType.IN_DOUBT)],
)
def test_c11_a_step_whose_question_expires_fails_like_any_other(
    outcome: Outcome, kind: ErrorType
) -> None:
    [card] = asked(outcome).questions
    words = (
        f'the question "{card.question}" is undecided: no answer came until 1970-01-02 00:16 UTC'
    )
    first = tool_step("find", call("find"), call("find", again=True), on_failure=OnFailure.CONTINUE)
    refers = tool_step("send", call("send", to={"$from": "find.data.contact_id"}), after=("find",))
    told = submitted(
        Task(plan=plan(first, refers, tool_step("last", after=("find",)))),
        spec("find"),
        spec("send"),
        spec(),
    )
    told.result(outcome)

    told.due("c.r1", at=START + DAY)

    assert told.status == "executing"
    assert told.statuses == {"find": "failed", "send": "skipped", "last": "in_progress"}
    assert told.told("step.failed") == [{"step_id": "find", "code": "HP-210", "reason": words}]
    assert told.never_executed[0] == ("find", "its step had ended")
    known = kind is ErrorType.TIMEOUT or None
    assert told.receipt.error == ErrorInfo(
        error_type=kind, message=words, recoverable=False, no_effect=known, undecided=bool(known)
    )
    assert told.answer(CLARIFICATION, option="user_2", request="c.r1").chain is told.chain

    told.result()
    assert told.final_facts == ["chain.completed"]


def test_c11_a_model_goes_on_behind_a_step_whose_question_expired_and_sees_why() -> None:
    ask = owing("ask", "askHuman", on_failure=OnFailure.CONTINUE)
    told = submitted(Task(goal="paint"), ASK_HUMAN)
    told.plans(ask, Step(id="after", dependencies=("ask",)))
    told.calls("askHuman", question="Which colour?", timeout=5)

    told.due("c.r1", at=START + 5000)

    assert told.statuses == {"ask": "failed", "after": "in_progress"}
    assert (told.thought.step_id, told.thought.receipts) == ("after", ("c.ask.1",))
    assert [resolved.action.id for resolved in told.resolved] == ["c.ask.1"]


def test_an_answer_taken_in_time_still_counts_when_a_timer_overtakes_it() -> None:
    told = asked(WHICH)
    waiting = told.chain

    assert told.due(at=START + DAY + 59_999).chain is waiting
    told.answer(CLARIFICATION, option="user_2", at=START + DAY - 1)
    assert told.tools_called == ["find", "send"]


def test_nobody_waits_for_ever_for_a_question_that_expired_unheard() -> None:
    told = asked(WHICH)

    told.due(at=START + DAY + 60_000)

    assert told.status == "failed"


def test_the_chains_deadline_ends_a_question_too() -> None:
    told = asked(WHICH, budget=Budget(seconds=60))
    assert told.questions[0].deadline == told.chain.deadline == START + 60_000

    told.due("c.r1", at=START + 60_000)

    assert told.error.code == "HP-209"
    assert told.told("request.withdrawn") == [
        {"request_id": "c.r1", "reason": "the chain's deadline has passed"}
    ]


@pytest.mark.parametrize("decision", [Choice.APPROVE, Choice.ABORT])
def test_an_answer_that_is_heard_after_the_deadline_lets_nothing_out(decision: Choice) -> None:
    told = asked(SURE, budget=Budget(seconds=60))
    told.now = START + 60_000

    told.answer(CONFIRMATION, decision, at=START + 59_999)

    assert told.chain.status is (
        ChainStatus.FAILED if decision is Choice.APPROVE else ChainStatus.CANCELLED
    )
    assert len(told.dispatches) == 1


def test_a_question_that_comes_after_the_deadline_is_not_asked() -> None:
    told = submitted(
        Task(plan=plan(tool_step("find", call("find"))), budget=Budget(seconds=1)), spec("find")
    )
    told.now = START + 1000

    told.result(WHICH)

    assert told.questions == []
    assert told.status == "failed"


def test_a_tool_that_is_gone_does_not_stop_a_person_from_answering() -> None:
    happened = asked(DOUBT)
    happened.without("find")

    happened.answer(IN_DOUBT, Choice.HAPPENED, value={"contact_id": "u"})

    assert happened.tools_called == ["find", "send"]


def test_f1_a_pick_for_a_tool_that_no_worker_serves_any_more_is_no_deed() -> None:
    """It may have had effects, and has done nothing."""
    chosen = asked(WHICH)
    chosen.without("find")

    chosen.answer(CLARIFICATION, option="user_2")

    assert chosen.tools_called == ["find"]
    assert "Nothing was done: that takes a new call with it." in chosen.reason
    assert chosen.chain.end.deeds == ()


@pytest.mark.parametrize("kind", [ErrorType.VALIDATION, ErrorType.NOT_FOUND])
def test_c6_a_yes_holds_for_the_equal_call_until_that_is_done(kind: ErrorType) -> None:
    story = Story(open_task("save it"), SAVE)
    story.submit(read=False)
    story.read(Bounds(required_tools=("save",), ask_before=("save",)))
    approved = Approval(digest="d", by="ann")
    story.calls("save", to="x")
    assert [reason.kind for reason in story.reasons] == [ReasonKind.ASK_BEFORE]
    story.result(fails_with(ErrorInfo(kind, "no"), approval=approved))
    story.calls("save", to="y")
    assert story.reasons, "it is another call"
    story.result(fails_with(ErrorInfo(kind, "no")))
    story.calls("save", to="x")
    assert not story.reasons
    story.result(worked(tool="save", approval=approved))
    story.calls("save", to="x")
    kinds = [reason.kind for reason in story.reasons]
    assert kinds == [ReasonKind.ASK_BEFORE, ReasonKind.REPEAT]
