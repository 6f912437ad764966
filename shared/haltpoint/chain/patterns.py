"""Required by the words (CONTRACT C2): which tools the user's words ask for, and why.

A pattern is searched in each clause that may ask for something. Clauses that ask for information ("who wrote this?"),
that are negated ("don't save the file"), that tell how ("explain how to write a file") or that depend on something
("if you create a file") do not count, nor does what stands in quotation marks, unless it is a file name.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from haltpoint.chain.plain_text import plain, words_of
from haltpoint.contracts.policy import Does, Pattern

ALL: Final = "*"
QUOTED: Final = "§"  # stands where something was quoted
_LONGEST: Final = 600  # characters of a clause that are looked at

_BLOCK: Final = re.compile(r"```.*?(?:```|\Z)|^\s*>.*$", re.DOTALL | re.MULTILINE)
_QUOTED: Final = re.compile(r'"([^"\n]*)"|(?<!\w)\'([^\'\n]*)\'(?!\w)|`([^`\n]*)`')
_FILE_NAME: Final = re.compile(r"[\w./~-]*\w\.\w{1,8}")
_SENTENCE: Final = re.compile(r"[^.!?\n]*(?:\.(?!\s|$)[^.!?\n]*)*[.!?\n]*")
_CLAUSE: Final = re.compile(r"[,;:()]+(?:\s|$)|\s-+\s|\s(?:but|however|though)\s", re.IGNORECASE)
_BULLET: Final = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+|[*_#]{2,}|^#+\s")
_ASKS_POLITELY: Final = re.compile(r"\b(?:can|could|would|will|won't|why don't) (?:you|we)\b", re.IGNORECASE)
_ASKS_TO_KNOW: Final = re.compile(
    r"^\W*(?:(?:and|so|but|or|also|ok|hey|hi|well|then|no|yes|please)\W+)*(?:who|whose|whom|what|what's|where|which"
    r"|why|how|when)\b"
    r"(?! (?:you are|you're|you have) done)"
    r"|^\W*do (?:i|he|she|it|we|they|any\w*|some\w*)\b|^\W*do (?:the|my|your|our|his|her|their|these|those)\b.*\?"
    r"|^\W*(?:does|did|is|are|am|was|were|has|have|had|should|shall|may|might|can|could|will|would|don't|didn't"
    r"|haven't|isn't) "
    r"(?:i|he|she|it|we|they|this|that|these|those|there|the|a|an|any\w*|some\w*|every\w*|my|your|our|his|her|their)\b"
    r"|^\W*(?:do|did|have|had|are|were|should|may|might|didn't|haven't) you\b",
    re.IGNORECASE,
)
_NO_REQUEST: Final = re.compile(
    r"\b(?:do not|does not|did not|is not|was not|not|never|cannot|without|instead of|rather than|avoid\w*|unable"
    r"|fail\w* to|refus\w+ to"
    r"|stop|quit|hate|tri(?:es|ed) to|trying to|no (?:need|reason|point)|nor|neither|hardly|if|unless|whether|in case"
    r"|how (?:to|do|does|can|could|would|should|i|you|we|one)|ways? (?:to|of)|examples? of|able to|ability to"
    r"|used to|meant to"
    r"|allowed to|supposed to|going to|asked (?:me|him|her|us|them|you) to|told (?:me|him|her|us|them) to|when"
    r"|whenever|while|until"
    r"|after|before|once|because|since|mean(?:s)? (?:to|by)|said|says|called)\b|n't\b",
    re.IGNORECASE,
)
_NO_NEGATION: Final = re.compile(
    r"\b(?:don't|do not|never) forget\b|\bnot only\b|\bwhy don't (?:you|we)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Match:
    """One pattern that the words fit. `expected_tools`: those that are served; a success of any is enough."""

    pattern_id: str
    expected_tools: tuple[str, ...]
    reason: str
    matched: str


def required_by_words(
    words: str, session: str | None, patterns: Iterable[Pattern], served: Collection[str], off: Collection[str]
) -> tuple[Match, ...]:
    """What the user's words, and the session that is active, ask for. `off` are ids, or `*` for all.

    A pattern whose tools nobody serves is off.
    """
    if ALL in off:
        return ()
    on = [one for one in patterns if one.does is Does.REQUIRED and one.id not in off]
    expected = {one.id: fitting(one.tools, served) for one in on}
    found = ((one, _found(one, words, session)) for one in on if expected[one.id])
    return tuple(Match(one.id, expected[one.id], one.reason, matched) for one, matched in found if matched is not None)


def unmet(matches: Iterable[Match], tools: Collection[str]) -> tuple[Match, ...]:
    """The matches of which none of the tools was called, or is planned."""
    return tuple(match for match in matches if not any(name in tools for name in match.expected_tools))


def fitting(globs: Iterable[str], names: Iterable[str]) -> tuple[str, ...]:
    """The names that fit one of the globs, sorted. `createFile`, `create-file` and `create_file` are one name here."""
    wanted = tuple(words_of(glob) for glob in globs)
    return tuple(sorted(name for name in names if _fits(name, wanted)))


@lru_cache(maxsize=32)
def sentences(words: str) -> tuple[str, ...]:
    """The sentences in plain text, with what is quoted taken out."""
    text = _QUOTED.sub(_only_file_names, _BLOCK.sub("\n", plain(words)))
    return tuple(stripped for one in _SENTENCE.findall(text) if (stripped := _BULLET.sub("", one).strip()))


@lru_cache(maxsize=32)
def asking(words: str) -> tuple[str, ...]:
    """The clauses that may ask for something."""
    found: list[str] = []
    for sentence in sentences(words):
        if not _asks_to_know(sentence):
            found += (clause.strip()[:_LONGEST] for clause in _CLAUSE.split(sentence) if clause.strip())
    return tuple(found)


def _found(pattern: Pattern, words: str, session: str | None) -> str | None:
    """The words that fit, or None."""
    said = None
    if pattern.session:
        fit = compiled(pattern.session).search(plain(session or ""))
        if fit is None:
            return None
        said = f"session {fit[0]}"
    if not pattern.pattern:
        return said
    return _asked(pattern.pattern, words)


@lru_cache(maxsize=256)
def _asked(pattern: str, words: str) -> str | None:
    """The words that ask, found once for all turns of a chain."""
    regex = compiled(pattern)
    for clause in asking(words):
        fit = regex.search(clause)
        if fit is not None and not _NO_REQUEST.search(_NO_NEGATION.sub(" ", clause[: fit.end()])):
            return fit[0].strip()
    return None


def _asks_to_know(sentence: str) -> bool:
    if _ASKS_POLITELY.search(sentence):
        return False
    return _ASKS_TO_KNOW.search(sentence) is not None


def _only_file_names(quoted: re.Match[str]) -> str:
    inner = quoted[1] or quoted[2] or quoted[3] or ""
    return inner if _FILE_NAME.fullmatch(inner) else f" {QUOTED} "


@lru_cache(maxsize=4096)
def _fits(name: str, globs: tuple[str, ...]) -> bool:
    plainly = words_of(name)
    return any(fnmatchcase(plainly, glob) for glob in globs)


@lru_cache(maxsize=256)
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, made ready once."""
    return re.compile(pattern, re.IGNORECASE)
