"""One table of spellings (C13): what is the same value, and how it is found in words."""

from typing import Any

import pytest

from haltpoint.chain.model.canonical import canonical, folded, form_of, holding


@pytest.mark.parametrize(
    ("written", "also"),
    [
        ("Anna@Example.ORG", "anna@example.org"),
        ("mailto:Anna@example.org", "anna@example.org"),
        ("Anna Smith <Anna@example.org>", "anna@example.org"),
        ("<anna@example.org>", "anna@example.org"),
        ("Example.ORG", "example.org"),
        ("HTTPS://Example.org/Path", "https://example.org/Path"),
        ("https://example.org/", "https://example.org"),
        ("DE89 3704 0044 0532 0130 00", "de89370400440532013000"),
        ("DE89-3704-0044-0532-0130-00", "DE89370400440532013000"),
        ("4111 1111 1111 1111", "4111-1111-1111-1111"),
        ("+49 30 123456", "0049 30 123456"),
        ("+49 (30) 12-34-56", "+4930123456"),
        ("030/123456", "030 123456"),
        ("(030) 123 45 67", "0301234567"),
        ("(206) 555-0123", "206.555.0123"),
        ("1 (206) 555-0123", "12065550123"),
        ("(206)-555-0123", "(206).555.0123"),
        ("030 / 12345678", "03012345678"),
        ("030/123456-0", "0301234560"),
        ("0171 / 1234567", "01711234567"),
        ("98765 43210", "9876543210"),
        ("(11) 98765-4321", "11987654321"),
        ("2026-1-2", "2.1.2026"),
        ("#general", "general"),
        ("@anna", "anna"),
        (7, "7"),
        (7.0, 7),
        (7.5, "7.5"),
        ("20.11.2026", "2026-11-20"),
        ("2026/11/20", "2026-11-20"),
        ("./docs/a.md", "docs/a.md"),
        ("docs/reports/", "docs/reports"),
        ("//srv/files/../a.md", "/srv/a.md"),
        (" u1 ", "u1"),
    ],
)
def test_c13_two_spellings_of_one_value_are_equal(written: object, also: object) -> None:
    assert canonical(written) == canonical(also)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("u1", "U1"),
        ("https://example.org/a", "https://example.org/A"),
        ("+49 30 123456", "49 30 123456"),
        ("1234567.89", "123456789"),
        (1234567.89, 123456789),
        ("192.168.1.110", "192.168.11.10"),
        ("192.168.111.10", "192.168.11.110"),
        ("192.168.11.10", "1921681110"),
        ("025-1-12345", "025-11-2345"),
        ("010.0.1.110", "010.0.11.10"),
        ("12 3456 789", "123 456 789"),
        ("10.11.12.13/24", "10.11.12.132/4"),
        ("1/11/2027", "11/1/2027"),
        ("2024-1-11", "2024-11-1"),
        ("2024.1.10", "2024.11.0"),
        ("2024/11/234", "2024/112/34"),
        ("0000123456789", "00123456789"),
        ("0012345678", "012345678"),
        ("10 11 12 13", "101 112 13"),
        ("https://[broken", "https://broken"),
        ("anna@example.org", "anna@example.org.evil.net"),
        ("anna@example.org", "evil.net:<anna@example.org>"),
        ("anna@example.org", "evil.net/Anna <anna@example.org>"),
        ("anna@example.org", "evil.net?d=1 <anna@example.org>"),
        ("anna@example.org", "evil.net#Anna <anna@example.org>"),
        ("anna@example.org", "\\\\evil.net\\Anna <anna@example.org>"),
        ("x" * 300 + "@Example.org", "x" * 300 + "@example.org"),
    ],
)
def test_c13_what_differs_otherwise_is_another_value(one: object, other: object) -> None:
    assert canonical(one) != canonical(other)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("anna@example.org", "Write to Anna@Example.org."),
        ("anna@example.org", "write to <mailto:anna@example.org>"),
        ("John", "tell john that I'm late"),
        ("general", "post it in #general, please"),
        ("#general", "post it in general"),
        ("DE89370400440532013000", "pay to DE89 3704 0044 0532 0130 00 and then call"),
        ("+4930123456", "call 0049 30 123456"),
        ("4111111111111111", "the card is 4111-1111-1111-1111."),
        ("2065550123", "call 206 555 01 23, no: (206) 555-0123"),
        ("03012345678", "call 030 / 12345678"),
        ("2026-11-20", "on 20.11.2026"),
        ("2026-01-02", "on 2.1.2026"),
        ("2026-11-20", "on 2026/11/20"),
        ("7", "order 7!"),
        (7, "order 7"),
        ("docs/a.md", "write ./docs/a.md"),
        ("docs", "put it into docs/"),
        ("https://example.org", "look at https://example.org/ now"),
        ("order 12", "ship Order 12, please"),
    ],
)
def test_c13_a_value_is_found_in_words_in_any_of_its_spellings(value: object, words: str) -> None:
    form = form_of(value)
    assert form.found_in(words) is not None
    assert form.is_in(folded(words))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("evil.com", "write to bob@evil.com"),
        ("evil.com", "see not-evil.com"),
        ("evil.com", "see evil.com.attacker.net"),
        ("https://example.org", "see https://example.org/page"),
        ("https://example.org/page", "see https://example.org/page?d=1"),
        ("https://example.org/PaGe", "see https://example.org/page"),
        ("docs", "the file /docs is gone"),
        ("C:\\out", "write C:\\out\\a.md"),
        ("ann", "tell Anna"),
        ("7", "order 17 and 7a and 7.5"),
        ("DE89370400440532013000", "pay to DE89 3704 0044 0532 0130 01"),
        ("DE89370400440532013000", "pay to DE89 3704 0044 0532 0130 000"),
        ("2026-11-20", "on 21.11.2026"),
        ("2026-11-20", "on 120.11.2026"),
        ("1921681110", "block 192.168.1.110 and 192.168.11.10"),
    ],
)
def test_c13_a_part_of_another_word_is_not_the_value(value: str, words: str) -> None:
    assert form_of(value).found_in(words) is None


