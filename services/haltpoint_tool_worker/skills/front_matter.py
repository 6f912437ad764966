"""What stands between the two `---` lines of a SKILL.md: a small, strict part of YAML.

    name: release-notes                       plain words: no ": " and no " #" in them
    description: "Writes: release notes."     or in quotes, as JSON or with '' for '
    compatibility: >                          or folded into one line; | keeps the lines
      needs nothing
    parameters: {"type": "object", ...}       or JSON, over as many indented lines as it needs
    metadata:                                 or more of these, one level deep
      author: somebody

Everything that is read means the same to a whole YAML parser. Everything else is an error that names its line: a file
that another parser reads otherwise would be two skills.
"""

import json
import re
from typing import Any, Final, cast

FENCE: Final = "---"
_ENTRY: Final = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):(?: +(.*))?$")
_SPECIAL: Final = tuple("[]{},&*!|>%@`\"'#?-")
_WORDS_OF_YAML: Final = re.compile(r"(?i)(~|null|true|false|yes|no|on|off|[-+.]?\d[\d_.:eE+-]*)")


class FrontMatterError(ValueError):
    """What is wrong, with the number of its line."""


def split(text: str) -> tuple[dict[str, Any], str]:
    """The front matter of a whole file, and the text behind it. Raises FrontMatterError."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != FENCE:
        raise FrontMatterError(f"line 1: a SKILL.md begins with a line of three dashes ({FENCE})")
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == FENCE), None)
    if end is None:
        raise FrontMatterError(f"line 1: the front matter has no end: a second line of three dashes ({FENCE})")
    return _entries(lines[1:end], first=2, nested=False), "\n".join(lines[end + 1 :]).strip()


def _entries(lines: list[str], first: int, *, nested: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    position = 0
    while position < len(lines):
        line, number = lines[position].rstrip(), first + position
        position += 1
        if not line or line.lstrip().startswith("#"):
            continue
        entry = _ENTRY.match(line)
        if entry is None:
            raise FrontMatterError(f"line {number}: {line.strip()[:60]!r} is not of the form `key: value`")
        key, value = entry[1], (entry[2] or "").strip()
        if key in found:
            raise FrontMatterError(f"line {number}: {key} is there twice")
        below: list[str] = []
        while position < len(lines) and (not lines[position].strip() or lines[position].startswith((" ", "\t"))):
            below.append(lines[position].rstrip())
            position += 1
        found[key] = _value(value, below, number, nested=nested)
    return found


def _value(value: str, below: list[str], number: int, *, nested: bool) -> Any:
    indented = _dedented(below, number)
    if value in ("|", "|-", "|+"):
        return "\n".join(indented).strip()
    if value in (">", ">-", ">+"):
        return _folded(indented)
    if value.startswith(("{", "[")) or (not value and indented and indented[0].startswith(("{", "["))):
        return _json("\n".join([value, *indented]), number)
    if not value:
        if nested and indented:
            raise FrontMatterError(f"line {number}: only one level of `key: value` below a key is read here")
        return _entries(indented, number + 1, nested=True) if indented else ""
    if value.startswith(("'", '"')):
        return _quoted(_folded([value, *indented]), number)
    return _plain(_folded([value, *indented]), number)


def _dedented(lines: list[str], number: int) -> list[str]:
    while lines and not lines[-1]:
        lines = lines[:-1]
    if any("\t" in line[: len(line) - len(line.lstrip())] for line in lines):
        raise FrontMatterError(f"line {number + 1}: indent with blanks, not with tabs")
    width = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
    return [line[width:] for line in lines]


def _folded(lines: list[str]) -> str:
    """Lines that are one paragraph; an empty one is a new line."""
    paragraphs: list[list[str]] = [[]]
    for line in lines:
        if line:
            paragraphs[-1].append(line.strip())
        else:
            paragraphs.append([])
    return "\n".join(" ".join(each) for each in paragraphs).strip()


def _json(text: str, number: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FrontMatterError(f"line {number}: this is no JSON: {error}") from None


def _quoted(text: str, number: int) -> str:
    if text.startswith('"'):
        try:
            return cast("str", json.loads(text))
        except ValueError:
            raise FrontMatterError(f"line {number}: words in double quotes are written as in JSON") from None
    if len(text) < 2 or not text.endswith("'") or "'" in text[1:-1].replace("''", ""):
        raise FrontMatterError(f"line {number}: words in single quotes end with one, and '' stands for one")
    return text[1:-1].replace("''", "'")


def _plain(text: str, number: int) -> str:
    if text.startswith(_SPECIAL) or ": " in text or text.endswith(":") or " #" in text:
        raise FrontMatterError(f"line {number}: {text[:60]!r} needs quotes: it has signs that mean something in YAML")
    if _WORDS_OF_YAML.fullmatch(text):
        raise FrontMatterError(f"line {number}: {text!r} needs quotes: without them it is no text in YAML")
    return text
