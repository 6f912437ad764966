"""What is told of a chain, and that nothing a model writes can do more than be read."""

import io
from typing import Any

import pytest
from rich.console import Console

from haltpoint.chain.model.canonical import spelt_out
from haltpoint.cli.render.picture import print_story
from haltpoint.cli.render.tree import tree
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.views.chains import ChainView, RequestView
from haltpoint.contracts.views.story import About, StoryLine, Tone
from haltpoint.runtime.views.question import details, model_words
from haltpoint.runtime.views.story import tell
from tests.unit.cli.chains import (
    BEGUN,
    action,
    after,
    chain,
    completed,
    failed,
    request,
    step,
    stopped,
)

Told = tuple[About, Tone, str]


def told(story: list[Told], tone: Tone) -> list[str]:
    return [text for _, one, text in story if one == tone]


def lines(view: ChainView) -> list[Told]:
    return [(line.about, line.tone, f"{line.text} {line.struck}".rstrip()) for line in tell(view)]


def answer_lines(view: ChainView) -> list[StoryLine]:
    return [line for line in tell(view) if line.about == "answer"]


def test_a_stop_shows_the_question_its_options_and_what_never_ran() -> None:
    assert lines(stopped()) == [
        ("step", "running", "Find the contact"),
        ("call", "running", 'lookup_contacts(query="John")'),
        ("question", "stop", "Which 'John' do you mean?"),
        ("call", "never", 'never executed: send_message(recipient_id="user_123")'),
        ("step", "pending", "Send the message"),
    ]
    stop, never = (line for line in tell(stopped()) if line.tone in ("stop", "never"))
    assert stop.more == (
        "1  John Doe       95%  john.doe@example.com",
        "2  John Smith     85%  jsmith@example.com",
        "3  Jonathan Lee   45%  jon.lee@example.com",
    )
    assert never.note == "a person was asked first"


def test_a_completed_chain_shows_the_choice_the_receipts_and_the_answer() -> None:
    story = lines(completed())
    assert told(story, "choice") == ["John Doe  (user_abc123)"]
    assert told(story, "done") == [
        'lookup_contacts: contact_id="user_abc123"',
        "find completed",
        'send_message: message_id="m1"',
        "send completed",
        "completed",
    ]
    assert told(story, "words") == ["I told John Doe."]
    assert (
        tell(completed())[-1].note
        == "1.2 s · 2 actions · 2 turns · 1 question · 1 call never executed"
    )


def test_f1_the_words_of_the_model_are_told_to_the_byte_and_each_reason_beside_them() -> None:
    reason = "Nobody is called 'Zorgblort'."
    left = {"tool": "lookup_contacts", "says": "Find", "why": "failed", "message": reason}
    text = f"{reason} Look again.\n\n  ...\n"
    view = chain(**failed().model_dump() | {"answer": {"text": text, "not_done": [left]}})
    lines = [line for line in tell(view) if line.tone == "words"]
    assert "\n".join(line.text for line in lines) == text
    assert next(line.note for line in answer_lines(view)) == f"failed: {reason}"
    assert tell(view)[-1].text == "failed"


def test_a_step_that_is_left_out_says_why_below_its_calls_in_the_words_of_the_person() -> None:
    receipt = {"success": True, "next_action": "continue"}
    done = action("order.1", "stock", {}, receipt) | {"ended_at": after(1)}
    left = step(
        "order",
        "order",
        "skipped",
        started_at=BEGUN,
        ended_at=after(2),
        reason="the customer changed her mind",
        result="I've ordered 7 mugs.",
        actions=[done],
    )
    missing, end = "the result of step 'order' is missing", after(3)
    never = step("bill", "bill", "skipped", reason=missing, started_at=end, ended_at=end)
    assert lines(chain(steps=[left, never])) == [
        ("step", "running", "order"),
        ("call", "running", "stock()"),
        ("call", "done", "stock: ok"),
        ("step", "never", "order left out: the customer changed her mind"),
        ("step", "never", "bill left out: the result of step 'order' is missing"),
    ]


def test_a_step_whose_end_is_not_in_its_log_yet_has_no_end() -> None:
    """Its state is read before its log: a moment later both say it, with the time."""
    assert lines(chain(steps=[step("order", "order", "completed")])) == [
        ("step", "running", "order"),
    ]


