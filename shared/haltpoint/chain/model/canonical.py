"""One table of the spellings that mean the same value (CONTRACT C13), and how a value is found in words.

Values are compared exactly, in the form that their row of the table gives them. Nothing here guesses.
Rules over words and names are asked of `plain` text, so that a zero-width space, a Cyrillic letter or a curly
apostrophe changes nothing.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from posixpath import dirname, normpath
from typing import Any, Final

_LOOK_ALIKE: Final = str.maketrans(
    "аеорсухіјѕԁһқԛԝАВЕКМНОРСТУХІЈЅαορυιΑΒΕΖΗΙΚΜΝΟΡΤΥΧıɑɡℓ‘’‚‛ʼ´“”„‟«»‐‑‒−",
    "aeopcyxijsdhkqwABEKMHOPCTYXIJSaopuiABEZHIKMNOPTYXiagl" + "'" * 6 + '"' * 6 + "-" * 4,
)
_SPACES: Final = re.compile(r"[^\S\n]+")
UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")
_BETWEEN: Final = re.compile(r"[^\w*?\[\]!]+|_+")


def plain(text: str) -> str:
    """The text with one spelling for what looks the same. Lines stay lines."""
    if not text.isascii():
        text = UNSEEN.sub("", unicodedata.normalize("NFKC", UNSEEN.sub("", text)).translate(_LOOK_ALIKE))
    return _SPACES.sub(" ", text)


def words_of(name: str) -> str:
    """A tool's name as words: `WritePlanTool_begin` and `write-plan.tool/begin` are `write_plan_tool_begin`.

    Globs keep their stars.
    """
    return _BETWEEN.sub("_", _HUMP.sub("_", plain(name))).lower()


_SIGNS: Final = b" \t\r\n-./()+#@\\\"'"
_BEFORE: Final = frozenset("@/.-+%&~\\_")
_BEHIND: Final = re.compile(r"\w|[@\-+/%#=&~.:?\\]{1,40}+\w")
_LEFT, _RIGHT = r"(?<![\w@/.\-+%&~\\])", rf"(?!{_BEHIND.pattern})"
_HEAD: Final = re.compile("^[^/]+//[^/?#]*")
ELSEWHERE: Final = re.compile(r"\s*(?:~[^/\\]*|[a-z][a-z0-9+.-]*:)", re.IGNORECASE)
"""Where a path of a home, a drive or a URL begins: no joining brings it into a folder."""
_FOLDERS: Final = re.compile(
    r"(?!.*\.\.)(?:(?:~[^/\\]*|[a-z]:)[/\\].*|[a-z][a-z0-9+.-]+:/*[^/\\]+/[^\\]*)", re.IGNORECASE | re.DOTALL
)
"""Such paths whose folders every reader sees alike: without `..`, and of a URL behind its host, without a backslash."""
_LONG: Final = 200
"""Characters of a value that may be written in other ways; a longer one is compared as it is."""
_SOUGHT: Final = 50
"""Characters of a value that are searched for; the rest is compared only where they begin a word."""
_MOST_LISTED: Final = 100
"""Addresses of a list in one text; a longer list is compared as it is."""
_TO_NEXT: Final = re.compile(r"\w*.", re.DOTALL)


def _apart(text: str) -> str:
    return r"[ \-./()]{0,3}".join(text)


def _number(text: str) -> str:
    digits = re.sub(r"\D", "", text)
    return f"+{digits.removeprefix('00')}" if re.match(r"\+|00[ (]*[1-9]", text) else digits


def _day(text: str) -> str:
    first, second, third = re.split(r"[-./]", text)
    year, day = (first, third) if len(first) == 4 else (third, first)
    return f"{year}-{second:0>2}-{day:0>2}"


def _day_spelled(form: str) -> str:
    year, month, day = (part.lstrip("0") for part in form.split("-"))
    return rf"(?:{year}[-/]0?{month}[-/]0?{day}|0?{day}\.0?{month}\.{year})"


def as_path(text: str) -> str:
    """A path with `..` and `.` resolved, of slashes one and none at the end."""
    return normpath(re.sub("^/+", "/", text))


def _stripped(text: str) -> str:
    return text.removeprefix("./").rstrip("/")


_PHONE: Final = r"""
    (?:\+|00)[ (]*[1-9](?:[ \-./()]{0,3}\d){6,}                         # with its country: +49 (30) 12-34-56
  | (?=(?:\D*\d){7}) \(?0\d{1,5}\)? (?:[ \-./]{1,3}\d{2,})* [ \-./]{1,3}\d+   # with a zero before it: 030 / 123456-0
  | (?=(?:\D*\d){7}) \(\d{2,5}\) [ \-.]? \d{2,}(?:[ \-.]\d{2,})*      # its area in brackets: (206) 555-0123
  | (?:1[ .-])? \(?\d{3}\)?[ .-] \d{3}[ .-]\d{4} | \d{5}[ ]\d{5}       # 206-555-0123, 98765 43210
  | \d{4}(?:[ -]\d{4}){3} | \d{4}[ -]\d{6}[ -]\d{5} | \d{7,}         # a card; digits alone
"""
"""Numbers whose signs say nothing. Those of other numbers do: 192.168.1.110 is not 192.168.11.10."""
_ADDRESS: Final = r"[^\s@<>\"/]+@[^\s@<>\"/]+\.\w+"
_MAIL: Final = re.compile(rf"(?:mailto:)?{_ADDRESS}|[^\n@<>,;:/\\?#]*<{_ADDRESS}>", re.IGNORECASE)
_Row = tuple[re.Pattern[str], Callable[[str], str], Callable[[str], str] | None]
TABLE: Final[tuple[_Row, ...]] = (
    (re.compile(r"\d{4}([-/])\d{1,2}\1\d{1,2}|\d{1,2}\.\d{1,2}\.\d{4}"), _day, _day_spelled),
    (
        _MAIL,
        lambda t: t.lower().rpartition("<")[2].removesuffix(">").removeprefix("mailto:"),
        None,
    ),
    (
        re.compile(r"[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE),
        lambda t: _HEAD.sub(lambda head: head[0].lower(), t).removesuffix("/"),
        None,
    ),
    (re.compile(r"[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,30}"), lambda t: re.sub("[ -]", "", t).upper(), _apart),
    (
        re.compile(_PHONE, re.VERBOSE),
        _number,
        lambda t: (r"(?:\+|00) ?" if t[0] == "+" else "") + _apart(t.lstrip("+")),
    ),
    (re.compile(r"(?:[\w-]+\.)+[a-z]{2,}/?", re.IGNORECASE), lambda t: t.lower().removesuffix("/"), None),
    (re.compile(r"[^\s\\]*/[^\n\\]*"), as_path, None),
    (re.compile(r"[#@]\S+"), lambda t: t[1:], None),
)
"""Days, e-mail, URLs, IBAN, phone and card numbers, hosts, paths, names behind # or @: how to recognise one, its form,
and other spellings of the form in a text, as a pattern. The first that fits counts.
"""


@dataclass(frozen=True, slots=True)
class Form:
    """A value in its canonical form. One of the `needles` is in the folded text of every document that holds it."""

    text: str
    spelled: Callable[[str], str] | None
    needles: tuple[bytes, ...]

    def is_in(self, document: bytes) -> bool:
        """Whether a folded document may hold it: one that may not is never parsed."""
        return any(map(document.__contains__, self.needles))

    def found_in(self, words: str) -> tuple[int, int] | None:
        """Where a text holds the value as a word or phrase of its own, in whatever case; None where it does not."""
        text, wanted = words.lower(), self.text.lower()
        for at in _beginnings(text, wanted[:_SOUGHT]):
            end, start = at + len(wanted), at
            if start and text[start - 1] in "#@":
                start -= 1
            elif text[start - 2 : start] == "./":
                start -= 2
            before = text[start - 1] if start else " "
            if before.isalnum() or before in _BEFORE or not text.startswith(wanted, at) or _BEHIND.match(text, end):
                continue
            # The case of a URL's path may carry data.
            if "://" not in self.text or canonical(words[at:end]) == self.text:
                return at, end
        if self.spelled is None or not self.is_in(folded(words)):
            return None
        found = re.finditer(_LEFT + self.spelled(self.text) + _RIGHT, words, re.IGNORECASE)
        return next((one.span() for one in found if canonical(one[0]) == self.text), None)


def _beginnings(text: str, wanted: str) -> Iterator[int]:
    """Where a text holds another, in each word at most once: no other place in a word is the beginning of one."""
    at = text.find(wanted)
    while at >= 0:
        yield at
        behind = _TO_NEXT.match(text, at)
        at = text.find(wanted, behind.end()) if behind else -1


@lru_cache(maxsize=1024)
def _form(text: str, *, plain: bool, resolved: bool) -> Form:
    rows = TABLE if len(text) <= _LONG and not plain else ()
    _, make, spelled = next((row for row in rows if row[0].fullmatch(text)), (None, str, None))
    make = _stripped if make is as_path and not resolved and ".." in text else make
    form = make(text)
    ways = [form.partition("\n")[0]]
    if make is _day:
        year, month, day = form.split("-")
        ways += (f"{one}{other}{year}" for one in {day, f"{int(day)}"} for other in {month, f"{int(month)}"})
    return Form(form, spelled, tuple(map(folded, ways)))


def form_of(value: Any, *, resolved: bool = True) -> Form:
    """A scalar in its canonical form: 7, 7.0 and "7" are one. A float is no phone number. What is not `resolved` keeps
    its `..`: of what is no path only its reader knows what that means.
    """
    plain = isinstance(value, float)
    text = str(value).removesuffix(".0") if plain else str(value).strip()
    return _form(text, plain=plain, resolved=resolved)


def canonical(value: Any) -> str:
    """The canonical form of a scalar as text."""
    return form_of(value).text


def addresses_in(text: str) -> list[str]:
    """The e-mail addresses of a text that is a list of them, with commas or semicolons between; of any other none."""
    parts = [one.strip() for one in re.split("[,;]", text, maxsplit=_MOST_LISTED - 1)]
    return parts if len(parts) > 1 and all(map(_MAIL.fullmatch, parts)) else []


def folded(text: str) -> bytes:
    """A text without case, space and signs, in which the needle of a value is searched."""
    return text.lower().encode(errors="replace").translate(None, _SIGNS)


def holding(form: Form, texts: bytes) -> Iterator[int]:
    """The numbers of the texts that may hold a value, out of folded ones with a zero between them: one search."""
    for needle in form.needles:
        number, counted, at = 0, 0, texts.find(needle) if texts else -1
        while at >= 0:
            number, counted = number + texts.count(b"\0", counted, at), at
            yield number
            end = texts.find(b"\0", at)
            at = -1 if end < 0 else texts.find(needle, end + 1)  # behind it: a needle may be empty


def folders_of(path: str) -> Iterator[str]:
    """The folders that a path is inside of, the nearest first, resolved by its words alone; the working directory, a
    home, a drive and the root only when it is directly in them. Of one that leaves the working directory, or that its
    reader may see in another folder, there are none.
    """
    folder = dirname(normpath(re.sub("^/+", "/", path.replace("\\", "/"))))
    unsure = ELSEWHERE.match(path) and not _FOLDERS.fullmatch(path)
    if unsure or folder.startswith("..") or normpath(path) == "..":
        return
    yield folder or "."
    while (folder := dirname(folder)) not in ("", "/") and not ELSEWHERE.fullmatch(folder):
        yield folder
