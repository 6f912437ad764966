"""Patterns that an operator writes: those that may take forever are refused, with their place and what to write."""

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haltpoint.contracts.written import regex

ENDLESS = [
    (r"(\w+\s?)+refund", 9),
    (r"(\w+\s*)*refund", 9),
    ("(a+)+", 5),
    ("(a*)*", 5),
    ("(a+)*x", 5),
    ("(?:[a-z]*)+", 11),
    ("(?P<name>a+)+", 13),
    ("(a{2,})+", 8),
    ("(a+){2,}", 8),
    ("(a+){,}", 7),
    ("(a+?)+", 6),
    ("(a+)+?", 5),
    ("((a+)b)*", 8),
    ("((((a+))))+", 11),
    ("(x(?:y*|z))+", 12),
    ("(?:a|b+)*", 9),
    ("(a+b?){3,} c", 10),
    ("(?i:a+)+", 8),
    ("x(?=(a+)+b)", 9),
    ("(?>(a+)+b)", 8),
    ("((?>a)+)+", 9),
    ("(a+)++ (b+)+", 12),
    (r"([)]+)+", 7),
    (r"([]a]+)+", 8),
    (r"([^]a]+)+", 9),
    (r"(\)+)+", 6),
    (r"(\\+)+", 6),
    (r"(?#with a (comment)(a+)+", 24),
]


@pytest.mark.parametrize(("pattern", "at"), ENDLESS)
def test_a_group_that_repeats_without_a_bound_as_something_in_it_does_is_refused(pattern: str, at: int) -> None:
    with pytest.raises(ValueError, match=f"nests repetitions at character {at}, as in") as caught:
        regex(pattern)
    assert str(caught.value).endswith("; write ++ or *+ for the inner one, as in (a++)+")


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        ".*refund.*",
        r"\b(deploy|roll out)\b",
        "(a+b)",
        "(a+)?",
        "(a+)??",
        "(a+){3}",
        "(a+){2,5}",
        "(a+){,5}",
        "(ab)+",
        "(a?)+",
        "(a{3})*",
        "(a{2,5})*",
        "(a){}+",
        "a+b+",
        "(a+)(b)+",
        "(a+) b*",
        r"(\w++\s?)+refund",
        "(a*+b)*",
        "(a{2,}+b)+",
        "(a+b)++",
        "(a+b)*+c",
        "((?:a+b)++c)+",
        "((?>a+)b)+",
        "(?>a+)+",
        "((?=a+)b)+",
        "((?!a+)b)+",
        r"\(a+\)+",
        r"(a\+)+",
        r"(\*)*",
        "([+*])+",
        "[(a+]+",
        r"[\](a+]+",
        r"(a{b+}c)",
        r"(?P<a>b)(?P=a)+",
        r"(?x) a+ # :)",
        r"(?#(a+)x",
    ],
)
def test_all_others_are_taken(pattern: str) -> None:
    assert regex(pattern) == pattern


@pytest.mark.filterwarnings("ignore::FutureWarning")
@given(st.text(alphabet="ab()[]{}\\*+?|^$.,2:=!<>#P-x \n", max_size=30))
def test_no_pattern_breaks_it(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error:
        return
    with suppress(ValueError):
        assert regex(pattern) == pattern


@pytest.mark.parametrize("pattern", [".*(order|parcel).*(late|lost)", r"a.*b.{0,50}c.{0,50}d.*", r"\.*[.*]+a.*b.++c.*"])
def test_a_pattern_may_stand_for_anything_twice(pattern: str) -> None:
    assert regex(pattern) == pattern


@pytest.mark.parametrize("pattern", [".*(order|parcel).*(late|lost).*", "a.+b.*?c.*d"])
def test_one_that_does_so_three_times_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"more than 2 times, and may .* write \.\{0,50\} between words"):
        regex(pattern)


@pytest.mark.parametrize("pattern", ["a{99999999999}", "(" * 3000 + ")" * 3000])
def test_one_that_python_cannot_read_is_refused_in_words(pattern: str) -> None:
    with pytest.raises(ValueError, match="is too large a regular expression"):
        regex(pattern)
