"""`@tool` and `register`: a typed Python function becomes a tool (CONTRACT A).

    @tool(queue="contacts", read_only=True, may_clarify=True, timeout="5s")
    async def lookup_contacts(query: str, ctx: Ctx[Deps]) -> ToolResult[Match]: ...

The function stays what it was and can be called in a test. The docstring is the description;
parameters (but the one annotated as Ctx, or named `ctx`) and the return annotation become JSON
Schemas. A plain return value means `continue`; one that is not a JSON object by its type arrives as
`{"value": ...}`. A dict with `success` and `next_action` is read as a ToolResult.

A tools module may define what its tools need, opened once by each worker and given to them as
`ctx.deps`:

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[Deps]:
        async with httpx.AsyncClient() as http:
            yield Deps(http)
"""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from traceback import extract_stack
from typing import Annotated, Any, Final, TypedDict, TypeVar, Unpack, overload

import msgspec
from msgspec import structs

from haltpoint.contracts.strict_json import fault_in
from haltpoint.contracts.tools import BUILT_IN, DEFAULT_TIMEOUT, Recovery, Retry, ToolSpec
from haltpoint.contracts.work.routing import ROUTE
from haltpoint.contracts.written import in_seconds
from haltpoint.tools.callback import Callback, callback_of
from haltpoint.tools.errors import DeclarationError
from haltpoint.tools.limits import limits_of
from haltpoint.tools.signature import (
    CONTEXT,
    Function,
    Inputs,
    Output,
    fields_in,
    hints_of,
    is_async,
    place_of,
    read_inputs,
    read_output,
)
from haltpoint.tools.templates import check_names

F = TypeVar("F", bound=Callable[..., Any])

_Seconds = Annotated[float, msgspec.Meta(gt=0, le=1e12)]
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LETTERS: Final = "1 to 64 letters, digits, _ or -"
_ATTRIBUTE: Final = "__haltpoint_tool__"
_REGISTERED: Final[dict[str, dict[str, "Tool"]]] = {}
"""Tools made by `register`: file of the call -> its place and the name -> tool."""


class Traits(TypedDict, total=False):
    """What a declaration may say beside the function; without any effect the tool is started at
    most once.
    """

    name: str
    """What models call it; default: the function's name."""
    description: str
    """What models read; default: the docstring."""
    read_only: bool
    """It changes nothing, so it may run again."""
    idempotent: bool
    """Under one `ctx.idempotency_key` its effect happens once, so it may run again."""
    destructive: bool
    """It destroys something, so it runs only when a person approves this very call."""
    may_clarify: bool
    """It may ask which one is meant."""
    repeats: bool
    """The same call may be made again, as for the next page or a job's state."""
    internal: bool
    """No plan and no model may call it."""
    queue: str
    """The queue of the workers that serve it; default: `default`."""
    timeout: str | float
    """How long a call may run, in seconds or as `5s`; default: 30 s."""
    says: str
    """The line of its deed, with parameters and fields of the result: `Ordered {copies} of
    {title}`.
    """
    no_effect: tuple[type[BaseException], ...]
    """Exceptions that mean that nothing has happened."""
    preview: Callable[..., Any]
    """A function that takes its parameters and says what the call would do."""
    retry: Retry
    """How often a repeatable call runs again, and when."""
    reconcile: Callable[..., Any]
    """A function that finds out whether a call in doubt happened."""
    rate_limit: str | tuple[str, ...]
    """How many calls may begin in a time, over all workers: `10/s burst 20`, `1/s per tenant`."""
    at_once: int | str | tuple[int | str, ...]
    """How many calls may run at one moment, over all workers: `4`, `1 per tenant`."""
    effect_key: str
    """The name of its effect, which happens once in 30 days over all chains: `refund:{payment_id}`.

    """
    one_of_parameters: tuple[tuple[str, ...], ...]
    """Groups of optional parameters; a call gives at least one of each."""
    undo: Callable[..., Any]
    """A function that takes back a call that succeeded."""


