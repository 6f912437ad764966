"""What is told of a chain, and that nothing a model writes can do more than be read."""

from typing import Any

import pytest

from haltpoint.cli.render.lines import Mark, outcome
from haltpoint.cli.render.story import answer_lines, bounds_lines, elapsed, never_executed, receipts, tell
from haltpoint.cli.render.tree import tree
from haltpoint.cli.wording import call, visible
from haltpoint.contracts.views.chains import ChainView, RequestView
from haltpoint.contracts.work.bounds import Bound, ChainBounds, SaidBy
from tests.unit.cli.chains import (
    BEGUN,
    action,
    careless,
    chain,
    completed,
    doubted_twice,
    failed,
    request,
    step,
    stopped,
)


def told(view_marks: list[tuple[int, Mark, str]], mark: Mark) -> list[str]:
    return [text for _, one, text in view_marks if one is mark]


def lines(view: object) -> list[tuple[int, Mark, str]]:
    return [(line.depth, line.mark, line.text) for line in tell(view)]  # type: ignore[arg-type]


def test_a_stop_shows_the_question_its_options_and_what_never_ran() -> None:
    assert lines(stopped()) == [
        (0, Mark.RUNNING, "Find the contact"),
        (1, Mark.RUNNING, 'lookup_contacts(query="John")'),
        (1, Mark.STOP, "STOP  Which 'John' do you mean?"),
        (2, Mark.OPTION, "1  John Doe       95%  john.doe@example.com"),
        (2, Mark.OPTION, "2  John Smith     85%  jsmith@example.com"),
        (2, Mark.OPTION, "3  Jonathan Lee   45%  jon.lee@example.com"),
        (1, Mark.NEVER, 'never executed: send_message(recipient_id="user_123")'),
        (0, Mark.PENDING, "Send the message"),
    ]
    never = next(line for line in tell(stopped()) if line.mark is Mark.NEVER)
    assert never.note == "a question was open"


def test_a_completed_chain_shows_the_choice_the_receipts_and_the_answer() -> None:
    story = lines(completed())
    assert told(story, Mark.CHOICE) == ["John Doe  (user_abc123)"]
    assert told(story, Mark.DONE) == [
        'lookup_contacts: contact_id="user_abc123"',
        "find completed",
        'send_message: message_id="m1"',
        "send completed",
        "completed",
    ]
    assert told(story, Mark.WORDS) == ["I told John Doe."]
    assert tell(completed())[-1].note == "1.2 s · 2 actions · 2 turns · 1 question · 1 call never executed"


def test_i1_the_story_of_a_routed_task_begins_with_whom_it_goes_to_and_why() -> None:
    routed = {"reasoning": "the rule vip fits", "confidence": 1.0, "strategy": "rule", "timestamp": BEGUN}
    first, *_ = tell(chain(routed={**routed, "target_agent": "billing", "rule": "vip"}))
    assert (first.mark, first.text, first.note) == (Mark.CHOICE, "billing (rule)", "the rule vip fits")
    first, *_ = tell(chain(routed={**routed, "target_agent": "hr", "by": "ann"}))
    assert first.text == "hr (by ann)"
    first, *_ = tell(chain(routed=routed))
    assert first.text == "the agent without a name (rule)"


def test_a_step_is_told_in_the_order_in_which_it_happened() -> None:
    assert lines(careless())[1:-2] == [
        (1, Mark.RUNNING, 'lookup_contacts(query="Jane")'),
        (1, Mark.DONE, 'lookup_contacts: contact_id="user_jan001"'),
        (1, Mark.NEVER, 'never executed: send_message(recipient_id="user_123")'),
        (1, Mark.BROKEN, "used a value with no known source"),
        (1, Mark.CORRECTED, "corrected: It is made up. Call lookup_contacts first."),
        (1, Mark.RUNNING, 'send_message(recipient_id="user_jan001")'),
        (1, Mark.DONE, "send_message: ok"),
    ]


def test_a_violation_of_a_literal_step_is_told_too() -> None:
    broken = {"at": BEGUN, "place": "a", "violation": "bad_arguments", "message": "They are wrong."}
    view = chain(steps=[step("a", "send_message", violations=[broken])])
    assert lines(view)[1:] == [(1, Mark.BROKEN, "called a tool with invalid arguments")]