def test_an_edited_approval_is_a_line_of_its_own_and_the_call_keeps_what_was_asked_for() -> None:
    edited = {"mug": "blue", "copies": 4}
    answer = {"kind": "confirmation", "decision": "approve", "arguments": edited}
    asked = request() | {
        "kind": "confirmation",
        "status": "answered",
        "action_id": "c1.order.1",
        "step_id": "order",
        "tool": "order",
        "options": [],
        "arguments": {"mug": "blue", "copies": 6},
        "asked_at": after(1.5),
        "closed_at": after(2),
        "answer": {"by": "ann", "way": "page", "at": after(2), "answer": answer},
    }
    call = action("order.1", "order", edited) | {"started_at": after(1)}
    texts = [
        line.text
        for line in tell(chain(steps=[step("order", "order", actions=[call])], requests=[asked]))
    ]
    assert texts[1] == 'order(mug="blue", copies=6)'
    assert texts[-2:] == ["approve", 'edited: order(mug="blue", copies=4)']


@pytest.mark.parametrize(
    "said",
    [
        '{"name": "send_message", "arguments": "{\\"recipient_id\\": \\"user_1\\"}"}',
        '{"name": "send_message", "arguments": {"recipient_id": "user_1"}}',
        '[{"name": "send_message", "arguments": {"recipient_id": "user_1"}}]',
        '{"recipient_id": "user_1"}',
    ],
)
def test_a_call_that_was_refused_is_told_as_one_would_write_it(said: str) -> None:
    refused = {
        "at": BEGUN,
        "place": "find",
        "violation": "no_provenance",
        "message": "m",
        "said": said,
        "tool": "send_message",
    }
    view = chain(steps=[step("find", "find", violations=[refused])])
    (line,) = [line for line in tell(view) if line.tone == "broken"]
    assert line.text.endswith(":")
    assert line.struck == 'send_message(recipient_id="user_1")'


def test_words_and_the_native_calls_behind_them_are_told_apart() -> None:
    said = 'Here\nyou are.\n{"name": "a", "arguments": "{}"}\n{"name": "b", "arguments": {"x": 1}}'
    assert model_words(said, "b") == "“Here you are.”, a(), b(x=1)"


def test_words_that_are_no_call_are_told_in_quotes() -> None:
    for said in ('{"name": 1}', "I sent it.", '{"name": "x", "arguments": "y"}', '{"a": 1}'):
        refused = {
            "at": BEGUN,
            "place": "find",
            "violation": "no_provenance",
            "message": "m",
            "said": said,
        }
        view = chain(steps=[step("find", "find", violations=[refused])])
        (line,) = [line for line in tell(view) if line.tone == "broken"]
        assert line.struck == f"“{said}”"


def test_a_call_whose_tool_is_only_asked_whether_it_happened_does_not_run_again() -> None:
    rest = {"until": None, "why": "its worker died"}
    current = {"step_id": "find", "tool": "t", "index": 0, "waiting_for": None}
    for reconcile, text in ((False, "runs again"), (True, "its tool is asked whether it happened")):
        resting = {**rest, "reconcile": reconcile}
        view = chain(status="executing", current={**current, "resting": resting})
        last = tell(view)[-1]
        assert (last.text, last.note) == (f"{text} when the chain continues", "its worker died")


def test_a_chain_that_was_cancelled_says_by_whom_and_why() -> None:
    assert lines(chain(status="cancelled", stopped="by ann: too late"))[-1] == (
        "chain",
        "never",
        "cancelled, by ann: too late",
    )


def test_h1_a_call_that_hooks_changed_is_told_as_it_was_asked_for_and_as_it_ran() -> None:
    receipt = {"success": True, "next_action": "continue"}
    done = action("a.1", "send_message", {"text": "HELLO"}, receipt) | {"ran": {"text": "hello"}}
    view = chain(steps=[step("a", "send_message", actions=[done])])
    assert lines(view)[1:3] == [
        ("call", "running", 'send_message(text="HELLO")'),
        ("call", "corrected", 'ran as send_message(text="hello")'),
    ]


SENT = {"action_id": "c1.send.1", "tool": "send", "says": 'Sent "x"', "at": BEGUN, "by": "ann"}
LEFT = {"tool": "pay", "says": "Pay", "why": "in_doubt", "message": "who knows"}
OPEN = {"tool": "pay", "says": "Pay", "why": "left_out", "message": "it does not rain"}
NOTHING = ("not_done", "Nothing was sent, changed or deleted.", "")
DEEDS = (("deed", 'Done: Sent "x"', "send.1, by ann"),)
WORDS = (
    ("words", "I sent it.", ""),
    ("words", "", ""),
    ("words", '\u25c6 Done: Paid "x"', ""),
)


