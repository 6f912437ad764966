"""Whatever people are called: what always holds when somebody is looked up."""

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from haltpoint.examples.contacts.matching import LEAST, Contact, find, must_ask, plain

TODAY = date(2026, 11, 20)
WORDS = st.text(alphabet="aábcdeøJNñ'-. ßİ", min_size=1, max_size=8)
CONTACTS = st.builds(
    Contact,
    id=st.uuids().map(str),
    name=st.lists(WORDS, min_size=1, max_size=3).map(" ".join),
    nickname=st.just("") | WORDS,
    email=st.just("") | WORDS.map(lambda word: f"{word}@example.com"),
    phone=st.sampled_from(["", "+1"]),
    last_contact=st.none() | st.integers(0, 90).map(lambda days: TODAY - timedelta(days=days)),
)
BOOKS = st.lists(CONTACTS, max_size=12, unique_by=lambda contact: contact.id)


@given(BOOKS, st.text(max_size=12) | WORDS)
def test_confidences_fall_and_stay_in_bounds(book: list[Contact], query: str) -> None:
    confidences = [found.confidence for found in find(book, query, TODAY)]
    assert confidences == sorted(confidences, reverse=True)
    assert all(LEAST <= confidence <= 1 for confidence in confidences)


@given(BOOKS, WORDS)
def test_the_order_of_the_book_does_not_matter(book: list[Contact], query: str) -> None:
    assert find(book, query, TODAY) == find(book[::-1], query, TODAY)


@given(BOOKS, WORDS)
def test_case_and_accents_of_the_query_do_not_matter(book: list[Contact], query: str) -> None:
    assert find(book, query, TODAY) == find(book, plain(query).upper(), TODAY)


@given(BOOKS, CONTACTS)
def test_who_is_called_by_the_whole_name_is_found(book: list[Contact], contact: Contact) -> None:
    found = find([*book, contact], contact.name, TODAY)
    letters = plain(contact.name)
    assert (contact.id in {one.contact.id for one in found}) == bool(letters)
    if len(letters) > 1:
        assert found[0].confidence >= 0.95


@given(BOOKS, WORDS)
def test_two_of_the_same_kind_are_always_a_question(book: list[Contact], query: str) -> None:
    found = find(book, query, TODAY)
    if len(found) > 1 and found[0].rule is found[1].rule:
        assert must_ask(found)


@given(st.text())
def test_plain_is_plain(text: str) -> None:
    assert plain(plain(text)) == plain(text)
    assert plain(text) == plain(text).strip()