def test_an_action_that_was_in_doubt_twice_is_told_with_each_answer_below_its_question() -> None:
    assert [mark for _, mark, _ in lines(doubted_twice())] == [
        *(Mark.RUNNING, Mark.RUNNING),
        *(Mark.STOP, Mark.OPTION, Mark.CHOICE),
        *(Mark.STOP, Mark.OPTION, Mark.CHOICE),
        *(Mark.DONE, Mark.DONE, Mark.DONE),
    ]
    assert told(lines(doubted_twice()), Mark.CHOICE) == ["not happened", 'happened: {"message_id": "m1"}']


def test_a_failed_chain_says_why() -> None:
    story = lines(failed())
    assert told(story, Mark.FAILED) == [
        "lookup_contacts: NOT_FOUND: Nobody is called 'Zorgblort'. Check the spelling.",
        "find failed",
        "failed: HP-205 Nobody is called 'Zorgblort'.",
    ]


def test_c8_a_chain_that_waits_for_calls_after_a_failure_has_no_last_line_yet() -> None:
    steps = [step("a", "lookup_contacts", status="failed"), step("b", "send_message")]
    story = lines(chain(error={"code": "HP-204", "message": "no"}, steps=steps))
    assert story[-2:] == [(0, Mark.FAILED, "a failed"), (0, Mark.RUNNING, "b")]


def test_an_error_and_its_suggestion_are_two_sentences() -> None:
    error = {"error_type": "TIMEOUT", "message": "slow did not end within 1 s", "suggestion": "Try again later."}
    receipt = {"success": False, "next_action": "error", "error": error}
    view = chain(steps=[step("a", "slow", actions=[action("a.1", "slow", {}, receipt)])])
    assert told(lines(view), Mark.FAILED) == ["slow: TIMEOUT: slow did not end within 1 s. Try again later."]


def test_a_chain_that_was_cancelled_says_by_whom_and_why() -> None:
    assert lines(chain(status="cancelled", stopped="by ann: too late"))[-1] == (
        0,
        Mark.NEVER,
        "cancelled, by ann: too late",
    )


def test_a_receipt_says_which_hooks_changed_the_call() -> None:
    hooks = [{"name": "m:allows", "verdict": "allow"}, {"name": "m:moves", "verdict": "modify"}]
    for took, note in ((0, "changed by m:moves"), (12, "12 ms, changed by m:moves")):
        receipt = {"success": True, "next_action": "continue", "metadata": {"duration_ms": took, "hooks": hooks}}
        view = chain(steps=[step("a", "send_message", actions=[action("a.1", "send_message", {}, receipt)])])
        (line,) = [line for line in tell(view) if line.mark is Mark.DONE]
        assert (line.text, line.note) == ("send_message: ok", note)


def test_h1_a_call_that_hooks_changed_is_told_as_it_was_asked_for_and_as_it_ran() -> None:
    receipt = {"success": True, "next_action": "continue"}
    done = action("a.1", "send_message", {"text": "HELLO"}, receipt) | {"ran": {"text": "hello"}}
    view = chain(steps=[step("a", "send_message", actions=[done])])
    assert lines(view)[1:3] == [
        (1, Mark.RUNNING, 'send_message(text="HELLO")'),
        (2, Mark.OPTION, 'ran as send_message(text="hello")'),
    ]


@pytest.mark.parametrize("violation", ["unfounded_end", "no_call"])
def test_what_the_model_was_told_is_told_whole(violation: str) -> None:
    said = "Step 'a. b' is not complete. Call it. The words are (pattern x)."
    broken = {"at": BEGUN, "place": "plan", "violation": violation, "message": said, "correction": said}
    assert (1, Mark.CORRECTED, f"corrected: {said}") in lines(chain(violations=[broken]))


def test_a_call_that_belongs_to_no_step_is_told_too() -> None:
    view = chain(never_executed=[{"tool": "send_message", "call": 1, "reason": "cancelled", "arguments": {}}])
    assert lines(view) == [(0, Mark.NEVER, "never executed: send_message()")]