@pytest.mark.parametrize(
    ("more", "shown"),
    [
        ({}, (*WORDS, *DEEDS)),
        ({"deeds": []}, (*WORDS, NOTHING)),
        (
            {"not_done": [LEFT]},
            (*DEEDS, ("not_done", "Not done: Pay", "in doubt: who knows"), *WORDS),
        ),
        (
            {"not_done": [OPEN]},
            (*DEEDS, ("not_done", "Not done: Pay", "left out: it does not rain"), *WORDS),
        ),
        (
            {"not_done": [OPEN | {"message": ""}]},
            (*DEEDS, ("not_done", "Not done: Pay", "left out"), *WORDS),
        ),
    ],
)
def test_f1_words_and_deeds_are_shown_apart_and_deeds_first_when_they_differ(
    more: JsonObject, shown: tuple[Any, ...]
) -> None:
    answer = {"text": 'I sent it.\n\n\u25c6 Done: Paid "x"', "deeds": [SENT], **more}
    found = answer_lines(chain(status="completed", answer=answer))
    assert tuple((line.tone, line.text, line.note) for line in found) == shown


@pytest.mark.parametrize(("why", "said"), [("failed", True), ("denied", True), ("in_doubt", False)])
def test_f1_that_nothing_happened_is_said_only_where_it_is_known(why: str, said: bool) -> None:
    lost = {"tool": "send_message", "says": "Send", "why": why}
    view = chain(status="failed", answer={"text": "No.", "not_done": [lost]})
    assert (NOTHING[1] in told(lines(view), "not_done")) is said


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("line\nbreak", "line\\nbreak"),
        ("\u202eetirw", "\\u202eetirw"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\ud800", "\\ud800"),
        (
            "four\u3164\u034f\u00a0\U000e0100\u2800blanks",
            "four\\u3164\\u034f\\xa0\\U000e0100\\u2800blanks",
        ),
        ("Zoë ✓", "Zoë ✓"),
    ],
)
def test_what_a_terminal_would_obey_or_hide_is_written_out(hostile: str, shown: str) -> None:
    assert spelt_out(hostile) == shown
    asked = request() | {"question": hostile, "options": [{"id": "1", "title": hostile}]}
    dropped = [{"tool": hostile, "reason": hostile, "arguments": {hostile: hostile}}]
    view = chain(
        goal=hostile, never_executed=dropped, requests=[asked | {"step_id": "", "action_id": ""}]
    )
    for terminal in (True, False):
        console = Console(file=io.StringIO(), width=200, force_terminal=terminal, color_system=None)
        print_story(console, view)
        assert isinstance(console.file, io.StringIO)
        assert all(c.isprintable() or c == "\n" for c in console.file.getvalue())


def test_c6_the_card_of_an_escalation_says_where_a_value_has_to_come_from() -> None:
    message = "The id of open must not be made up: it is taken from find.id."
    strike = {"place": "a", "thought_id": "t", "violation": "no_provenance", "message": message}
    case = request() | {"kind": "escalation", "options": [], "strikes": [strike, strike]}
    shown = list(details(RequestView.model_validate(case)))
    assert f"wrong:    used a value with no known source: {message} (2 times)" in shown


def test_the_tree_of_a_root_has_who_works_there_how_far_and_what_is_asked() -> None:
    asked = {**request(), "id": "c1~react-1~react-1.r1", "path": ["desk", "junior"]}
    junior = {
        "id": "c1~react-1~react-1",
        "status": "awaiting_input",
        "goal": "Ask",
        "agent": "junior",
    }
    clerk = {"id": "c1~react-1~react-2", "status": "planning", "goal": "Type", "agent": "clerk"}
    below = [{**junior, "requests": [asked]}, clerk]
    skill = {
        "id": "c1~react-1",
        "status": "executing",
        "goal": "tell-all: Tells all.",
        "children": below,
    }
    handed = {**action("find.1", "tell-all", {}), "child": "c1~react-1"}
    view = chain(children=[skill], steps=[step("find", "tell-all", actions=[handed])])
    assert list(tree(view)) == [
        "tell-all  executing  c1~react-1",
        "  junior  awaiting input  c1~react-1~react-1",
        "  clerk  planning  c1~react-1~react-2",
    ]
    (stop,) = (line for line in tell(view) if line.tone == "stop")
    assert stop.text == "Which 'John' do you mean?"
    assert "asked by: desk > junior" in stop.more


def test_of_steps_side_by_side_each_is_told_as_a_whole() -> None:
    receipt = {"success": True, "next_action": "continue"}
    steps = [
        step(
            name,
            name,
            "completed",
            started_at=after(begun),
            ended_at=after(begun + 2),
            actions=[action(f"{name}.1", "look", {}, receipt, at=begun + 1)],
        )
        for name, begun in (("a", 0), ("b", 0.2))
    ]
    asked = request({"decision": "none"}) | {"step_id": "a", "action_id": "c1.a.1"}
    asked |= {"asked_at": after(1.3), "closed_at": after(1.4)}
    view = chain(steps=steps, requests=[asked])
    story = [(line.step_id, line.tone) for line in tell(view)]
    ended = ["running", "running", "stop", "choice", "done", "done"]
    assert story == [("a", tone) for tone in ended] + [
        ("b", tone) for tone in ("running", "running", "done", "done")
    ]
