"""The one spelling under which values are compared, and how words hold one (C13)."""

import pytest

from haltpoint.chain.model.canonical import bare, form, holds, words_of


@pytest.mark.parametrize(
    ("written", "also"),
    [
        ("Anna@Example.ORG", "anna@example.org"),
        ("DE89 3704 0044 0532 0130 00", "de89370400440532013000"),
        ("DE89-3704-0044-0532-0130-00", "DE89370400440532013000"),
        ("+49 (30) 12-34-56", "+4930123456"),
        ("030/123456", "030 123456"),
        ("(206) 555-0123", "206.555.0123"),
        ("030/123456-0", "0301234560"),
        (7, "7"),
        (7.0, 7),
        (7.5, "7.5"),
    ],
)
def test_c13_two_spellings_of_one_value_are_equal(written: object, also: object) -> None:
    assert form(written) == form(also)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("u1", "U1"),
        (" u1", "u1"),
        ("docs/a.md", "./docs/a.md"),
        ("https://example.org/a", "https://example.org/A"),
        ("https://example.org/", "https://example.org"),
        ("ann@acme.co.uk", "ann@ac.meco.uk"),
        ("Anna Smith <anna@example.org>", "anna@example.org"),
        ("1234567.89", "123456789"),
        (1234567.89, 123456789),
        ("192.168.1.110", "192.168.11.10"),
        ("025-1-12345", "025-11-2345"),
        ("010.0.1.110", "010.0.11.10"),
        ("anna@example.org", "anna@example.org.evil.net"),
        (True, 1),
    ],
)
def test_c13_what_differs_otherwise_is_another_value(one: object, other: object) -> None:
    assert form(one) != form(other)


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("Write to Anna@Example.org.", "anna@example.org"),
        ("write to <mailto:anna@example.org>", "anna@example.org"),
        ("tell john  Smith\nthat I'm late", "John Smith"),
        ("Tom's mail", "tom"),
        ("ask @ann", "ann"),
        ("post it in #general, please", "general"),
        ("pay to DE89 3704 0044 0532 0130 00 and then call", "DE89370400440532013000"),
        ("call +49 (30) 12-34-56 now", "+4930123456"),
        ("no: (206) 555-0123", "2065550123"),
        ("call 030 / 12345678", "03012345678"),
        ("order 7!", 7),
        ("merge #42", 42),
        ("see ./docs/a.md", "docs/a.md"),
        ("İt is x", "x"),
    ],
)
def test_c13_words_hold_a_value_as_a_word_or_phrase_in_whatever_case_and_spacing(
    words: str, value: object
) -> None:
    assert holds(words, form(value))


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("write to bob@evil.com", "evil.com"),
        ("write to a+b@example.org", "b@example.org"),
        ("mail bob@firm.co.uk", "bob@firm.co"),
        ("mail bob@firm.co.UK", "bob@firm.co"),
        ("Read https://x.example/a.They say so", "https://x.example/a"),
        ("see not-evil.com", "evil.com"),
        ("see evil.com.attacker.net", "evil.com"),
        ("see https://example.org/page?d=1", "https://example.org/page"),
        ("see https://example.org/page", "https://example.org"),
        ("write docs/a.md", "a.md"),
        ("write docs/a.md", "docs"),
        ("tell Anna", "ann"),
        ("order 17 and 7a and 7.5", 7),
        ("pay to DE89 3704 0044 0532 0130 01", "DE89370400440532013000"),
        ("pay to DE89 3704 0044 0532 0130 000", "DE89370400440532013000"),
        ("call 030 1234567 8", "0301234567"),
        ("block 192.168.1.110 and 192.168.11.10", "1921681110"),
        ("nothing", ""),
        ("nothing", " "),
        ("a" * 2000, "a" * 1001),
    ],
)
def test_c13_a_part_of_another_word_is_not_the_value(words: str, value: object) -> None:
    assert not holds(words, form(value))


@pytest.mark.parametrize(
    "written", ["Anna\u00a0Smith", "Anna  Smith", "AnnaSmith", "\uff21nna Smith"]
)
def test_c9_spaces_and_the_unicode_form_say_nothing_in_a_bare_text(written: str) -> None:
    assert bare(written) == bare("Anna Smith")


def test_c9_nor_do_kinds_of_dashes_and_quotes() -> None:
    assert bare("the \u201cA\u2013B\u201d") == bare("the 'A-B'")
    assert bare("A-B") != bare("AB")


def test_a_name_of_a_tool_is_read_as_words() -> None:
    assert (
        words_of("WritePlanTool_begin")
        == words_of("write-plan.tool/begin")
        == "write_plan_tool_begin"
    )
