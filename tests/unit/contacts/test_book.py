"""The address book: what its files promise, and what the readers make of files that somebody else wrote."""

from datetime import date
from pathlib import Path

import pytest

from haltpoint.examples.contacts.book import Book, BookError, read_csv, read_vcard
from haltpoint.examples.contacts.matching import Contact, must_ask

BOOK = Book.read()


def ids(query: str) -> list[str]:
    return [found.contact.id for found in BOOK.find(query)]


def test_it_has_a_few_hundred_people_in_both_formats() -> None:
    assert 300 <= len(BOOK.contacts) <= 400
    assert BOOK.today == date(2026, 11, 20)


def test_john_may_be_three_people() -> None:
    found = BOOK.find("John")
    assert [(one.contact.id, one.contact.name, one.contact.email) for one in found] == [
        ("user_abc123", "John Doe", "john.doe@example.com"),
        ("user_def456", "John Smith", "jsmith@example.com"),
        ("user_ghi789", "Jonathan Lee", "jon.lee@example.com"),
    ]
    # prefix + recent + complete, prefix + complete, close spelling (Jon) + complete
    assert [one.confidence for one in found] == [0.95, 0.85, 0.45]
    assert must_ask(found)


def test_jane_is_one_person() -> None:
    assert ids("Jane") == ["user_jan001"]
    assert not must_ask(BOOK.find("Jane"))


def test_zorgblort_is_nobody() -> None:
    assert ids("Zorgblort") == []


def test_a_bare_j_may_be_many_and_none_is_likely() -> None:
    found = BOOK.find("J")
    assert len(found) > 5
    assert all(one.confidence < 0.6 for one in found)
    assert must_ask(found)


def test_a_card_is_read_with_groups_parameters_folding_and_escapes(tmp_path: Path) -> None:
    path = tmp_path / "one.vcf"
    path.write_text(
        "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:u1\r\nFN;CHARSET=UTF-8:Øyvind\r\n  Dahl\r\n"
        "item1.EMAIL;TYPE=work:a@example.com\r\nEMAIL:b@example.com\r\nTEL;VALUE=uri:tel:+47-555\r\n"
        "ORG:Fjord\\, Rederi\\; AS;Bergen\r\nNICKNAME:Oy,Vind\r\nX-LAST-CONTACT:2026-01-02\r\nEND:VCARD\r\n",
        encoding="utf-8",
        newline="",
    )
    assert list(read_vcard(path)) == [
        Contact("u1", "Øyvind Dahl", "Oy", "a@example.com", "+47-555", "Fjord, Rederi; AS", date(2026, 1, 2))
    ]


def test_a_row_may_lack_what_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    path.write_text('id,name,note\nu1,"Doe, John",\nu2,Jane,x\n')
    assert list(read_csv(path)) == [Contact("u1", "Doe, John"), Contact("u2", "Jane")]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", "name\nJohn\n", "no column id"),
        ("a.csv", "id,name\n,John\n", "a.csv:2: a contact needs an id and a name"),
        ("a.csv", "id,name,last_contact\nu1,John,soon\n", "a.csv:2: last contact 'soon'"),
        ("a.csv", "id,name\nu1,John\nu1,Jane\n", "more than one contact has the id u1"),
        ("a.vcf", "FN:John\n", "a.vcf:1: FN outside of a card"),
        ("a.vcf", "BEGIN:VCARD\nFN:John\nUID:u1\n", "the last card has no END"),
        ("a.vcf", "BEGIN:VCARD\nFN:John\nEND:VCARD\n", "a.vcf:3: a contact needs an id and a name"),
    ],
)
def test_a_book_that_cannot_be_read_says_where(tmp_path: Path, name: str, content: str, says: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(BookError, match=says):
        Book.read(tmp_path)


def test_an_empty_folder_is_an_empty_book(tmp_path: Path) -> None:
    assert Book.read(tmp_path).find("John") == []
