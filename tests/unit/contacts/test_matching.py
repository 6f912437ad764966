"""The rules of the example, with values worked out by hand from the table in `matching`."""

from datetime import date

import pytest

from haltpoint.examples.contacts.matching import Contact, Rule, find, must_ask, plain

TODAY = date(2026, 11, 20)
BARE = Contact("u1", "John Doe", email="jd@example.com")


def only(contact: Contact, query: str) -> tuple[Rule, float]:
    (found,) = find([contact], query, TODAY)
    return found.rule, found.confidence


@pytest.mark.parametrize(
    ("query", "rule", "confidence"),
    [
        ("John Doe", Rule.EXACT, 0.95),
        ("jd@example.com", Rule.EXACT, 0.95),
        ("John", Rule.PREFIX, 0.80),
        ("john d", Rule.PREFIX, 0.80),
        ("Doe", Rule.EVERY_WORD, 0.70),
        ("Doe, John", Rule.EVERY_WORD, 0.70),
        ("ohn", Rule.CONTAINS, 0.60),
        ("JD@", Rule.CONTAINS, 0.60),
        ("Jon", Rule.CLOSE_SPELLING, 0.40),  # jon, john: 3 letters in common, 2 * 3 / 7 = 0.857
    ],
)
def test_each_rule_has_its_confidence(query: str, rule: Rule, confidence: float) -> None:
    assert only(BARE, query) == (rule, confidence)


@pytest.mark.parametrize(
    "query", ["Zorgblort", "Jhon", "Mary", "John Roe", "Doe Smith", "", "  ", "?!"]
)
def test_nobody_is_meant(query: str) -> None:
    assert find([BARE], query, TODAY) == []


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("José Álvarez", "jose alvarez"),
        ("Jürgen Groß", "JURGEN GROSS"),
        ("Øyvind Dahl", "oyvind dahl"),
        ("Siobhán O'Connor", "siobhan o connor"),
        ("Yıldız Kaya", "yildiz  kaya"),
        ("Łukasz Żak", "lukasz zak"),
    ],
)
def test_case_accents_and_punctuation_do_not_matter(name: str, query: str) -> None:
    assert only(Contact("u", name), query) == (Rule.EXACT, 0.95)
    assert plain(plain(name)) == plain(name)


def people(*last_contacts: date | None) -> list[Contact]:
    return [
        Contact(f"u{n}", f"Kim {n:02}", last_contact=last) for n, last in enumerate(last_contacts)
    ]


def test_two_who_are_too_close_are_a_question() -> None:
    assert must_ask(find(people(None, TODAY), "Kim", TODAY))  # 0.90 and 0.80


def test_a_lead_of_exactly_the_limit_is_clear() -> None:
    at_limit = find([Contact("a", "Jan Berg"), Contact("b", "Anjana")], "jan", TODAY)
    assert [one.confidence for one in at_limit] == [0.80, 0.60]
    assert not must_ask(at_limit)