def test_of_arguments_that_the_log_keeps_in_part_only_the_tool_is_told() -> None:
    item = {"tool": "send_message", "call": 1, "reason": "cancelled", "arguments": '{"content":"aaaa'}
    assert never_executed(chain(never_executed=[item])) == [("send_message(…)", "cancelled")]


def test_what_never_ran_is_told_with_what_it_would_have_said() -> None:
    assert never_executed(stopped()) == [('send_message(recipient_id="user_123")', "a question was open")]


def test_each_call_that_never_ran_is_told_once() -> None:
    view = stopped()
    assert sum(line.mark is Mark.NEVER for line in tell(view)) == len(view.never_executed)


def test_a_tool_that_nobody_serves_is_told_once_with_the_command_that_helps() -> None:
    def waiting(seconds: float) -> ChainView:
        missing = {"code": "HP-102", "queue": "contacts", "seconds": seconds, "message": "m", "hint": "Start one: x"}
        current = {"step_id": "find", "tool": "lookup_contacts", "index": 0, "waiting_for": missing}
        return chain(steps=[step("find", "lookup_contacts")], current=current)

    (line,) = [line for line in tell(waiting(31.0)) if line.mark is Mark.MISSING]
    assert (line.text, line.note) == ('HP-102 no worker serves the queue "contacts"', "Start one: x")
    assert line in tell(waiting(99.0))


SENT = {"action_id": "c1.send.1", "tool": "send", "says": 'Sent "x"', "at": BEGUN, "by": "ann"}
LEFT = {"tool": "pay", "says": "Pay", "why": "in_doubt", "message": "who knows"}
OPEN = {"tool": "pay", "says": "Pay", "why": "left_out", "message": "it does not rain"}
NOTHING = (Mark.NOT_DONE, "Nothing was sent, changed or deleted.", "")
DEEDS = ((Mark.DEED, 'Done: Sent "x"', "send.1, by ann"),)
WORDS = ((Mark.WORDS, "I sent it.", ""), (Mark.WORDS, '\u25c6 Done: Paid "x"', ""))


@pytest.mark.parametrize(
    ("more", "shown"),
    [
        ({}, (*WORDS, *DEEDS)),
        ({"deeds": []}, (*WORDS, NOTHING)),
        ({"not_done": [LEFT]}, (*DEEDS, (Mark.NOT_DONE, "Not done: Pay", "in doubt: who knows"), *WORDS)),
        ({"not_done": [LEFT | {"message": ""}]}, (*DEEDS, (Mark.NOT_DONE, "Not done: Pay", "in doubt"), *WORDS)),
        ({"not_done": [OPEN]}, (*DEEDS, (Mark.NOT_DONE, "Not done: Pay", "left out: it does not rain"), *WORDS)),
        ({"not_done": [OPEN | {"message": ""}]}, (*DEEDS, (Mark.NOT_DONE, "Not done: Pay", "left out"), *WORDS)),
    ],
)
def test_f1_words_and_deeds_are_shown_apart_and_deeds_first_when_they_differ(
    more: dict[str, Any], shown: tuple[Any, ...]
) -> None:
    answer = {"text": 'I sent it.\n\n\u25c6 Done: Paid "x"', "deeds": [SENT], **more}
    found = answer_lines(chain(status="completed", answer=answer))
    assert tuple((line.mark, line.text, line.note) for line in found) == shown


@pytest.mark.parametrize(("why", "said"), [("failed", True), ("denied", True), ("in_doubt", False)])
def test_f1_that_nothing_happened_is_said_only_where_it_is_known(why: str, said: bool) -> None:
    lost = {"tool": "send_message", "says": "Send", "why": why}
    view = chain(status="failed", answer={"text": "No.", "not_done": [lost]})
    assert (NOTHING[1] in told(lines(view), Mark.NOT_DONE)) is said


@pytest.mark.parametrize(("status", "words"), [("expired", "has expired"), ("withdrawn", "was withdrawn")])
def test_a_question_without_an_answer_says_how_it_was_closed(status: str, words: str) -> None:
    view = chain(steps=[step("find", "lookup_contacts")], requests=[{**request(), "action_id": "", "status": status}])
    assert told(lines(view), Mark.FAILED) == [f"the question {words}"]


