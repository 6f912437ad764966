"""Expressions that an operator writes: they run in linear time, or are refused with what they
cannot do.
"""

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haltpoint.contracts.written import fits, regex

LENGTH = 64_000
TEXTS = {
    "letters": "a" * LENGTH,
    "digits": "1" * LENGTH,
    "spaces": " " * LENGTH + "x",
    "lines": "\n" * LENGTH + "x",
    "words": "word " * (LENGTH // 5),
    "addresses": "a@" * (LENGTH // 2),
    "hosts": "a." * (LENGTH // 2),
    "umlauts": "ü" * LENGTH,
}
ORDINARY = [
    r"\S+@\S+\.evil\.com",
    r"(?:\w+\.)?evil\.com$",
    r"\d+ EUR",
    r"\s+$",
    ".*secret.*",
    r"[a-z0-9._-]+@evil\.com",
    ".*q.*z",
    "(a|aa)+$",
    r"(\d|\d\d)+ EUR",
    r"(\w+\s?){1,100}!",
    r"(\w+\s?)+refund",
    "((a+)+)+!",
    ".*(order|parcel).*(late|lost).*",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("expression", ORDINARY)
def test_an_ordinary_expression_is_quick_on_any_text(expression: str, text: str) -> None:
    """Python needs from 4.6 s to for ever: what counts is that the time grows with the text, and
    not how fast.
    """
    assert regex(expression) == expression
    began = time.process_time()
    next(fits(expression, TEXTS[text]), None)
    assert time.process_time() - began < 2


NONE = (
    "is not a regular expression that runs in linear time (without lookaround and back-references)"
)


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("x(?=y)", "invalid perl operator: (?="),
        ("x(?!y)", "invalid perl operator: (?!"),
        ("(?<=x)y", "invalid perl operator: (?<="),
        ("(?>x)y", "invalid perl operator: (?>"),
        (r"(a)(b)\2", r"invalid escape sequence: \2"),
        ("(a++b)", "bad repetition operator: ++"),
        ("(x", "missing ): (x"),
        ("*x", "no argument for repetition operator: *"),
        (r"(\w{1,50}){1,50}!", "invalid repetition size: {1,50}"),
        (r"(?:(?:\pL\d){900}){1}" * 9, "pattern too large - compile failed"),
    ],
)
def test_what_is_no_linear_expression_is_refused_in_words(expression: str, fault: str) -> None:
    with pytest.raises(ValueError, match="in linear time") as caught:
        regex(expression)
    assert str(caught.value) == f"'{expression}' {NONE}: {fault}"


@pytest.mark.parametrize(
    ("expression", "text", "words"),
    [
        (r"\b(deploy|roll out)\b", "Please ROLL OUT now", "ROLL OUT"),
        (r"(?:^|\PL)änder\pL*", "bitte Ändere es", " Ändere"),
        ("^write", "Write_plan", "Write"),
        (r"a.b", "a\nb", None),
        ("x$", "\ud800x", "x"),
    ],
)
def test_what_is_found_is_found_in_any_case(expression: str, text: str, words: str | None) -> None:
    assert [fit[0] for fit in fits(regex(expression), text)] == ([] if words is None else [words])


@given(st.text(alphabet="ab()[]{}\\*+?|^$.,2:=!<>#P-xüQE \n\0", max_size=30), st.text(max_size=50))
def test_no_expression_and_no_text_breaks_it(expression: str, text: str) -> None:
    with suppress(ValueError):
        list(fits(regex(expression), text))
