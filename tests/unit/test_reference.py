"""The reference is what the code says: every setting, command, route, key and event is in it."""

import re

import pytest

from tests.reference.pages import FOLDER, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_the_reference_is_what_the_code_says(name: str) -> None:
    assert (FOLDER / name).read_text() == PAGES[name](), "stale: run `make reference`"


@pytest.mark.parametrize("name", PAGES)
def test_everything_in_the_reference_has_a_meaning(name: str) -> None:
    lines = (FOLDER / name).read_text().splitlines()
    assert name == "http.md" or [line for line in lines if line.endswith("|  |")] == []


@pytest.mark.parametrize(
    ("kind", "least"),
    [
        (r"^\| `(HALTPOINT_\w+)` ", 50),
        (r"^\| (HP-\d+) ", 60),
        (r"^## (haltpoint [\w -]+)$", 40),
        (r"^## ((?:GET|POST|DELETE) \S+)$", 30),
        (r"^\| `((?:chain|step|contract|action|request)\.\w+)` \| [^`]+ \|$", 20),
    ],
)
def test_each_thing_is_on_one_page_of_the_reference(kind: str, least: int) -> None:
    """Settings, errors, commands, routes and events."""
    found = [
        name
        for page in FOLDER.glob("*.md")
        for name in re.findall(kind, page.read_text(), re.MULTILINE)
    ]
    assert len(set(found)) == len(found) > least
