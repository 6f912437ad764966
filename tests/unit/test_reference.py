"""The reference is what the code says: every setting, command, route, key and event is in it."""

import pytest

from tests.reference.pages import FOLDER, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_the_reference_is_what_the_code_says(name: str) -> None:
    assert (FOLDER / name).read_text() == PAGES[name](), "stale: run `make reference`"


@pytest.mark.parametrize("name", PAGES)
def test_everything_in_the_reference_has_a_meaning(name: str) -> None:
    lines = (FOLDER / name).read_text().splitlines()
    assert name == "http.md" or [line for line in lines if line.endswith("|  |")] == []
