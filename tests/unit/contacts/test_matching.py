"""The rules of the example, with values worked out by hand from the table in `matching`."""

from datetime import date

import pytest

from haltpoint.examples.contacts.matching import MOST_OPTIONS, Contact, Rule, find, must_ask, plain

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


@pytest.mark.parametrize("query", ["Zorgblort", "Jhon", "Mary", "John Roe", "Doe Smith", "", "  ", "?!"])
def test_nobody_is_meant(query: str) -> None:
    assert find([BARE], query, TODAY) == []


@pytest.mark.parametrize(
    ("phone", "last", "confidence"),
    [
        ("", None, 0.80),
        ("+1 555", None, 0.85),
        ("", date(2026, 11, 19), 0.90),
        ("+1 555", date(2026, 11, 19), 0.95),
        ("", date(2026, 10, 21), 0.90),  # thirty days ago
        ("", date(2026, 10, 20), 0.80),  # thirty-one
    ],
)
def test_recent_and_complete_entries_are_likelier(phone: str, last: date | None, confidence: float) -> None:
    person = Contact("u", "Jane Smith", email="js@example.com", phone=phone, last_contact=last)
    assert only(person, "jane") == (Rule.PREFIX, confidence)


def test_no_confidence_is_above_one() -> None:
    person = Contact("u", "Jane Smith", email="js@example.com", phone="+1", last_contact=TODAY)
    assert only(person, "Jane Smith") == (Rule.EXACT, 1.0)  # 0.95 + 0.10 + 0.05 = 1.10


def test_a_nickname_is_a_name() -> None:
    person = Contact("u", "Jonathan Lee", nickname="Jon")
    assert only(person, "jon") == (Rule.EXACT, 0.95)
    assert only(person, "John") == (Rule.CLOSE_SPELLING, 0.40)


@pytest.mark.parametrize("query", ["J", "d", "j."])
def test_an_initial_counts_for_little(query: str) -> None:
    assert only(BARE, query) == (Rule.CLOSE_SPELLING, 0.40)


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
    return [Contact(f"u{n}", f"Kim {n:02}", last_contact=last) for n, last in enumerate(last_contacts)]


def test_two_who_are_too_close_are_a_question() -> None:
    assert must_ask(find(people(None, TODAY), "Kim", TODAY))  # 0.90 and 0.80


def test_a_clear_lead_is_none() -> None:
    clear = find([Contact("a", "Jan"), Contact("b", "Anjana")], "jan", TODAY)
    assert [one.confidence for one in clear] == [0.95, 0.60]
    assert not must_ask(clear)


def test_a_lead_of_exactly_the_limit_is_clear() -> None:
    at_limit = find([Contact("a", "Jan Berg"), Contact("b", "Anjana")], "jan", TODAY)
    assert [one.confidence for one in at_limit] == [0.80, 0.60]
    assert not must_ask(at_limit)


def test_a_single_unsure_match_is_a_question() -> None:
    assert must_ask(find([Contact("a", "Jon")], "John", TODAY))  # 0.40
    assert not must_ask(find([Contact("a", "Anjana")], "jan", TODAY))  # 0.60


def test_nobody_is_no_question() -> None:
    assert not must_ask([])


def test_the_likeliest_comes_first_and_equals_come_by_name() -> None:
    found = find(people(None, None, TODAY), "Kim", TODAY)
    assert [one.contact.id for one in found] == ["u2", "u0", "u1"]
    assert MOST_OPTIONS == 5
