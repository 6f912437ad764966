"""Text as it is meant: one spelling for what looks the same, without marks that nobody sees.

Rules over words and names are asked of plain text, so that a zero-width space, a Cyrillic letter or a curly apostrophe
changes nothing.
"""

import re
import unicodedata
from typing import Final

_LOOK_ALIKE: Final = str.maketrans(
    "аеорсухіјѕԁһқԛԝАВЕКМНОРСТУХІЈЅαορυιΑΒΕΖΗΙΚΜΝΟΡΤΥΧıɑɡℓ‘’‚‛ʼ´“”„‟«»‐‑‒−",
    "aeopcyxijsdhkqwABEKMHOPCTYXIJSaopuiABEZHIKMNOPTYXiagl" + "'" * 6 + '"' * 6 + "-" * 4,
)
_SPACES: Final = re.compile(r"[^\S\n]+")
UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
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
