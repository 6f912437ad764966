"""Hooks: code of yours around every call of a tool or a skill (CONTRACT H).

    from haltpoint import hook

    @hook.pre(tools="send_*", order=10)
    async def quiet_hours(call, ctx):
        return hook.ask("It is 3 am there. Send anyway?") if night(call) else hook.allow()

    @hook.post(tools="*", security=True)
    def no_card_numbers(call, result, ctx):
        if CARD.search(str(result.data)):
            return hook.block("the result holds a card number")

A pre-hook sees a call before it runs and says `allow` (as None does), `modify`, `block` or `ask`. A
post-hook sees the result and may return another ToolResult, `block`, or None to leave it.
`ctx` is the context that the tool gets. `tools` are globs over the names of tools and skills.
Pre-hooks run by `order`, post-hooks in reverse.

A hook that raises, takes longer than its `timeout` or answers with something else has failed. Then
the call is blocked, unless the tool is read-only and the hook is not declared with `security`: then
it continues, and the log says so.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Final, TypeVar

from haltpoint.contracts.reasons import Source
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.tools.declaration import seconds_of
from haltpoint.tools.errors import DeclarationError
from haltpoint.tools.signature import is_async, is_generator, place_of

F = TypeVar("F", bound=Callable[..., Any])

_ATTRIBUTE: Final = "__haltpoint_hook__"


@dataclass(frozen=True, slots=True)
class Call:
    """A call as a hook sees it: `arguments` are JSON values, a copy for each hook. `sources` say
    where the values at its marked places come from (`to`, `letters[0].to`). In a test, `tool` is
    enough.
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
    """The call continues with these arguments: all of them, not only those that change. They are
    checked again.
    """

    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Block:
    """The call does not run; or, after it ran, its result is withheld. The words become an error of
    type BLOCKED. `recoverable`: the model may try something else, before the call has run.
    """

    words: str
    recoverable: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """The call runs when a person has approved it, with exactly the arguments that they were
    shown.
    """

    question: str
    preview: str | None = None


allow, modify, block, ask = Allow, Modify, Block, Ask


class Moment(StrEnum):
    """When a hook runs."""

    PRE = "pre"
    POST = "post"


@dataclass(frozen=True, slots=True)
class Hook:
    """A declared hook. `name` is its dotted path, `module:function`; `place` is where, `file:line`,
    for messages.
    """

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


def hook_of(value: object) -> Hook | None:
    """The hook that a function was declared as, or None."""
    hook = inspect.getattr_static(value, _ATTRIBUTE, None)
    return hook if isinstance(hook, Hook) else None


def hooks_in(module: object) -> list[Hook]:
    """The hooks among the names of an imported module, those that it imported too."""
    declared = map(hook_of, vars(module).values())
    return list(dict.fromkeys(filter(None, declared)))


def _declaring(
    moment: Moment,
    *,
    tools: str | Sequence[str],
    order: int = 0,
    timeout: str | float = "5s",
    security: bool = False,
) -> Callable[[F], F]:
    globs = (tools,) if isinstance(tools, str) else tuple(tools)

    def declare(function: F) -> F:
        name = getattr(function, "__qualname__", type(function).__name__)
        place = place_of(function)
        try:
            _check(function, moment, globs)
            seconds = seconds_of(timeout)
        except DeclarationError as error:
            raise DeclarationError(f"hook {name!r} ({place}): {error}") from None
        path = f"{function.__module__}:{name}"
        hook = Hook(
            path, moment, function, globs, order, seconds, security, is_async(function), place
        )
        setattr(function, _ATTRIBUTE, hook)
        return function

    return declare


def _check(function: object, moment: Moment, globs: tuple[str, ...]) -> None:
    if inspect.isclass(function) or not callable(function):
        raise DeclarationError("only functions can be hooks")
    if not globs or not all(globs):
        raise DeclarationError(
            f"tools={globs!r}: give a glob over the names of tools, or several: tools='send_*'"
        )
    if is_generator(function):
        raise DeclarationError("a hook gives one answer: return it, do not yield")
    takes = ("call", "ctx") if moment is Moment.PRE else ("call", "result", "ctx")
    try:
        inspect.signature(function).bind(*takes)
    except TypeError:
        raise DeclarationError(f"a {moment}-hook takes ({', '.join(takes)})") from None


pre = partial(_declaring, Moment.PRE)
"""Declares a function `(call, ctx)` as a hook that runs before calls. Raises DeclarationError."""
post = partial(_declaring, Moment.POST)
"""Declares a function `(call, result, ctx)` as a hook that runs after calls. Raises
DeclarationError.
"""
