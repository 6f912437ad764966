"""The answer of a chain (CONTRACT F1): what was done and by whom, what was not and why."""

from typing import Any

import pytest
from msgspec.structs import replace

from haltpoint.chain.checks.answer import answer
from haltpoint.chain.model.state import Action, Dropped
from haltpoint.chain.model.statuses import ActionStatus
from haltpoint.contracts.answers import FinalAnswer, NotDone, WhyNot
from haltpoint.contracts.people.approvals import Approval
from haltpoint.contracts.people.phrases import Phrases
from haltpoint.contracts.results import (
    Below,
    DeedWords,
    ErrorInfo,
    ErrorType,
    Outcome,
)
from haltpoint.contracts.tools import ToolSpec
from tests.support.builders import asks, fails_with, worked

AT = 1_767_225_600_000
TO = {"type": "object", "properties": {"to": {"type": "string"}}}
SPECS = {
    "send": ToolSpec(name="send", parameters=TO, targets=("to",)),
    "log": ToolSpec(name="log"),
    "note": ToolSpec(name="note", says="Note to {name}: {text}", targets=("id",)),
    "look": ToolSpec(name="look", read_only=True),
}


def spec_of(tool: str) -> ToolSpec:
    return SPECS.get(tool) or ToolSpec(name=tool)


def action(
    outcome: Outcome | None,
    number: int = 1,
    tool: str = "send",
    arguments: str = '{"to":"u1"}',
    child: str = "",
) -> Action:
    return Action(
        f"c.s.{number}", 0, number, tool, arguments, ActionStatus.DONE, outcome=outcome, child=child
    )


def done(says: str = "Sent", target: str | None = "u1", at: int = AT, **told: Any) -> Outcome:
    return worked(started_at=at, deed=DeedWords(says=says, target=target), **told)


def read(at: int = AT) -> Outcome:
    return worked(started_at=at)


def failed(kind: ErrorType = ErrorType.NOT_FOUND, at: int = AT, **told: Any) -> Outcome:
    return fails_with(ErrorInfo(kind, "it broke"), started_at=at, **told)


def answered(
    *actions: Action, dropped: tuple[Dropped, ...] = (), due: tuple[NotDone, ...] = ()
) -> FinalAnswer:
    return answer("Done.", actions, dropped, due, spec_of, Phrases())


def deeds(*actions: Action) -> list[str]:
    return [deed.action_id for deed in answered(*actions).deeds]


def not_done(
    *actions: Action, dropped: tuple[Dropped, ...] = ()
) -> list[tuple[str | None, str, str]]:
    return [
        (line.action_id, line.why.value, line.message)
        for line in answered(*actions, dropped=dropped).not_done
    ]


# ---- deeds
# --------------------------------------------------------------------------------------------------


def test_f1_a_deed_says_what_was_done_to_whom_when_and_with_which_warnings() -> None:
    outcome = replace(done(duration_ms=7), warnings=("slow",))
    [deed] = answered(action(outcome)).deeds
    assert (deed.action_id, deed.tool, deed.says, deed.target) == ("c.s.1", "send", "Sent", "u1")
    assert (deed.at.timestamp(), deed.by, deed.warnings) == ((AT + 7) / 1000, None, ("slow",))


def test_f1_of_a_child_the_calls_inside_are_the_deeds_and_who_approved_it_approved_them() -> None:
    [inner] = answered(action(done())).deeds
    lost = NotDone(action_id="c~s-1.s.2", tool="send", says="Send", target="u2", why=WhyNot.FAILED)
    below = Below(deeds=(inner,), not_done=(lost,))
    ended = failed(below=below, approval=Approval(digest="d", by="ann"))
    found = answered(action(ended, tool="tell", child="c~s-1"))
    assert [(deed.action_id, deed.by) for deed in found.deeds] == [("c.s.1", "ann")]
    assert found.not_done == (lost,)


def test_f1_a_call_that_reads_and_one_that_has_an_earlier_receipt_are_no_deeds() -> None:
    assert deeds(action(read(), tool="look"), action(done(repeats="c.s.1"), 2)) == []


def test_f1_the_text_is_the_models_to_the_byte() -> None:
    words = "  I did  it.\n\n"
    assert answer(words, (), (), (), spec_of, Phrases()).text == words


# ---- what was not done
# -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "why", "message"),
    [
        (failed(ErrorType.NOT_FOUND), "failed", "it broke"),
        (failed(ErrorType.DENIED), "denied", "it broke"),
        (failed(ErrorType.BLOCKED), "failed", "it broke"),
        (failed(ErrorType.IN_DOUBT), "in_doubt", "it broke"),
        (None, "in_doubt", "It was running when the chain ended; whether it happened is unknown."),
        (
            asks("a", "b"),
            "never_executed",
            "A person was asked about it, and the chain ended before an answer came.",
        ),
    ],
)
def test_f1_what_was_not_done_says_why(outcome: Outcome | None, why: str, message: str) -> None:
    [line] = answered(action(outcome)).not_done
    wanted = NotDone(
        action_id="c.s.1",
        tool="send",
        says='Send: to "u1"',
        target="u1",
        why=WhyNot(why),
        message=message,
    )
    assert line == wanted


