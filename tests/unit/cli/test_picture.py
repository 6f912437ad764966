"""The picture on terminals of several widths, and the lines in a pipe."""

import io
import re
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from haltpoint.cli.render.picture import Lines, Picture, picture, teller
from tests.unit.cli.chains import action, after, chain, completed, doubted_twice, failed, step, stopped

VIEWS = [chain(), stopped(), completed(), failed()]


def drawn(view: object, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None, legacy_windows=False)
    console.print(picture(view))  # type: ignore[arg-type]
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [40, 50, 80, 160])
@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.status)
def test_nothing_is_wider_than_the_terminal(view: object, width: int) -> None:
    assert all(len(line) <= width for line in drawn(view, width).splitlines())


def test_the_time_of_a_chain_runs_until_it_ends() -> None:
    begun = datetime.now(UTC) - timedelta(minutes=5)
    times = {"created_at": begun, "updated_at": begun + timedelta(seconds=1)}
    assert drawn(chain(**times), 80).splitlines()[0].rstrip().endswith("5 min")
    assert drawn(completed().model_copy(update=times), 80).splitlines()[0].rstrip().endswith("1.0 s")


@pytest.mark.parametrize("width", [50, 80])
def test_a_stop_is_in_a_box_with_all_options(width: int) -> None:
    text = drawn(stopped(), width)
    assert "STOP" in text
    for words in ("Which 'John' do you mean?", "John Doe", "John Smith", "Jonathan Lee", "never executed"):
        assert words in text


def test_a_pipe_gets_each_line_once_and_no_control_characters() -> None:
    console = Console(file=io.StringIO(), width=80)
    shown = teller(console)
    assert isinstance(shown, Lines)
    for view in (chain(), stopped(), stopped(), completed(), completed()):
        shown.show(view)
    shown.close()
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text)
    lines = [line[9:] for line in text.splitlines()[1:]]
    assert len(lines) == len(set(lines))
    assert lines[:2] == ["▸ Find the contact  (needs lookup_contacts)", '  ▸ lookup_contacts(query="John")']
    assert '  ⊘ never executed: send_message(recipient_id="user_123")  (a question was open)' in lines
    assert lines[-1].startswith("✓ completed")


@pytest.mark.parametrize("width", [60, 80])
def test_in_a_pipe_a_question_is_wrapped_and_other_lines_are_whole(width: int) -> None:
    console = Console(file=io.StringIO(), width=width)
    asked = stopped()
    [request] = asked.requests
    Lines(console).show(
        asked.model_copy(update={"requests": [request.model_copy(update={"question": "Which? " * 30})]})
    )
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    [first] = [place for place, line in enumerate(lines) if "■ STOP" in line]
    assert len(lines[first]) <= width
    assert lines[first + 1].startswith(" " * 13 + "Which?")
    assert max(len(line) for line in lines if "never executed" in line) > 60


def test_a_chain_that_is_told_afterwards_bears_the_times_at_which_it_all_happened() -> None:
    console = Console(file=io.StringIO(), width=80)
    Lines(console).show(doubted_twice())
    assert isinstance(console.file, io.StringIO)
    assert [line.split()[0] for line in console.file.getvalue().splitlines()[1:]] == [
        *("0.5", "1.0", "6.0", "6.0", "20.0", "26.0", "26.0", "31.0", "32.0", "33.0", "37.0"),
    ]


def test_a_rest_has_its_own_time_and_a_result_is_told_when_the_chain_has_taken_it() -> None:
    console = Console(file=io.StringIO(), width=80)
    shown, call = Lines(console), action("find.1", "lookup_contacts", {"query": "John"})
    failed = {"success": False, "next_action": "error", "error": {"error_type": "SERVER", "message": "down"}}
    untaken = {**call, "receipt": failed, "status": "done"}
    resting = {"step_id": "find", "index": 0, "resting": {"until": after(14), "why": "down"}}
    shown.show(chain(steps=[step("find", "lookup_contacts", actions=[untaken])]))
    shown.show(chain(steps=[step("find", "lookup_contacts", actions=[call])], current=resting, updated_at=after(13)))
    shown.show(chain(steps=[step("find", "lookup_contacts", actions=[{**untaken, "ended_at": after(15)}])]))
    assert isinstance(console.file, io.StringIO)
    rows = [line.split() for line in console.file.getvalue().splitlines()[1:]]
    assert [(row[0], row[3]) for row in rows[2:]] == [("13.0", "runs"), ("15.0", "lookup_contacts:")]


def test_the_same_line_is_told_twice_when_it_happened_twice() -> None:
    console = Console(file=io.StringIO(), width=80)
    never = {"tool": "send_message", "arguments": {}, "reason": "one action per turn"}
    shown = Lines(console)
    shown.show(chain(never_executed=[never]))
    shown.show(chain(never_executed=[never, never]))
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().count("never executed") == 2


def test_a_terminal_gets_a_picture_that_stays_at_the_end() -> None:
    console = Console(file=io.StringIO(), width=80, height=12, force_terminal=True, color_system=None)
    shown = teller(console)
    assert isinstance(shown, Picture)
    shown.show(stopped())
    with shown.pause():
        assert isinstance(console.file, io.StringIO)
        asked = console.file.getvalue()
    shown.show(completed())
    shown.close()
    text = console.file.getvalue()
    assert text.rstrip().endswith("1 call never executed")
    after = text[len(asked) :]
    assert "→ John Doe  (user_abc123)" in after
    assert "STOP" not in after  # what stands above is not said again
