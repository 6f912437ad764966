"""A text taken apart for F1: its sentences without markup and other people's speech, their words and their clauses."""

import re
from collections.abc import Iterator
from typing import Final

from haltpoint.chain import claims_english as english
from haltpoint.chain.claims_phrases import adverb
from haltpoint.chain.plain_text import plain

_BEHIND: Final = 24  # words of a clause that are looked at before a verb
_AHEAD: Final = 16  # and behind it
_BLOCK: Final = re.compile(r"```.*?(?:```|\Z)|^[ \t]*>.*$", re.DOTALL | re.MULTILINE)
_WORD: Final = re.compile(r"\w")
_MARKS: Final = re.compile(r"^(?:[ \t]*>)+|```(?:\w*$)?", re.MULTILINE)
_FIELD: Final = re.compile(
    r'"(?:content|(?:final_?)?(?:response|answer)|(?:user_?)?message|reply|summary|details|note)"'
    r'[ \n]{0,20}:[ \n]{0,20}"((?:[^"\\]|\\.){0,16384}+)"',
    re.IGNORECASE,
)
_BESIDE: Final = re.compile(r"[\w{:]")
_SPEECH: Final = re.compile(r'"[^"\n]{0,2000}"|(?<![\w])\'(?:[^\'\n]|(?<=\w)\'(?=\w)){2,2000}\'(?!\w)')
_MARKUP: Final = re.compile(r"[*_]{2,}|`|^[ \t]*(?:[-*+•#]+|\d+[.)])[ \t]+", re.MULTILINE)
_SHORT: Final = re.compile(r"\b(Mr|Mrs|Ms|Dr|Prof|St)\.(?=\s+[\w§])")
_SENTENCE: Final = re.compile(r"[^.!?\n]*(?:\.(?=[\w/])[^.!?\n]*)*[.!?\n]+|[^.!?\n]+")
_TOKEN: Final = re.compile(r"[\w@/~](?:[\w@/~]|['.-](?=\w)|(?<=\d)[,:](?=\d))*|-+|[^\s\w]")
_ENDS: Final = frozenset(',;:()[]—–"|') | {
    "-",
    "--",
    "but",
    "however",
    "so",
    "because",
    "although",
    "though",
    "therefore",
}
_STOPS: Final = _ENDS | frozenset(".!?")


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, without blocks of code, quoted lines and what stands in quotation marks.

    A text that is nothing but these is nobody else's, and of one JSON object its words are read.
    """
    plainly = plain(text).strip()
    own = _BLOCK.sub("\n", plainly)
    if not _WORD.search(own):
        own = _MARKS.sub("", plainly)
    if own.lstrip().startswith("{"):
        own = _FIELD.sub(r"\n\1\n", own)
    spoken = _SPEECH.sub(" § ", own)
    if not _BESIDE.search(spoken):
        spoken = own.replace('"', "\n")
    for found in _SENTENCE.finditer(_SHORT.sub(r"\1", _MARKUP.sub(" ", spoken))):
        if found[0].strip():
            yield found[0]


class Sentence:
    """One sentence, word by word: `tokens` in lower case, `originals` as they were written.

    `asked`: it ends with a question mark; `last_end`: the last place where a clause ended by a mark, -1 for none.
    """

    def __init__(self, sentence: str) -> None:
        self.originals: list[str] = _TOKEN.findall(sentence)
        self.tokens = [word.lower() for word in self.originals]
        self.asked = "?" in self.tokens[-3:]
        self._starts, self.last_end = self._clauses()

    def _clauses(self) -> tuple[list[int], int]:
        """Where the clause of each word begins, and the last place where one ended by a mark."""
        starts, start, last = [], 0, -1
        for i, word in enumerate(self.tokens):
            starts.append(start)
            if word in _STOPS and self._ends(i):
                start = i + 1
                last = i if word in _ENDS else last
        return starts, last

    def clause(self, i: int, behind: int) -> tuple[int, int]:
        """Where the clause around these words begins and ends, as far as it is looked at."""
        end = behind
        while end < len(self.tokens) and end - behind < _AHEAD and not self._ends(end):
            end += 1
        return max(self._starts[i], i - _BEHIND), end

    def _ends(self, at: int) -> bool:
        word = self.tokens[at]
        if word == ":":  # he says: ...
            return not any(one in english.REPORTS for one in self.tokens[max(0, at - 4) : at])
        return word in _STOPS

    def back(self, i: int, start: int) -> int:
        """The place before i, adverbs left out; start - 1 when there is none."""
        j = i - 1
        while j >= start and adverb(self.tokens[j]):
            j -= 1
        return j

    def at(self, i: int) -> str:
        """The word at i; empty behind the last one."""
        return self.tokens[i] if i < len(self.tokens) else ""
