"""The tutorial does what it prints, from its first page to its last."""

from pathlib import Path

from tests.e2e.tutorial import PAGES, follow


def test_every_step_of_the_tutorial_does_what_it_prints(tmp_path: Path) -> None:
    assert len(PAGES) == 8
    follow(PAGES, tmp_path)