@pytest.mark.parametrize(("tool", "child"), [("look", ""), ("tell", "c~s-1")])
def test_f1_a_read_or_a_child_that_was_stopped_is_not_in_doubt(tool: str, child: str) -> None:
    words = "It was stopped before it was complete."
    assert not_done(action(None, tool=tool, child=child)) == [("c.s.1", "failed", words)]


def test_f1_a_question_of_the_model_is_no_call() -> None:
    assert not_done(action(None, tool="askHuman")) == []


def test_f1_a_failed_call_has_no_line_when_a_later_deed_has_its_target() -> None:
    first = action(failed())
    assert not_done(first, action(done(at=AT + 1), 2, arguments='{"to":"u1","text":"x"}')) == []
    other = action(done(target="u2", at=AT + 1), 2, arguments='{"to":"u2"}')
    assert len(not_done(first, other)) == 1
    assert len(not_done(action(done()), action(failed(at=AT + 1), 2))) == 1


@pytest.mark.parametrize("kind", [ErrorType.TIMEOUT, ErrorType.SERVER, ErrorType.UNKNOWN])
def test_f1_a_call_that_may_have_taken_effect_is_in_doubt_unless_it_reads(kind: ErrorType) -> None:
    assert not_done(action(failed(kind))) == [("c.s.1", "in_doubt", "it broke")]
    assert not_done(action(failed(kind), tool="look")) == [("c.s.1", "failed", "it broke")]
    kept_back = DeedWords(says="Sent")
    assert not_done(action(failed(ErrorType.BLOCKED, deed=kept_back))) == [
        ("c.s.1", "in_doubt", "it broke")
    ]


def test_f1_a_read_that_failed_is_no_loss_when_the_tool_has_brought_something_later() -> None:
    lost = action(failed(ErrorType.NOT_FOUND), tool="look", arguments='{"q":"x"}')
    assert not_done(lost, action(read(AT + 1), 2, "look", '{"q":"y"}')) == []
    assert len(not_done(lost)) == 1


@pytest.mark.parametrize("kind", [ErrorType.DENIED, ErrorType.IN_DOUBT])
def test_f1_what_a_person_denied_and_what_is_in_doubt_is_always_told(kind: ErrorType) -> None:
    assert len(not_done(action(failed(kind)), action(done(at=AT + 1), 2))) == 1


def test_f1_where_a_call_has_no_target_a_later_deed_has_its_words() -> None:
    first = action(failed(), tool="log", arguments='{"a":1}')
    same = action(done("Log: a 1", target=None, at=AT + 1), 2, "log")
    other = action(done("Log: a 2", target=None, at=AT + 1), 2, "log")
    assert not_done(first, same) == []
    assert len(not_done(first, other)) == 1


def test_f1_a_call_that_never_ran_is_not_told_beside_a_deed_that_differs_by_an_unknown_value() -> (
    None
):
    """A made-up id has no name; each deed stands for one such call."""
    made_up = tuple(
        Dropped("note", f'{{"id":"{name}","text":"hi"}}', "too many calls in one reply", 0, 0)
        for name in ("x", "y")
    )
    jane = action(done('Note to "Jane": "hi"', "u1"), tool="note")
    john = action(done('Note to "John": "hi"', "u2"), 2, tool="note")
    other = action(done('Note to "John": "ho"', "u2"), 2, tool="note")
    assert len(not_done(dropped=made_up)) == 2
    assert len(not_done(jane, dropped=made_up)) == 1
    assert len(not_done(jane, other, dropped=made_up)) == 1
    assert not_done(jane, john, dropped=made_up) == []


def test_f1_a_call_that_never_ran_has_a_line_unless_it_was_made_later() -> None:
    dropped = Dropped("send", '{"to":"u1"}', "a person was asked first", 0, 1)
    assert not_done(dropped=(dropped,)) == [(None, "never_executed", "a person was asked first")]
    assert len(not_done(action(done()), dropped=(dropped,))) == 1
    assert not_done(action(done(), 2), dropped=(dropped,)) == [], "whatever a worker's clock says"


def test_f1_where_a_call_never_ran_no_line_says_that_it_was_never_called() -> None:
    dropped = Dropped("send", '{"to":"u1"}', "the chain failed", 0, 0)
    due = tuple(
        NotDone(tool="send", says="send", why=why) for why in (WhyNot.NOT_CALLED, WhyNot.LEFT_OUT)
    )
    lines = answer("", (), (dropped,), due, spec_of, Phrases()).not_done
    assert [line.why for line in lines] == [WhyNot.NEVER_EXECUTED, WhyNot.LEFT_OUT]
