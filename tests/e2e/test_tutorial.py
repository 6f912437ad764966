"""The tutorial does what it prints: the pages that need one system; all are in tests/stories."""

from pathlib import Path

from tests.e2e.tutorial import PAGES, follow


def test_the_first_pages_of_the_tutorial_do_what_they_print(tmp_path: Path) -> None:
    follow(PAGES[:5], tmp_path)