_LEFT: Final = {
    "polls": " (now repeats)",
    "compensate": " (now undo)",
    "one_of": " (now one_of_parameters)",
    "outward": " (now Target or NotTarget of a parameter)",
    "cache": " (keep results in your own code)",
    "shared": " (keep results in your own code)",
    "fallback": " (a model looks for another way)",
    "strikes": " (now of a task, or of the policy file)",
}
"""Traits of 0.2, and what to write in their place."""
_PLAIN: Final = {"queue", "says"}.union(
    name for name, hint in Traits.__annotations__.items() if hint is bool
)
"""Traits that the declaration has as they are."""
_KINDS: Final = {bool: "True or False", str: "a text"}
_CONTRADICTIONS: Final = (
    ("read_only", "destructive", ""),
    ("read_only", "preview", ": a preview tells what a call would change"),
    ("read_only", "effect_key", ": a read-only tool has no effect"),
    ("read_only", "undo", ": there is nothing to undo"),
    ("repeats", "effect_key", ": the effect happens once"),
    ("reconcile", "read_only", ": read-only and idempotent ones run again"),
    ("reconcile", "idempotent", ": read-only and idempotent ones run again"),
)
"""Pairs of traits that no tool has, and why."""


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """A declared tool. `place` is where, `file:line`, for messages. `no_effect`: after these
    exceptions nothing has happened.
    """

    spec: ToolSpec
    function: Function
    inputs: Inputs
    output: Output
    is_async: bool
    place: str
    no_effect: tuple[type[BaseException], ...] = ()
    preview: Callback | None = None
    reconcile: Callback | None = None
    undo: Callback | None = None

    @property
    def name(self) -> str:
        """As models and plans call it."""
        return self.spec.name

    def parse(self, arguments: str | bytes) -> dict[str, Any]:
        """The call's keyword arguments, without the context, from JSON text. Raises pydantic's
        ValidationError.
        """
        return self.inputs.adapter.validate_json(arguments)


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(**traits: Unpack[Traits]) -> Callable[[F], F]: ...
def tool(function: F | None = None, /, **traits: Unpack[Traits]) -> F | Callable[[F], F]:
    """Declare a function as a tool, with or without brackets. Raises DeclarationError while the
    module is imported.
    """

    def declare(target: F) -> F:
        made = _declare(target, traits, place_of(target), decorated=True)
        setattr(target, _ATTRIBUTE, made)
        return target

    return declare if function is None else declare(function)


def register(function: Function, /, **traits: Unpack[Traits]) -> Tool:
    """Make a tool of a callable from elsewhere, for the module that calls this. Raises
    DeclarationError.
    """
    caller = extract_stack(limit=2)[0]
    place = f"{caller.filename}:{caller.lineno}"
    made = _declare(function, traits, place)
    registered = _REGISTERED.setdefault(caller.filename, {})
    registered[f"{place} {made.name}"] = made
    return made


def tool_of(value: object) -> Tool | None:
    """The tool that a function was declared as, or None."""
    made = value if isinstance(value, Tool) else inspect.getattr_static(value, _ATTRIBUTE, None)
    return made if isinstance(made, Tool) else None


def tools_in(module: object) -> list[Tool]:
    """The tools of an imported module: its decorated functions, those it imported too, and what it
    registered.
    """
    file = getattr(module, "__file__", "")
    registered = _REGISTERED.get(file, {})
    declared = map(tool_of, chain(vars(module).values(), registered.values()))
    return list(dict.fromkeys(filter(None, declared)))


def _declare(function: Function, traits: Traits, place: str, *, decorated: bool = False) -> Tool:
    own_name = getattr(function, "__name__", type(function).__name__)
    name = str(traits.get("name") or own_name)
    try:
        _check(name, function, traits)
        if decorated:
            _check_alone(function, place)
        return _made(name, function, traits, place)
    except DeclarationError as error:
        raise DeclarationError(f"tool {name!r} ({place}): {error}") from error.__cause__


def _check_alone(function: Function, place: str) -> None:
    """Whether its module has it, and no tool of this name before it, which would be lost. Raises
    DeclarationError.
    """
    path = getattr(function, "__qualname__", "")
    if "." in path.rpartition("<locals>.")[2]:
        raise DeclarationError(
            "a tool is a function: take it out of its class, or register the method of an object"
        )
    other = tool_of(getattr(function, "__globals__", {}).get(path))
    others = "" if other is None else other.place
    file = place.rpartition(":")[0]
    if others.startswith(f"{file}:") and others != place:
        raise DeclarationError(
            f"{others} declares a function of this name, too, and is lost: rename one of them"
        )