# ---- looking for a value takes no longer than reading the text, however the two were chosen


class Read(bytes):
    """Folded texts that count the bytes in which ends of texts are looked for."""

    read = 0

    def count(self, sub: Any, *within: Any) -> int:
        start, end = within
        self.read += end - start
        return super().count(sub, start, end)


def test_c13_twenty_thousand_rows_with_the_value_are_gone_through_once() -> None:
    rows = Read(b"\0".join([b"c123", b"hello"] * 20_000))
    assert list(holding(form_of("C123"), rows)) == list(range(0, 40_000, 2))
    assert rows.read <= len(rows)


class Words(str):
    """Words that count the letters that are looked for in them."""

    __slots__ = ("sought",)
    sought: int

    def lower(self) -> str:
        return self

    def find(self, sub: str, *within: Any) -> int:
        self.sought += len(sub)
        return super().find(sub, *within)


@pytest.mark.parametrize(("value", "text"), [("a" * 1000, "a" * 10_000), ("a," * 5000, "a," * 10_000 + "a")])
def test_c13_a_value_that_overlaps_itself_is_not_compared_again_in_each_letter(value: str, text: str) -> None:
    words = Words(text)
    words.sought = 0
    assert form_of(value).found_in(words) is None
    assert words.sought <= 50 * len(text)


def test_c13_a_long_run_of_signs_is_no_part_of_a_word() -> None:
    """A run is looked through from each place in it."""
    assert form_of("docs").found_in("docs" + "=" * 40 + "a") is None
    assert form_of("docs").found_in("docs" + "=" * 41 + "a") == (0, 4)
