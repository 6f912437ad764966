"""Python in a reply: calls with literal arguments, `[name(key="value")]`, and literals; read, and
never run (C9).
"""

import ast
import math
import re
import warnings
from collections.abc import Container
from typing import Any, Final

from haltpoint_planner.parsing.dialects import bare_name
from haltpoint_planner.parsing.json_text import NUMBER_DIGITS, Found, brackets

_LONGEST: Final = 96 * 1024  # characters; all calls of a proposal together may have no more
_JSON_NAMES: Final = {"true": True, "false": False, "null": None}
_CALL: Final = re.compile(
    r"""[\s\[\](),;]*+ (?:print\(|await\s)*+ ([A-Za-z_][\w.]{0,127}) \(
        (?= \s*+ (?: \) | [A-Za-z_]\w*\s*= | ["'\[{(] | \Z ) )""",
    re.VERBOSE,
)
_TOKEN: Final = re.compile(r"""\"""|'''|["'()\[\]{}]""")
_COMMENT: Final = re.compile(r"""\"""|'''|["'#]""")
_STRING_END: Final = {
    '"': re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL),
    "'": re.compile(r"[^'\\]*+(?:\\.[^'\\]*+)*+'", re.DOTALL),
    '"""': re.compile(r'(?:[^"\\]|\\.|"(?!""))*+"""', re.DOTALL),
    "'''": re.compile(r"(?:[^'\\]|\\.|'(?!''))*+'''", re.DOTALL),
}


def python_in(text: str) -> list[Found] | None:
    """The calls and the objects and lists that a text consists of; None when it consists of
    anything else.

    A call with arguments that are no literals has no value.
    """
    if len(text) > _LONGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a model's backslashes are no syntax warnings of ours
            statements = ast.parse(text).body
        return [found for statement in statements for found in _found(statement)]
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def literal_in(text: str) -> Found | None:
    """The object or list that a text is, written in Python; None when it is anything else."""
    found = python_in(text.strip())
    return found[0] if found and len(found) == 1 and not found[0].tool else None


def begun_call(text: str, tools: Container[str] | None = None) -> str | None:
    """The first of `tools` (any, when None) that is called in a text of nothing but calls, also
    when it is cut off.
    """
    position, named = 0, None
    while opening := _CALL.match(text, position):
        name = _short(opening[1])
        named = named or (name if tools is None or bare_name(name) in tools else None)
        end = _closed(text, opening.end())
        if end is None:
            return named
        position = end
    return None if text[position:].strip(" \n\t\r[](),;") else named


def has_comments(text: str) -> bool:
    """Whether Python has comments: they are words (C9)."""
    return any(True for _ in brackets(text, 0, _COMMENT, _STRING_END))


def _found(statement: ast.stmt) -> list[Found]:
    value = statement.value if isinstance(statement, ast.Expr) else None
    entries = [
        _call_in(entry) for entry in (value.elts if isinstance(value, ast.List) else [value])
    ]
    calls = [entry for entry in entries if entry is not None]
    if calls and len(calls) == len(entries):
        return [_call(call) for call in calls]
    if isinstance(value, ast.Dict | ast.List):
        return [Found(_literal(value))]
    raise ValueError(statement)


def _call_in(node: ast.expr | None) -> ast.Call | None:
    """The call that an expression is, also one that is awaited or printed."""
    match node:
        case ast.Await(value=inner):
            return _call_in(inner)
        case ast.Call(func=ast.Name(id="print"), args=[ast.Call() | ast.Await() as inner]):
            return _call_in(inner)
        case _:
            return node if isinstance(node, ast.Call) else None


def _call(call: ast.Call) -> Found:
    name = _dotted(call.func)
    names = [keyword.arg or "" for keyword in call.keywords]
    try:
        if call.args or "" in names or len(set(names)) < len(names):
            raise ValueError(names)
        return Found(
            {keyword.arg: _literal(keyword.value) for keyword in call.keywords}, tool=_short(name)
        )
    except ValueError:
        return Found(None, tool=_short(name))


def _dotted(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return f"{_dotted(function.value)}.{function.attr}"
    if isinstance(function, ast.Name):
        return function.id
    raise ValueError(function)


def _short(name: str) -> str:
    return name.removesuffix(".call")  # Llama's built-in tools


def _literal(node: ast.expr) -> Any:
    """The value of an expression. Raises ValueError when it would have to be run, or JSON does not
    know its value.
    """
    match node:
        case ast.Constant(value=value) if (
            value is None or isinstance(value, str | bool) or _is_number(value)
        ):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)) if (
            _is_number(number)
        ):
            return -number
        case ast.Name(id=name) if name in _JSON_NAMES:
            return _JSON_NAMES[name]
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_literal(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            names = [
                key.value
                for key in keys
                if isinstance(key, ast.Constant) and isinstance(key.value, str)
            ]
            if len(set(names)) == len(keys):
                return dict(zip(names, map(_literal, values), strict=True))
        case _:
            pass
    raise ValueError(node)


def _is_number(value: object) -> bool:
    """Whether this is a number that JSON and our wire can hold."""
    if isinstance(value, float):
        return math.isfinite(value)
    return type(value) is int and abs(value) < 10**NUMBER_DIGITS


def _closed(text: str, position: int) -> int | None:
    """Where the bracket that was opened before `position` is closed; None when it is not."""
    level = 1
    for bracket, end in brackets(text, position, _TOKEN, _STRING_END):
        level += 1 if bracket in "([{" else -1
        if not level:
            return end
    return None
