"""The examples that run by one command, over real processes, with a model that behaves and with one
that does not.
"""

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from examples.cms.site import Site
from tests.e2e.test_examples import told_by

MODELS = ("well-behaved", "careless")


def test_the_site_is_what_was_asked_for_and_less_is_read_by_section(tmp_path: Path) -> None:
    database = tmp_path / "site.db"
    told = told_by("cms", CMS_DATABASE=str(database))
    site = Site(database)
    (hero,) = site.page("opening-hours", None, whole=True).sections
    assert hero.model_dump(include={"type", "heading", "text"}) == {
        "type": "hero", "heading": "We are open", "text": "Daily from ten to five."
    }  # fmt: skip
    assert [one.type for one in site.page("visit", None, whole=False).sections] == ["text"]
    assert site.page("about-us", None, whole=False).sections[0].heading == "Fennick Point"
    assert re.search(
        r"STOP  deleteSection.*Wear good shoes, it is windy.*→ approve", told, re.DOTALL
    )
    tokens = re.search(r"Tokens: (\d+) with include_content, (\d+) with getSectionContent", told)
    assert tokens
    assert int(tokens[2]) < int(tokens[1])


def rows(database: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(database)) as opened:
        return opened.execute(query).fetchall()


def to(agent: str) -> str:
    """The beginning of a decision for an agent."""
    return f'▸ route(target_agent="{agent}"'


def in_order(told: str, *words: str) -> bool:
    """Whether the story says all of this, in this order."""
    return re.search(".*".join(map(re.escape, words)), told, re.DOTALL) is not None


@pytest.mark.parametrize("model", MODELS)
def test_customers_get_what_they_asked_for_from_the_team_whose_work_it_is(
    model: str, tmp_path: Path
) -> None:
    database = tmp_path / "shop.db"
    told = told_by("support", model, SUPPORT_DATABASE=str(database))
    assert rows(database, "SELECT number, state FROM orders ORDER BY number") == [
        ("A-1042", "refunded"), ("B-2077", "in repair")
    ]  # fmt: skip
    assert "» On Saturdays we are open from ten to two." in told
    if model == "well-behaved":
        asked = ("▸ askHuman(", "→ answer: A-1042", "✓ find_order", to("billing"), "✓ route")
        assert in_order(
            told, *asked, "→ answer: B-2077", "✓ find_order", to("technical"), to("general")
        )
        return
    assert "'returns' is not one of" in told
    unsure = "Who works on this: It does not start"
    assert in_order(
        told,
        "with a confidence of 0.3",
        to("billing"),
        unsure,
        to("technical"),
        "with a confidence of 0",
    )


@pytest.mark.parametrize("model", MODELS)
def test_each_task_goes_to_the_worker_who_has_its_day(model: str, tmp_path: Path) -> None:
    database = tmp_path / "calendar.db"
    told = told_by("delegation", model, DELEGATION_DATABASE=str(database))
    entered = rows(
        database, "SELECT day, place, title FROM tasks WHERE key NOT LIKE 'start.%' ORDER BY rowid"
    )
    assert entered == [
        ("Tuesday", 0, "Write the sales report"),
        ("Friday", 1, "Prepare the team meeting"),
        ("later", 1, "Sort the old photos"),
    ]
    if model == "well-behaved":
        asked = (
            "▸ askHuman(",
            "→ answer: Tuesday",
            'look_at_calendar: day="Tuesday"  free_hours=1',
            to("urgent"),
        )
        assert in_order(
            told,
            *asked,
            'look_at_calendar: day="Friday"  free_hours=8',
            to("normal"),
            to("background"),
        )
    else:
        assert in_order(
            told,
            "'secretary' is not one of",
            "with a confidence of 0.2",
            to("urgent"),
            to("normal"),
        )


def test_a_question_for_two_departments_goes_to_both_and_an_unclear_one_is_asked_back() -> None:
    told = told_by("departments", "well-behaved")
    first, second, third = re.split(r"^(?:May I use|Who takes).*$", told, flags=re.MULTILINE)
    assert "» Everyone has 30 days of leave a year." in first
    assert in_order(second, "▸ askHuman(", to("legal"), "» MIT, BSD and Apache")
    assert in_order(third, to("security"), "✓ route", to("hr"))
    assert (
        "» You give your badge to the front desk when you leave. On your last day you "
        "clear your desk"
    ) in third
