"""Words that wanted to be a call, or JSON, and are neither (C6, C9): what the model hears instead.

Where a call is required such words are refused anyway; where words are enough they would end a
step, or reach the user. Only marks that plain prose does not have: the tags around calls, ReAct's
pair of lines, both keys of a call, a text that begins as JSON. What is written without them (`note
text=hello`) is prose, and so are a tag between backticks and one key of a call alone: an answer may
explain such things.
"""

import re
from collections.abc import Container
from typing import Final

from haltpoint_planner.parsing.dialects import bare_name

_ANNOUNCED: Final = re.compile(
    r"""(?<!["'“„«‘])<(?:\w+:)?tool_calls?> | <function= | \[TOOL_CALLS\] | <[|｜]tool[▁_]calls?
      | \A \s* (?: ```tool_code | (?: <tools> \s* )? <(?:function|tool) (?:_call|_use)? \s+ name= )
      | (?: \A | \n ) [ \t*]* Action [ \t*]* : [^\n]{1,160} \n
        [ \t*]* Action\ Input [ \t*]* : \s{0,64} (?: ``` (?:json)? \s{0,64} )? \{
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NAME: Final = re.compile(r"""["'](?:tool|function|name|tool_?name)["']\s{0,64}:""", re.IGNORECASE)
_ARGUMENTS: Final = re.compile(
    r"""["'](?:arguments|parameters|args|tool_?input)["']\s{0,64}:""", re.IGNORECASE
)
_OBJECT: Final = re.compile(r"""\{\s{0,64}["']tool(?:_?name)?["']\s{0,64}:""", re.IGNORECASE)
_NAMED: Final = re.compile(r"""[=:>\[\]|｜"'`]\s{0,64}([\w.-]{1,128})""")
_QUOTED: Final = re.compile(r"`[^`\n]{1,200}`")
_FIRST: Final = re.compile(r"\s*+(?:[{\[]|```|---JSON|[A-Za-z_][\w.]{0,127}\()")
_DUE: Final = re.compile(r"-{3}\s{0,64}JSON_OUTPUT_START")
_BEGUN: Final = re.compile(
    r"""\A \s* (?: \{ \s* ["'{,] | \[ \s* (?: \{ \s* ["'] | \[ \s* \[ | "\w{1,40}" \s* : ) )""",
    re.VERBOSE,
)


def unread(words: str, left: str, *, json: bool) -> str | None:
    """What is wrong with words of which no call was read; `left`: the text around `json`, if there
    is any.
    """
    if _ANNOUNCED.search(_QUOTED.sub("", words)):
        return "the text announces a call that cannot be read"
    begun = _BEGUN.match(left) or (not json and _DUE.search(words))
    return pieces_in(left) or ("the text begins like JSON and is not valid JSON" if begun else None)


def names_one(words: str, tools: Container[str]) -> bool:
    """Whether a known tool's name is where the name of a call may be: behind a sign, as in
    `name="note"`.
    """
    return any(bare_name(name) in tools for name in _NAMED.findall(words))


def quoted(words: str) -> bool:
    """Whether what looks like pieces of a call may be quoted: words do not begin with it, no tag
    announces it.
    """
    return not _ANNOUNCED.search(words) and not _FIRST.match(words)


def pieces_in(left: str, *, beside_calls: bool = False) -> str | None:
    """What is wrong with what is left of words when their calls are taken out; None when it is
    prose indeed.

    Beside calls one key is enough: another call may have been meant.
    """
    plainly = _QUOTED.sub("", left)
    keys = len(_ARGUMENTS.findall(plainly)) + bool(_NAME.search(plainly))
    wanted = keys > 0 if beside_calls else keys > 1 or _OBJECT.search(plainly)
    return "the text contains parts of a call that cannot be read" if wanted else None
