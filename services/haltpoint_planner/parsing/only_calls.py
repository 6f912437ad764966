"""A reply that is nothing but calls of known tools, markers aside (C9): as Python, or as dicts
whose keys are tools.

The same beside words is shown, not called. What is a call by its form and cannot be read is one
without arguments.
"""

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Final

from haltpoint.contracts.tools import ToolSpec
from haltpoint_planner.parsing.dialects import as_call, bare_name
from haltpoint_planner.parsing.json_text import Found
from haltpoint_planner.parsing.python_calls import begun_call, has_comments, python_in
from haltpoint_planner.parsing.wrapped import said_in, words_in

MARKERS: Final = (
    r"```[\w-]*[ \t]*|<\|(?:start|(?:header_)?start(?:_header_id)?|im_start)\|>assistant"
    r"|<\|channel\|>\w+"
    r"|</?(?:[|｜]DSML[|｜]|\w+:)?(?:tools|(?:tool|function)_calls?)>|</function>|\[/?TOOL_CALLS\]|<[|｜][^<>|｜\s]{1,48}[|｜]>"
)
_ENDS: Final = rf"(?!```py)(?:{MARKERS}|-{{3}}\s*JSON_OUTPUT_(?:START|END)\s*-{{3}})"
_FIRST: Final = re.compile(rf"\A(?:\s*+(?:{_ENDS}|tool_code\s*?\n))*+", re.IGNORECASE)
_LAST: Final = re.compile(rf"(?:{_ENDS}\s*+)++\Z", re.IGNORECASE)
"""Markers at the ends of a reply that is nothing but calls; a fence of Python is an answer in
code.
"""

_NAME: Final = r"([\w.-]{1,128})"
_FORMS: Final = re.compile(
    rf"""<(?:use_mcp_tool>.*?<tool_name|tool_use>\s*+<(?:tool_)?name|tool_name|tool)>\s*+{_NAME}\s*+</.*>
      | (?:<start_function_call>)?call:{_NAME}\{{.*
      | @{_NAME}\(.*\)
      | (?:analysis.{{0,2000}}?)?(?:assistant)?(?:commentary)?\s*+
        to={_NAME}(?:\s*+(?:<\|constrain\|>)?json)?\s*+\{{.*\}}
      | (?:Thought:.{{0,2000}}?\n\s{{0,8}})?(?:Action|Tool(?:[ ]call)?):[ ]`?{_NAME}`?
        (?:[(\[].*[)\]]|\s*\n(?:Action[ ]Input:\s*+(?!\{{)|Input:).*)
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
"""Replies that are a call by their form, which no reader knows; or prose, when the name is no
tool's.
"""

_OF_DATA: Final = re.compile(
    rf"""<{_NAME}(?:\s[^<>]*)?>.*</\1> | <{_NAME}(?:\s[^<>]*)?/>(?:\s*<.*)?
      | \**{_NAME}\**:?\s*+(?:```\w*\s*+)?\{{.*\}}""",
    re.VERBOSE | re.DOTALL,
)
"""Such forms that plain data has as well."""

_COMMON: Final = (
    "a",
    "article",
    "body",
    "code",
    "data",
    "details",
    "div",
    "html",
    "item",
    "items",
    "label",
    "link",
    "list",
    "map",
    "menu",
    "object",
    "p",
    "report",
    "result",
    "results",
    "section",
    "span",
    "style",
    "summary",
    "table",
    "text",
    "time",
    "title",
    "value",
    "video",
)
"""Names that data has: one of these is a tool's only beside an argument of it."""

QUOTES: Final = "\"'`´¨˝«»‘’‚‛“”„‟‹›⹂「」『』〝〞〟﹁﹂﹃﹄＂＇｢｣❛❜❝❞❟❠🙶🙷🙸ʼ՚՛׳״′″‴⁗‵‶‷ʹʺˮ"
"""The quotation marks of all scripts (Unicode's Quotation_Mark), their ornaments, and what stands
for them.
"""

_BLANKS: Final = " \t\r\n"
_BULLETS: Final = ">-•✅"
"""Marks before what a reply shows, and quotes around it."""

_TAIL: Final = 512  # characters of the markers behind a reply


def only_calls(text: str, values: Sequence[Found], tools: Mapping[str, ToolSpec]) -> list[Found]:
    """The calls that a text is, and nothing else but markers; none when it is words.

    `values`: the JSON that it consists of, if it does. One whose arguments cannot be read has none.
    """
    bare = _without_markers(text)
    consists = values or python_in(bare)
    if consists is None:
        name = begun_call(bare, tools) or _formed(bare, tools)
        return [Found(None, tool=name)] if name else []
    found = [call for value in consists for call in _keyed(value, tools)]
    known = any(bare_name(name) in tools for one in found for name in called_in(one, tools))
    alone = values or not has_comments(bare)
    return found if known and alone else []


def quoted_calls(text: str, tools: Mapping[str, ToolSpec]) -> list[Found]:
    """The same of a text in quotes or behind a bullet."""
    return only_calls(text.lstrip(QUOTES + _BLANKS + _BULLETS).rstrip(QUOTES + _BLANKS), (), tools)


def _formed(text: str, tools: Mapping[str, ToolSpec]) -> str:
    """The known tool that a text calls by its form, in a dialect that is not read; "" when it is
    words.
    """
    for form in (_FORMS, _OF_DATA):
        found = form.fullmatch(text)
        name = next(filter(None, found.groups()), "") if found else ""
        if bare_name(name) in tools and not (
            form is _OF_DATA and _is_data(bare_name(name), text, tools)
        ):
            return name
    return ""


def _is_data(name: str, text: str, tools: Mapping[str, ToolSpec]) -> bool:
    """Whether a common name is one of data here: no argument of the tool is written beside it."""
    arguments = tools[name].parameters.get("properties") or {}
    return name in _COMMON and not any(
        re.search(rf"\b{re.escape(argument)}\b", text) for argument in arguments
    )


def _without_markers(text: str) -> str:
    text = _FIRST.sub("", text)
    last = _LAST.search(text, max(0, len(text) - _TAIL))
    return (text[: last.start()] if last else text).strip()


def _keyed(found: Found, tools: Mapping[str, ToolSpec]) -> list[Found]:
    """The calls in a value of which every key is a tool's name; else the value itself."""
    entries = found.value if isinstance(found.value, list) else [found.value]
    named = [pair for entry in entries if isinstance(entry, dict) for pair in entry.items()]
    keyed = (
        entries and all(isinstance(entry, dict) for entry in entries) and not words_in(found.value)
    )
    if found.tool or not keyed or not all(bare_name(name) in tools for name, _ in named):
        return [found]
    if any(item and _is_data(bare_name(name), str(item), tools) for name, item in named):
        return [found]
    return [replace(found, tool=name, value=arguments) for name, arguments in named]


def called_in(found: Found, tools: Container[str]) -> list[str]:
    """The names of the tools that a value calls, whether they are known or not."""
    if found.tool:
        return [found.tool]
    told = said_in(found.value, tools, alone=False)
    return [
        call.name for item in (told.calls if told else ()) if (call := as_call(item)) is not None
    ]
