"""The picture on terminals of several widths, and the lines in a pipe."""

import io
import re

import pytest
from rich.console import Console

from haltpoint.cli.render.picture import Teller, print_story
from haltpoint.contracts.views.chains import ChainView
from tests.unit.cli.chains import chain, completed, failed, stopped

VIEWS = [chain(), stopped(), completed(), failed()]


def drawn(view: ChainView, width: int) -> str:
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=True,
        color_system=None,
        legacy_windows=False,
    )
    print_story(console, view)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [40, 50, 80, 160])
@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.status)
def test_nothing_is_wider_than_the_terminal(view: ChainView, width: int) -> None:
    assert all(len(line) <= width for line in drawn(view, width).splitlines())


@pytest.mark.parametrize("width", [50, 80])
def test_a_stop_is_in_a_box_with_all_options(width: int) -> None:
    text = drawn(stopped(), width)
    assert "STOP" in text
    for words in (
        "Which 'John' do you mean?",
        "John Doe",
        "John Smith",
        "Jonathan Lee",
        "never executed",
    ):
        assert words in text


def test_a_pipe_gets_each_line_once_and_no_control_characters() -> None:
    console = Console(file=io.StringIO(), width=1000)
    shown = Teller(console)
    for view in (chain(), stopped(), stopped(), completed(), completed()):
        shown.show(view)
    shown.close()
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text)
    lines = [line[8:] for line in text.splitlines()[1:]]
    assert len(lines) == len(set(lines))
    assert lines[:2] == [
        "▸ Find the contact  (needs lookup_contacts)",
        '  ▸ lookup_contacts(query="John")',
    ]
    assert (
        '  ⊘ never executed: send_message(recipient_id="user_123")  (a person was asked first)'
        in lines
    )
    assert lines[-1].startswith("✓ completed")


def test_a_terminal_gets_a_picture_that_stays_at_the_end() -> None:
    console = Console(
        file=io.StringIO(), width=80, height=12, force_terminal=True, color_system=None
    )
    shown = Teller(console)
    shown.show(stopped())
    shown.close()
    assert isinstance(console.file, io.StringIO)
    asked = console.file.getvalue()
    shown.show(completed())
    shown.close()
    text = console.file.getvalue()
    assert "✓ completed" in text
    assert "⠋" not in text[text.index("✓ completed") :]
    after = text[len(asked) :]
    assert "→ John Doe  (user_abc123)" in after
    assert "STOP" not in after  # what stands above is not said again
