"""Calls whose tool is named outside of the JSON, as models write them when their server does not
translate them.

A JSON object with the tool's name right before it: Llama's <function=name>{...}, Mistral's
[TOOL_CALLS]name[ARGS]{...}, the tokens of DeepSeek and Kimi, the channels of gpt-oss, and ReAct's
"Action:" and "Action Input:". And blocks without JSON: parameters as tags (Qwen3-Coder, Anthropic's
old form, MiniMax, DeepSeek V3.2, GLM), and Python calls behind Llama's <|python_tag|>.

A call is only what has such a form, to the letter; everything else is prose (C9). Linear, and never
raises.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from haltpoint_planner.parsing.json_text import Found, leaves_open, mend, values_in
from haltpoint_planner.parsing.python_calls import begun_call, literal_in, python_in

_MOST_BLOCKS: Final = 64
_TAIL: Final = 400  # characters before a JSON object in which its tool may be named

_NAME: Final = r"""([^\s<>()\[\]{}"'`*|｜,=]{1,128})"""
_BEGIN: Final = r"<[|｜]tool[▁_]call[▁_]begin[|｜]>(?:function<[|｜]tool[▁_]sep[|｜]>)?"
_HEADS: Final = (
    rf"<function={_NAME}>",
    rf"\[TOOL_CALLS\]\s*{_NAME}(?:\[CALL_ID\]\w{{1,64}})?(?:\[ARGS\])?",
    rf"{_BEGIN}{_NAME}\s*(?:<[|｜]tool[▁_](?:sep|call[▁_]argument[▁_]begin)[|｜]>)?\s*(?:```json)?",
    rf"to={_NAME}[^{{}}\[\]]{{0,120}}<\|message\|>",
    (
        rf"(?:\A|\n)[ \t*]*Action[ \t*]*:[ \t*`]*{_NAME}[ \t*`]*\n[ \t*]*Action Input[ "
        r"\t*]*:[\s*]*(?:```(?:json)?)?"
    ),
)
_BEFORE: Final = re.compile("|".join(rf"(?:{head}\s*\Z)" for head in _HEADS))
_OPEN: Final = re.compile("|".join(rf"(?:{head}\s*(?=\{{))" for head in _HEADS))

_DSML: Final = r"(?:[|｜]DSML[|｜])?"
_BLOCK: Final = re.compile(
    rf"""<function={_NAME}>\s*(?=<parameter[=\s]|</function>)
      |  <{_DSML}invoke\s+name="{_NAME}"\s*>
      |  <tool_call>\s*{_NAME}\s*(?=<arg_key>|</tool_call>)
      |  <\|python_(?:tag|start)\|>\s*(?=\[?\s*[A-Za-z_][\w.]{{0,127}}\()
    """,
    re.VERBOSE,
)
_CLOSING: Final = re.compile(rf"\s{{0,64}}</{_DSML}(?:function|invoke|tool_call)>")
_PARAMETER: Final = re.compile(
    rf"""\s*(?:<{_DSML}parameter(?:=|\s+name=")([^">]{{1,128}})"?(?:\s+string="\w{{1,8}}")?>
      | <arg_key>([^<]{{1,128}})</arg_key>\s*<arg_value>)""",
    re.VERBOSE,
)
_VALUE_END: Final = re.compile(rf"</{_DSML}parameter>|</arg_value>")
_PYTHON_END: Final = re.compile(r"<\|(?:python_end|eom_id|eot_id|eot)\|>")

Piece = tuple[int, int, Found]
"""Where it begins and ends, and what it is."""


def pieces(text: str) -> Iterator[Piece]:
    """The JSON values and the blocks of a text in their order, none from inside of another, each
    with its tool.

    Behind a bracket that is never closed all of them may stand inside of a broken text: `repaired`.
    """
    position, broken = 0, False
    for _ in range(_MOST_BLOCKS):
        begin, block = position, _BLOCK.search(text, position)
        for start, end, found in values_in(text, position):
            if block is not None and block.start() < start:
                break
            head = _BEFORE.search(text, max(position, start - _TAIL), start)
            tool = _name(head) if head else found.tool
            yield (
                head.start() if head else start,
                end,
                replace(found, repaired=found.repaired or broken, tool=tool),
            )
            position = end
            if block is not None and block.start() < position:
                block = _BLOCK.search(text, position)
        if block is None:
            return
        broken = broken or leaves_open(text[begin : block.start()])
        read = _python if block.lastindex is None else _parameters
        for start, end, found in read(text, block):
            yield start, end, replace(found, repaired=found.repaired or broken)
            position = end


def cut_off(text: str) -> Found | None:
    """The first call whose tool is named before what is no JSON: a Python dict as it is, else
    fixed; or None.
    """
    head = _OPEN.search(text)
    if head is None:
        return None
    rest = text[head.end() :]
    guess = literal_in(rest.strip("`\n ")) or mend(rest)
    return replace(guess, tool=_name(head)) if guess else None


def _name(head: re.Match[str]) -> str:
    return re.sub(
        r":\d+\Z", "", head[head.lastindex or 0]
    )  # Kimi counts its calls: functions.name:0


def _parameters(text: str, block: re.Match[str]) -> Iterator[Piece]:
    """Arguments as tags, up to the end of their block; what does not end properly is no arguments
    at all.
    """
    tool, position = block[block.lastindex or 0], block.end()
    arguments: dict[str, Any] = {}
    again = False
    while (opening := _PARAMETER.match(text, position)) and (
        end := _VALUE_END.search(text, opening.end())
    ):
        name = (opening[1] or opening[2]).strip()
        again = again or name in arguments
        arguments[name] = text[opening.end() : end.start()].removeprefix("\n").removesuffix("\n")
        position = end.end()
    if closing := _CLOSING.match(text, position):
        yield block.start(), closing.end(), Found(arguments, again, tool)
    else:
        yield block.start(), len(text), Found(None, tool=tool)


def _python(text: str, block: re.Match[str]) -> Iterator[Piece]:
    """Calls with keyword arguments, `name(key="value")`, one after the other or in a list."""
    closing = _PYTHON_END.search(text, block.end())
    start, end = block.start(), closing.start() if closing else len(text)
    code = text[block.end() : end].strip()
    for found in python_in(code) or [Found(None, tool=begun_call(code) or "")]:
        yield start, end, found
        start = end
