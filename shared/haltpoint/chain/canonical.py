"""One table of the spellings that mean the same value (CONTRACT C13), and how a value is found in words.

Values are compared exactly, in the form that their row of the table gives them. Nothing here guesses.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from posixpath import normpath
from typing import Any, Final
from urllib.parse import urlsplit

_SIGNS: Final = b" \t\r\n-./()+#@\\\"'"
_BEFORE: Final = frozenset("@/.-+%&~\\_")
_BEHIND: Final = re.compile(r"\w|[@\-+/%#=&~.:?]+\w")
_LEFT, _RIGHT = r"(?<![\w@/.\-+%&~\\])", rf"(?!{_BEHIND.pattern})"
_LONG: Final = 200
"""Characters of a value that may be written in other ways; a longer one is compared as it is."""


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of value: how to recognise it, its form, and other spellings of a form in a text, as a pattern."""

    looks: re.Pattern[str]
    form: Callable[[str], str]
    spelled: Callable[[str], str] | None = None


def _apart(text: str) -> str:
    return r"[ \-./()]{0,2}".join(text)


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        return parts._replace(scheme=parts.scheme.lower(), netloc=parts.netloc.lower()).geturl().removesuffix("/")
    except ValueError:
        return text


def _number(text: str) -> str:
    digits = re.sub(r"\D", "", text)
    plus = text[0] == "+" or text.startswith("00")
    return f"+{digits.lstrip('0')}" if plus else digits


def _number_spelled(form: str) -> str:
    return (r"(?:\+|00) ?" if form[0] == "+" else "") + _apart(form.lstrip("+"))


def _day(text: str) -> str:
    first, second, third = re.split(r"[-./]", text)
    year, day = (first, third) if len(first) == 4 else (third, first)
    return f"{year}-{second:0>2}-{day:0>2}"


def _day_spelled(form: str) -> str:
    year, month, day = (part.lstrip("0") for part in form.split("-"))
    return rf"(?:{year}[-/]0?{month}[-/]0?{day}|0?{day}\.0?{month}\.{year})"


TABLE: Final = (
    Row(re.compile(r"\d{4}-\d{2}-\d{2}|\d{4}/\d{1,2}/\d{1,2}|\d{1,2}\.\d{1,2}\.\d{4}"), _day, _day_spelled),
    Row(
        re.compile(r"(?:mailto:)?[^\s@<>\"/]+@[^\s@<>\"/]+\.\w+", re.IGNORECASE),
        lambda t: re.sub("^mailto:", "", t.lower()),
    ),
    Row(re.compile(r"[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE), _url),
    Row(re.compile(r"[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,30}"), lambda t: re.sub("[ -]", "", t).upper(), _apart),
    Row(re.compile(r"(?!\d+\.\d{1,2}$)(?:\+|00)?[ (]*\d(?:[ \-./()]{0,2}\d){6,}"), _number, _number_spelled),
    Row(re.compile(r"(?:[\w-]+\.)+[a-z]{2,}/?", re.IGNORECASE), lambda t: t.lower().removesuffix("/")),
    Row(re.compile(r"[^\s\\]*/[^\n\\]*"), lambda t: normpath(re.sub("^/+", "/", t))),
    Row(re.compile(r"[#@]\S+"), lambda t: t[1:]),
)
"""Days, e-mail, URLs, IBAN, phone and card numbers, hosts, paths, names behind # or @. The first that fits counts."""


@dataclass(frozen=True, slots=True)
class Form:
    """A value in its canonical form. One of the `needles` is in the folded text of every document that holds it."""

    text: str
    spelled: Callable[[str], str] | None
    needles: tuple[bytes, ...]

    def is_in(self, document: bytes) -> bool:
        """Whether a folded document may hold it: one that may not is never parsed."""
        return any(map(document.__contains__, self.needles))

    def equals(self, value: Any) -> bool:
        """Whether a scalar is this value."""
        return value == self.text or canonical(value) == self.text

    def found_in(self, words: str) -> tuple[int, int] | None:
        """Where a text holds the value as a word or phrase of its own, in whatever case; None where it does not."""
        text, wanted, at = words.lower(), self.text.lower(), -1
        while (at := text.find(wanted, at + 1)) >= 0:
            end, start = at + len(wanted), at
            if start and text[start - 1] in "#@":
                start -= 1
            elif text[start - 2 : start] == "./":
                start -= 2
            before = text[start - 1] if start else " "
            if before.isalnum() or before in _BEFORE or _BEHIND.match(text, end):
                continue
            # The case of a URL's path may carry data.
            if "://" not in self.text or canonical(words[at:end]) == self.text:
                return at, end
        if self.spelled is None or not self.is_in(folded(words)):
            return None
        found = re.search(_LEFT + self.spelled(self.text) + _RIGHT, words, re.IGNORECASE)
        return found and found.span()


@lru_cache(maxsize=1024)
def _form(text: str) -> Form:
    row = next((row for row in TABLE if row.looks.fullmatch(text)), None) if len(text) <= _LONG else None
    form = text if row is None else row.form(text)
    ways = [form.partition("\n")[0]]
    if row is not None and row.form is _day:
        year, month, day = form.split("-")
        ways += (f"{one}{other}{year}" for one in {day, f"{int(day)}"} for other in {month, f"{int(month)}"})
    return Form(form, None if row is None else row.spelled, tuple(map(folded, ways)))


def form_of(value: Any) -> Form:
    """A scalar in its canonical form: 7 and "7" are one."""
    if isinstance(value, float):
        text = str(value).removesuffix(".0")
        return Form(text, None, (folded(text),))
    return _form(value.strip() if isinstance(value, str) else str(value))


def canonical(value: Any) -> str:
    """The canonical form of a scalar as text."""
    return form_of(value).text


def folded(text: str) -> bytes:
    """A text without case, space and signs, in which the needle of a value is searched."""
    return text.lower().encode(errors="replace").translate(None, _SIGNS)
