"""How two spellings are one: of names (`words_of`), and of values (`form`, `holds`, CONTRACT C13).

Values are compared exactly, but for the case of e-mail addresses and the spaces and signs of phone
numbers and IBANs. Nothing here guesses.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Any, Final

UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff"
    "\u2d7f\ufffc\U00011a47\U00011a99\U0001107f\U00013441\U00013442\U00016fe4\U0001bc9d\U0001d159]"
)
"""Signs that draw nothing: what Unicode lets a font leave out, then fillers, blanks, joiners and
selectors of single scripts.
"""
_QUOTES_AND_DASHES: Final = str.maketrans('‘’‚‛ʼ´`“”„‟«»"‐‑‒–—−', "'" * 14 + "-" * 6)
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")
_BETWEEN: Final = re.compile(r"[^\w*?\[\]!]+|_+")

_ADDRESS: Final = re.compile(r"[^\s@<>\"/]+@[^\s@<>\"/]+\.\w+")
_IBAN: Final = re.compile(r"[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,30}")
_PHONE: Final = re.compile(
    r"""
    (?=[+(\d])(?:  # soon said of most texts
    (?:\+|00)[ (]*[1-9](?:[ \-./()]{0,3}\d){6,}  # with its country: +49 (30) 12-34-56
    # with a zero: 030 / 123456-0
    | (?=(?:\D*\d){7})\(?0\d{1,5}\)?(?:[ \-/]{1,3}\d{2,})*[ \-/]{1,3}\d+
    # its area in brackets: (206) 555-0123
    | (?=(?:\D*\d){7})\(\d{2,5}\)[ \-.]?\d{2,}(?:[ \-.]\d{2,})*
    | (?:1[ .-])?\d{3}[ .-]\d{3}[ .-]\d{4}  # 206-555-0123
    | \d{7,15}
    )
    """,
    re.VERBOSE,
)
"""Numbers whose signs say nothing. Those of other numbers do: 192.168.1.110 is not
192.168.11.10.
"""
_SIGNS: Final = str.maketrans("", "", " +-()./")
_LONGEST: Final = 1000
"""Characters of a word or phrase that words are searched for."""
_BEFORE: Final = re.compile(
    r"(?<![\w@#/.\-+%&~\\])|(?<=[@#])(?<![\w/.\-+%&~\\][@#])|(?<=\./)(?<![\w/.\-]\./)"
)
_BEHIND: Final = re.compile(r"[@\-+/%#=&~\\.:?]*\w")
"""What continues a word: `.example` of a host does."""


def spelt_out(text: str) -> str:
    """The same text with everything spelt out that does not show, or is an order to what shows
    it.
    """
    return "".join(
        sign
        if sign.isprintable() and not UNSEEN.match(sign)
        else sign.encode("unicode_escape").decode()
        for sign in text
    )


def bare(text: str) -> str:
    """The text without spaces, in one Unicode form, and with one kind of quotes and dashes."""
    whole = unicodedata.normalize("NFKC", text)
    return "".join(whole.split()).translate(_QUOTES_AND_DASHES)


def words_of(name: str) -> str:
    """A tool's name as words: `WritePlanTool_begin` and `write-plan.tool/begin` are
    `write_plan_tool_begin`.

    Globs keep their stars.
    """
    return _BETWEEN.sub("_", _HUMP.sub("_", name)).lower()


def form(value: Any) -> str:
    """A value as text in the one spelling under which it is compared: 7, 7.0 and "7" are one."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value)
    if "@" in text and _ADDRESS.fullmatch(text):
        return text.lower()
    return _number(text) or text


def _number(text: str) -> str:
    """A phone number or an IBAN without spaces and signs; of anything else nothing."""
    if _PHONE.fullmatch(text) or _IBAN.fullmatch(text):
        return text.translate(_SIGNS).upper()
    return ""


def holds(words: str, text: str) -> bool:
    """Whether words hold a value, by its form, as a word or phrase of its own, in whatever case and
    spacing.
    """
    if len(text) > _LONGEST or not text.strip():
        return False
    number = _number(text)
    spellings = _spelled(number).findall(words) if number else ()
    if number in map(_number, spellings):
        return True
    line = _folded(words)
    phrase = _folded(text)
    start = line.find(phrase)
    while start >= 0:
        if _BEFORE.match(line, start) and not _BEHIND.match(line, start + len(phrase)):
            return True
        start = line.find(phrase, start + 1)
    return False


@lru_cache(maxsize=64)
def _folded(text: str) -> str:
    return " ".join(text.lower().split())


@lru_cache(maxsize=512)
def _spelled(number: str) -> re.Pattern[str]:
    """A number in whatever spacing and signs, which is no part of a longer one."""
    digits = r"[ \-./()]{0,3}".join(number)
    return re.compile(
        rf"(?<!\w)(?<!\d[ \-./(])[+(]?{digits}(?![ \-./()]{{0,3}}\d|\w)", re.IGNORECASE
    )