def test_receipts_are_named_by_their_action() -> None:
    assert receipts(completed()) == [
        ("find.1", "lookup_contacts", 'contact_id="user_abc123"'),
        ("send.1", "send_message", 'message_id="m1"'),
    ]
    assert receipts(stopped()) == []


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2Jgone", "\\u{1b}[2Jgone"),
        ("line\nbreak", "line\\u{a}break"),
        ("\u202eetirw", "\\u{202e}etirw"),
        ("zero\u200bwidth", "zero\\u{200b}width"),
        ("\ud800", "\\u{d800}"),
        ("Zoë ✓", "Zoë ✓"),
    ],
)
def test_what_a_terminal_would_obey_or_hide_is_written_out(hostile: str, shown: str) -> None:
    assert visible(hostile) == shown
    view = chain(goal=hostile, never_executed=[{"tool": hostile, "reason": hostile}])
    assert all(c.isprintable() for line in tell(view) for c in line.text + line.note)


def test_long_values_are_cut() -> None:
    assert call("send", {"content": "x" * 100}, width=10) == 'send(content="xxxxxxxx…)'


def test_long_times_are_told_in_minutes() -> None:
    view = chain()
    assert elapsed(view) == "1.2 s"
    assert elapsed(view.model_copy(update={"updated_at": view.created_at.replace(hour=10)})) == "60 min"


def test_c12_what_a_goal_asks_of_tools_is_told_with_whose_word_it_is() -> None:
    bounds = ChainBounds(
        required_tools=(Bound(by=SaidBy.GOAL, tools=("send_message", "call")),),
        ask_before=(Bound(by=SaidBy.PATTERN, tools=("*",), words='"ask me"', pattern="ask-first"),),
        conditions=(Bound(by=SaidBy.GOAL, words="only if he is late"),),
    )

    assert list(bounds_lines(bounds)) == [
        "required tools: send_message or call (goal)",
        'ask before: * "ask me" (pattern)',
        "conditions: only if he is late (goal)",
    ]


def test_the_tree_of_a_root_has_who_works_there_how_far_and_what_is_asked() -> None:
    asked = {**request(), "id": "c1~react-1~react-1.r1", "path": ["desk", "junior"]}
    junior = {"id": "c1~react-1~react-1", "status": "awaiting_input", "goal": "Ask", "agent": "junior"}
    clerk = {"id": "c1~react-1~react-2", "status": "planning", "goal": "Type", "agent": "clerk"}
    below = [{**junior, "requests": [asked]}, clerk]
    skill = {"id": "c1~react-1", "status": "executing", "goal": "tell-all: Tells all.", "children": below}
    handed = {**action("find.1", "tell-all", {}), "child": "c1~react-1"}
    view = chain(children=[skill], steps=[step("find", "tell-all", actions=[handed])])
    assert list(tree(view)) == [
        "tell-all  executing  c1~react-1",
        "  junior  awaiting input  c1~react-1~react-1",
        "    asks: Which 'John' do you mean?  c1~react-1~react-1.r1",
        "  clerk  planning  c1~react-1~react-2",
    ]
    texts = [line.text for line in tell(view)]
    assert "STOP  Which 'John' do you mean?" in texts
    assert "asked by: desk > junior" in texts


def test_the_outcome_of_a_question_below_a_root_says_whose_it_was() -> None:
    answered, expired = request({"option_id": "user_abc123"}), {**request(), "status": "expired"}

    def shown(one: dict[str, Any]) -> tuple[str, str]:
        line = outcome(RequestView.model_validate(one))
        assert line is not None
        return line.text, line.note

    below = {"chain_id": "c1~route-1", "path": ["supervisor", "billing"]}
    assert shown(answered)[1] == "by ada"
    assert shown(answered | below)[1] == "to billing, by ada"
    assert shown(answered | {"chain_id": "c1~find-1"})[1] == "to chain c1~find-1, by ada"
    assert shown(expired)[0] == "the question has expired"
    assert shown(expired | below)[0] == "the question of billing has expired"
