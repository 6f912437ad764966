"""Hooks: code of yours around every call of a tool or a skill (CONTRACT H).

    from haltpoint import hook

    @hook.pre(tools="send_*", order=10)
    async def quiet_hours(call, ctx):
        return hook.ask("It is 3 am there. Send anyway?") if night(call) else hook.allow()

    @hook.post(tools="*", security=True)
    def no_card_numbers(call, result, ctx):
        return hook.block("the result holds a card number") if CARD.search(str(result.data)) else None

A pre-hook sees a call before it runs and says `allow` (as None does), `modify`, `block` or `ask`. A post-hook sees what
came of it and may return another ToolResult, `block`, or None to leave it. `ctx` is the context that the tool gets.
`tools` are globs over the names of tools and skills. Pre-hooks run by `order`, post-hooks in reverse.

A hook that raises, takes longer than its `timeout` or answers with something else has failed. Then the call is blocked,
unless the tool is read-only and the hook is not declared with `security`: then it continues, and the log says so.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, Final, TypeVar

from haltpoint.contracts.reasons import Source
from haltpoint.contracts.results import ToolResult
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.tools.declaration import seconds_of
from haltpoint.tools.errors import DeclarationError
from haltpoint.tools.signature import is_async, place_of

F = TypeVar("F", bound=Callable[..., Any])

_ATTRIBUTE: Final = "__haltpoint_hook__"
_TIMEOUT: Final = "5s"


@dataclass(frozen=True, slots=True)
class Call:
    """A call as a hook sees it: `arguments` are JSON values, a copy for each hook. `sources` say where the values at
    its marked places come from (`to`, `letters[0].to`). In a test, `tool` is enough.
    """

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    spec: ToolSpec = field(default_factory=lambda: ToolSpec(name=""))
    sources: dict[str, Source] = field(default_factory=dict)

    @property
    def call_type(self) -> ToolKind:
        """Whether a tool is called or a skill."""
        return self.spec.kind


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may continue, as after None."""


@dataclass(frozen=True, slots=True)
class Modify:
    """The call continues with these arguments: all of them, not only those that change. They are checked again."""

    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Block:
    """The call does not run, and this is its result; or, after it ran, this takes the place of its result. Words become
    an error of type BLOCKED.
    """

    result: ToolResult[Any] | str


@dataclass(frozen=True, slots=True)
class Ask:
    """The call runs when a person has approved it, with exactly the arguments that they were shown."""

    question: str
    preview: str | None = None


allow, modify, block, ask = Allow, Modify, Block, Ask


class Moment(StrEnum):
    """When a hook runs."""

    PRE = "pre"
    POST = "post"


@dataclass(frozen=True, slots=True)
class Hook:
    """A declared hook. `name` is its dotted path, `module:function`; `place` is where, `file:line`, for messages."""

    name: str
    moment: Moment
    function: Callable[..., Any]
    tools: tuple[str, ...]
    order: int
    timeout: float
    security: bool
    is_async: bool
    place: str

    def matches(self, tool: str) -> bool:
        """Whether it runs around this tool or skill."""
        return any(fnmatchcase(tool, pattern) for pattern in self.tools)


def pre(
    *, tools: str | Sequence[str], order: int = 0, timeout: str | float = _TIMEOUT, security: bool = False
) -> Callable[[F], F]:
    """Declare a function `(call, ctx)` as a hook that runs before calls. Raises DeclarationError."""
    return _declaring(Moment.PRE, tools, order, timeout, security)


def post(
    *, tools: str | Sequence[str], order: int = 0, timeout: str | float = _TIMEOUT, security: bool = False
) -> Callable[[F], F]:
    """Declare a function `(call, result, ctx)` as a hook that runs after calls. Raises DeclarationError."""
    return _declaring(Moment.POST, tools, order, timeout, security)


def hook_of(value: object) -> Hook | None:
    """The hook that a function was declared as, or None."""
    found = vars(value).get(_ATTRIBUTE) if hasattr(value, "__dict__") else None
    return found if isinstance(found, Hook) else None


def hooks_in(module: object) -> list[Hook]:
    """The hooks among the names of an imported module, those that it imported too."""
    found = {id(made): made for value in list(vars(module).values()) if (made := hook_of(value))}
    return [*found.values()]


def _declaring(
    moment: Moment, tools: str | Sequence[str], order: int, timeout: str | float, security: bool
) -> Callable[[F], F]:
    def declare(function: F) -> F:
        made = _declare(
            moment, function, (tools,) if isinstance(tools, str) else tuple(tools), order, timeout, security
        )
        setattr(function, _ATTRIBUTE, made)
        return function

    return declare


def _declare(
    moment: Moment,
    function: Callable[..., Any],
    tools: tuple[str, ...],
    order: int,
    timeout: str | float,
    security: bool,
) -> Hook:
    name, place = getattr(function, "__qualname__", type(function).__name__), place_of(function)
    try:
        if inspect.isclass(function) or not callable(function):
            raise DeclarationError("only functions can be hooks")
        if not tools or not all(tools):
            raise DeclarationError(f"tools={tools!r}: give a glob over the names of tools, or several: tools='send_*'")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise DeclarationError("a hook gives one answer: return it, do not yield")
        takes = ("call", "ctx") if moment is Moment.PRE else ("call", "result", "ctx")
        try:
            inspect.signature(function).bind(*takes)
        except TypeError:
            raise DeclarationError(f"a {moment.value}-hook takes ({', '.join(takes)})") from None
        path = f"{function.__module__}:{name}"
        return Hook(path, moment, function, tools, order, seconds_of(timeout), security, is_async(function), place)
    except DeclarationError as error:
        raise DeclarationError(f"hook {name!r} ({place}): {error}") from None