def _check(name: str, function: object, traits: Traits) -> None:
    """Whether it can be a tool, and its traits go together. Raises DeclarationError."""
    if inspect.isclass(function) or not callable(function):
        kind = "class" if isinstance(function, type) else type(function).__name__
        words = f"only functions and callable objects can be tools, not a {kind}"
        raise DeclarationError(f"{words}; traits have names, as in @tool(description='...')")
    if not _NAME.fullmatch(name):
        raise DeclarationError(f"a tool's name has {_LETTERS}; give one with name=...")
    if name in (*BUILT_IN, ROUTE):
        raise DeclarationError("this is the name of a built-in tool; give another with name=...")
    known = Traits.__annotations__
    for trait in sorted(set(traits) - set(known)):
        near = [f" (did you mean {name}?)" for name in get_close_matches(trait, known, n=1)]
        advice = _LEFT.get(trait, "".join(near))
        there_are = ", ".join(known)
        raise DeclarationError(f"{trait}{advice}: no such trait; there are {there_are}")
    for trait, given in traits.items():
        kind = known[trait]
        if kind in _KINDS and not isinstance(given, kind):
            raise DeclarationError(f"{trait}={given!r}: give {_KINDS[kind]}")
    declared = {name for name, given in traits.items() if given is not False}
    for trait, other, why in _CONTRADICTIONS:
        if {trait, other} <= declared:
            raise DeclarationError(f"{trait} and {other} contradict each other{why}")
    queue = traits.get("queue", "default")
    if not _NAME.fullmatch(queue):
        raise DeclarationError(f"queue {queue!r}: a queue's name has {_LETTERS}")


def _made(name: str, function: Function, traits: Traits, place: str) -> Tool:
    hints = hints_of(function)
    read_only = traits.get("read_only", False)
    one_of = traits.get("one_of_parameters", ())
    inputs = read_inputs(function, hints, read_only=read_only, one_of=one_of)
    output = read_output(hints)
    no_effect: Any = traits.get("no_effect", ())
    classes = no_effect if isinstance(no_effect, tuple) else (None,)
    if not all(inspect.isclass(kind) and issubclass(kind, BaseException) for kind in classes):
        raise DeclarationError(
            f"no_effect={no_effect!r}: give classes of exceptions, as in (ValueError, LookupError)"
        )
    return Tool(
        spec=_spec(name, function, traits, inputs, output),
        function=function,
        inputs=inputs,
        output=output,
        is_async=is_async(function),
        place=place,
        no_effect=no_effect,
        preview=callback_of("preview", traits, name, {*inputs.schema["properties"], CONTEXT}),
        reconcile=callback_of("reconcile", traits, name, {"arguments", "key", CONTEXT}),
        undo=callback_of("undo", traits, name, {"arguments", "result", CONTEXT}),
    )


def _spec(
    name: str, function: Function, traits: Traits, inputs: Inputs, output: Output
) -> ToolSpec:
    if fault := fault_in([inputs.schema, output.schema]):
        raise DeclarationError(f"JSON cannot say its schema: {fault}")
    parameters = [*inputs.schema["properties"]]
    if "says" in traits:
        check_names("says", traits["says"], [*parameters, *fields_in(output.schema or {})])
    if "effect_key" in traits:
        check_names("effect_key", traits["effect_key"], parameters)
    description = traits.get("description") or inspect.getdoc(function) or ""
    recovery = Recovery(
        retry=_retry(traits.get("retry", Retry())),
        reconciles="reconcile" in traits,
        limits=limits_of(traits.get("rate_limit", ()), traits.get("at_once", ())),
        effect_key=traits.get("effect_key"),
    )
    declared = {trait: given for trait, given in traits.items() if trait in _PLAIN}
    return ToolSpec(
        name=name,
        description=description.strip(),
        parameters=inputs.schema,
        result_schema=output.schema,
        timeout=seconds_of(traits.get("timeout", DEFAULT_TIMEOUT)),
        recovery=recovery,
        previews="preview" in traits,
        provenance=inputs.provenance,
        targets=inputs.targets,
        foreign=output.foreign,
        **declared,  # type: ignore[arg-type]
    )


def _retry(given: Any) -> Retry:
    """The trait with seconds as numbers. Raises DeclarationError."""
    try:
        retry = msgspec.convert(structs.asdict(given), Retry)
    except (msgspec.ValidationError, TypeError) as error:
        form = "give Retry(attempts=3, first='1s', most='30s'), attempts from 1 to 100"
        raise DeclarationError(f"retry={given!r}: {form}") from error
    first = seconds_of(retry.first, "first")
    most = seconds_of(retry.most, "most")
    if first > most:
        raise DeclarationError(f"retry: first={retry.first!r} is longer than most={retry.most!r}")
    return structs.replace(retry, first=first, most=most)


def seconds_of(value: object, name: str = "timeout") -> float:
    """A time in seconds, also from text as `5s`. Raises DeclarationError."""
    try:
        return msgspec.convert(in_seconds(value), _Seconds)
    except msgspec.ValidationError:
        raise DeclarationError(
            f"{name}={value!r}: give seconds, or a number with ms, s, m, h or d, as in '5s'"
        ) from None
