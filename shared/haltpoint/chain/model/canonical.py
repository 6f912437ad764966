"""How two spellings are one: of names and words (`plain`, `words_of`), and of values (`form`, `holds`, CONTRACT C13).

Values are compared exactly, but for the case of e-mail addresses and the spaces and signs of phone numbers and IBANs.
Nothing here guesses. Rules over words and names are asked of `plain` text, so that a zero-width space, a Cyrillic
letter or a curly apostrophe changes nothing.
"""

import json
import re
import unicodedata
from functools import lru_cache
from typing import Any, Final

_LOOK_ALIKE: Final = str.maketrans(
    "аеорсухіјѕԁһқԛԝАВЕКМНОРСТУХІЈЅαορυιΑΒΕΖΗΙΚΜΝΟΡΤΥΧıɑɡℓ‘’‚‛ʼ´“”„‟«»‐‑‒−",
    "aeopcyxijsdhkqwABEKMHOPCTYXIJSaopuiABEZHIKMNOPTYXiagl" + "'" * 6 + '"' * 6 + "-" * 4,
)
_SPACES: Final = re.compile(r"[^\S\n]+")
_QUOTES_AND_DASHES: Final = str.maketrans('‘’‚‛ʼ´`“”„‟«»"‐‑‒–—−', "'" * 14 + "-" * 6)
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


def bare(text: str) -> str:
    """The text without spaces, in one Unicode form, and with one kind of quotes and dashes."""
    return "".join(unicodedata.normalize("NFKC", text).split()).translate(_QUOTES_AND_DASHES)


def words_of(name: str) -> str:
    """A tool's name as words: `WritePlanTool_begin` and `write-plan.tool/begin` are `write_plan_tool_begin`.

    Globs keep their stars.
    """
    return _BETWEEN.sub("_", _HUMP.sub("_", plain(name))).lower()


_ADDRESS: Final = re.compile(r"[^\s@<>\"/]+@[^\s@<>\"/]+\.\w+")
_IBAN: Final = re.compile(r"[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,30}")
_PHONE: Final = re.compile(
    r"""
    (?:\+|00)[ (]*[1-9](?:[ \-./()]{0,3}\d){6,}  # with its country: +49 (30) 12-34-56
    | (?=(?:\D*\d){7})\(?0\d{1,5}\)?(?:[ \-/]{1,3}\d{2,})*[ \-/]{1,3}\d+  # with a zero before it: 030 / 123456-0
    | (?=(?:\D*\d){7})\(\d{2,5}\)[ \-.]?\d{2,}(?:[ \-.]\d{2,})*  # its area in brackets: (206) 555-0123
    | (?:1[ .-])?\d{3}[ .-]\d{3}[ .-]\d{4}  # 206-555-0123
    | \d{7,15}
    """,
    re.VERBOSE,
)
"""Numbers whose signs say nothing. Those of other numbers do: 192.168.1.110 is not 192.168.11.10."""
_LONGEST: Final = 1000
"""Characters of a word or phrase that words are searched for."""
_NO_SIGNS: Final = str.maketrans("", "", " +-()./")
_BEFORE: Final = re.compile(r"(?:(?<![\w@#/.\-+%&~\\])|(?<![\w/.\-+%&~\\])[@#]|(?<![\w/.\-])\./)\Z")
_BEHIND: Final = re.compile(r"\w|[@\-+/%#=&~\\]+\w|[.:?]+(?![A-Z](?:[a-z']|\b))\w")
"""What continues a word: `.example` of a host does, the next sentence (`.They`) does not."""


def form(value: Any) -> str:
    """A value as text in the one spelling under which it is compared: 7, 7.0 and "7" are one."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, str):
        return json.dumps(value, sort_keys=True)
    if "@" in value and _ADDRESS.fullmatch(value):
        return value.lower()
    return _number(value) or value


def _number(text: str) -> str:
    """A phone number or an IBAN without spaces and signs; of anything else nothing."""
    if _PHONE.fullmatch(text):
        return text.translate(_NO_SIGNS)
    is_iban = _IBAN.fullmatch(text) is not None
    return text.translate(_NO_SIGNS).upper() if is_iban else ""


def holds(words: str, value: Any) -> bool:
    """Whether words hold a value as a word or phrase of its own, in whatever case and spacing."""
    text = value if isinstance(value, str) else form(value)
    if len(text) > _LONGEST or not text.strip():
        return False
    number = _number(text)
    if number and _holds_number(words, number):
        return True
    return _holds_phrase(words, " ".join(text.lower().split()))


def _holds_phrase(words: str, wanted: str) -> bool:
    line = " ".join(words.split())
    lower = line.lower()
    cased = line if len(line) == len(lower) else lower
    start = lower.find(wanted)
    while start >= 0:
        before, end = lower[max(0, start - 3) : start], start + len(wanted)
        if _BEFORE.search(before) and not _BEHIND.match(cased, end):
            return True
        start = lower.find(wanted, start + 1)
    return False


def _holds_number(words: str, number: str) -> bool:
    """The same for a number in whatever spacing and signs; a longer one does not hold it."""
    found = (match[0] for match in _spelled(number).finditer(words))
    return any(_number(text) == number for text in found)


@lru_cache(maxsize=512)
def _spelled(number: str) -> re.Pattern[str]:
    digits = r"[ \-./()]{0,3}".join(number)
    before, behind = r"(?<!\w)(?<!\d[ \-./(])[+(]?", r"(?![ \-./()]{0,3}\d|\w)"
    return re.compile(f"{before}{digits}{behind}", re.IGNORECASE)
