"""Calls whose tool is named outside of the JSON, as models write them when their server does not translate them.

A JSON object with the tool's name right before it: Llama's <function=name>{...}, Mistral's [TOOL_CALLS]name[ARGS]{...},
the tokens of DeepSeek and Kimi, the channels of gpt-oss, and ReAct's "Action:" and "Action Input:". And blocks without
JSON: parameters as tags (Qwen3-Coder, Anthropic's old form, GLM), and Python calls behind Llama's <|python_tag|>.

A call is only what stands in such a form, to the letter; everything else is prose (C9). Linear, and never raises.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from haltpoint_planner.json_text import Found, end_of, leaves_open, mend, parse, values_in

_MOST_BLOCKS: Final = 64
_TAIL: Final = 400  # characters before a JSON object in which its tool may be named

_NAME: Final = r"""([^\s<>()\[\]{}"'`*|｜,=]{1,128})"""
_BEGIN: Final = r"<[|｜]tool[▁_]call[▁_]begin[|｜]>(?:function<[|｜]tool[▁_]sep[|｜]>)?"
_HEADS: Final = (
    rf"<function={_NAME}>",
    rf"\[TOOL_CALLS\]\s*{_NAME}(?:\[CALL_ID\]\w{{1,64}})?(?:\[ARGS\])?",
    rf"{_BEGIN}{_NAME}\s*(?:<[|｜]tool[▁_](?:sep|call[▁_]argument[▁_]begin)[|｜]>)?\s*(?:```json)?",
    rf"to={_NAME}[^{{}}\[\]]{{0,120}}<\|message\|>",
    rf"(?:\A|\n)[ \t*]*Action[ \t*]*:[ \t*`]*{_NAME}[ \t*`]*\n[ \t*]*Action Input[ \t*]*:[\s*]*(?:```(?:json)?)?",
)
_BEFORE: Final = re.compile("|".join(rf"(?:{head}\s*\Z)" for head in _HEADS))
_OPEN: Final = re.compile("|".join(rf"(?:{head}\s*(?=\{{))" for head in _HEADS))

_BLOCK: Final = re.compile(
    rf"""<function={_NAME}>\s*(?=<parameter[=\s]|</function>)
      |  <invoke\s+name="{_NAME}"\s*>
      |  <tool_call>\s*{_NAME}\s*(?=<arg_key>|</tool_call>)
      |  <\|python_(?:tag|start)\|>\s*(?=\[?\s*[A-Za-z_][\w.]{{0,127}}\()
    """,
    re.VERBOSE,
)
_CLOSINGS: Final = (None, "</function>", "</invoke>", "</tool_call>")
_PARAMETER: Final = re.compile(
    r"""\s*(?:<parameter(?:=|\s+name=")([^">]{1,128})"?>|<arg_key>([^<]{1,128})</arg_key>\s*<arg_value>)"""
)
_PYTHON: Final = re.compile(r"[\s\[,;]*([A-Za-z_][\w.]{0,127}?)(?:\.call)?\(")
_LIST_END: Final = re.compile(r"\s*\]")
_KEYWORD: Final = re.compile(r"\s*([A-Za-z_]\w{0,127})\s*=\s*")
_AFTER: Final = re.compile(r"\s*([,)])")
_QUOTED: Final = re.compile(r"""'([^'\\]*+(?:\\.[^'\\]*+)*+)'|"[^"\\]*+(?:\\.[^"\\]*+)*+\"""", re.DOTALL)
_PLAIN: Final = re.compile(r"[\w.+-]{1,400}")
_CONSTANTS: Final = {"True": True, "False": False, "None": None}

Piece = tuple[int, int, Found]
"""Where it begins and ends, and what it is."""


def pieces(text: str) -> Iterator[Piece]:
    """The JSON values and the blocks of a text in their order, none from inside of another, each with its tool.

    Behind a bracket that is never closed all of them may stand inside of a broken text: `repaired`.
    """
    position, broken = 0, False
    for _ in range(_MOST_BLOCKS):
        begin, block = position, _BLOCK.search(text, position)
        for start, end, found in values_in(text, position):
            if block is not None and block.start() < start:
                break
            yield _with_tool(text, position, start, end, replace(found, repaired=found.repaired or broken))
            position = end
            if block is not None and block.start() < position:
                block = _BLOCK.search(text, position)
        if block is None:
            return
        broken = broken or leaves_open(text[begin : block.start()])
        for start, end, found in _read(text, block):
            yield start, end, replace(found, repaired=found.repaired or broken)
            position = end


def cut_off(text: str) -> Found | None:
    """The first call that names its tool before its JSON and does not finish it, mended; None when there is none."""
    head = _OPEN.search(text)
    guess = mend(text[head.end() :]) if head else None
    return replace(guess, tool=_name(head)) if head and guess else None


def _with_tool(text: str, after: int, start: int, end: int, found: Found) -> Piece:
    head = _BEFORE.search(text, max(after, start - _TAIL), start)
    return (head.start(), end, replace(found, tool=_name(head))) if head else (start, end, found)


def _name(head: re.Match[str]) -> str:
    return re.sub(r":\d+\Z", "", head[head.lastindex or 0])  # Kimi counts its calls: functions.name:0


def _read(text: str, block: re.Match[str]) -> Iterator[Piece]:
    closing = _CLOSINGS[block.lastindex or 0]
    if closing is None:
        yield from _python(text, block)
    else:
        end, found = _parameters(text, block.end(), closing)
        yield block.start(), end, replace(found, tool=block[block.lastindex or 0])


def _parameters(text: str, position: int, closing: str) -> tuple[int, Found]:
    """Arguments as tags, up to `closing`; what does not end properly is no arguments at all."""
    arguments: dict[str, Any] = {}
    again = False
    while opening := _PARAMETER.match(text, position):
        ends = "</parameter>" if opening[1] else "</arg_value>"
        end = text.find(ends, opening.end())
        if end < 0:
            return len(text), Found(None)
        name = (opening[1] or opening[2]).strip()
        again = again or name in arguments
        arguments[name] = _value(text[opening.end() : end])
        position = end + len(ends)
    if not text[position : position + 64].lstrip().startswith(closing):
        return len(text), Found(None)
    return text.index(closing, position) + len(closing), Found(arguments, again)


def _value(text: str) -> object:
    """A value between tags: JSON when it is JSON and no text, else the text without the line breaks around it."""
    found = parse(text.strip())
    if found is None or found.repaired or isinstance(found.value, str):
        return text.removeprefix("\n").removesuffix("\n")
    return found.value


def _python(text: str, block: re.Match[str]) -> Iterator[Piece]:
    """Calls with keyword arguments, `name(key="value")`, one after the other or in a list."""
    start, position = block.start(), block.end()
    while opening := _PYTHON.match(text, position):
        position, arguments = _keywords(text, opening.end())
        yield start, position, Found(arguments, tool=opening[1])
        start = position
    if closed := _LIST_END.match(text, position):
        yield position, closed.end(), Found(None)


def _keywords(text: str, position: int) -> tuple[int, dict[str, Any] | None]:
    arguments: dict[str, Any] = {}
    if (empty := _AFTER.match(text, position)) and empty[1] == ")":
        return empty.end(), arguments
    while keyword := _KEYWORD.match(text, position):
        position, found = _python_value(text, keyword.end())
        after = _AFTER.match(text, position)
        if found is None or found.repaired or after is None or keyword[1] in arguments:
            break
        arguments[keyword[1]] = found.value
        position = after.end()
        if after[1] == ")":
            return position, arguments
    return len(text), None


def _python_value(text: str, position: int) -> tuple[int, Found | None]:
    if quoted := _QUOTED.match(text, position):
        as_json = quoted[0]
        if quoted[1] is not None:
            inside = quoted[1].replace("\\'", "'").replace('"', '\\"')
            as_json = f'"{inside}"'
        return quoted.end(), parse(as_json)
    if text[position : position + 1] in ("{", "["):
        end = end_of(text, position)
        return (end, parse(text[position:end])) if end else (position, None)
    plain = _PLAIN.match(text, position)
    if plain is None:
        return position, None
    return plain.end(), Found(_CONSTANTS[plain[0]]) if plain[0] in _CONSTANTS else parse(plain[0])
