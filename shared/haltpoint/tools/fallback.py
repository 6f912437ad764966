"""`@tool(fallback=...)`: the tools that replace a call that failed without an effect (CONTRACT E3).

@tool(fallback="send_sms")                               a tool with the same parameters
@tool(fallback=("send_sms", "send_letter"))              tools in order
@tool(fallback={"send_sms": {"number": "recipient"}})    their parameter: ours
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from haltpoint.contracts.tools import Fallback, ToolSpec
from haltpoint.tools.errors import DeclarationError

Named = str | Sequence[str] | Mapping[str, Mapping[str, str]]


def fallbacks_in(given: object) -> tuple[Fallback, ...]:
    """The trait as the catalogue has it, in order. Raises DeclarationError."""
    names: Sequence[Any] = (given,) if isinstance(given, str) else given if isinstance(given, tuple | list) else ()
    found = tuple(Fallback(tool=name) for name in names if isinstance(name, str))
    if isinstance(given, Mapping):
        found = tuple(Fallback(tool=str(name), arguments=_mapping(taken)) for name, taken in given.items())
    if not found or len(found) != len(names or found):
        words = "give a tool's name, names in order, or {name: {their parameter: ours}}"
        raise DeclarationError(f"fallback={given!r}: {words}")
    return found


def _mapping(given: object) -> dict[str, str]:
    if not isinstance(given, Mapping) or not all(isinstance(one, str) for pair in given.items() for one in pair):
        raise DeclarationError(f"fallback={given!r}: name parameters, as in {{'number': 'recipient'}}")
    return dict(given)


def all_fallbacks(spec: ToolSpec, tools: Mapping[str, ToolSpec]) -> tuple[Fallback, ...]:
    """The tools that replace one, in order, those of its fallbacks behind each. Raises DeclarationError for one
    that there is not, that would do more, that takes other parameters, or that leads back.
    """
    found: dict[str, Fallback] = {}
    _gather(spec, tools, (), found)
    return tuple(found.values())


def _gather(
    spec: ToolSpec, tools: Mapping[str, ToolSpec], above: tuple[ToolSpec, ...], found: dict[str, Fallback]
) -> None:
    path = (*above, spec)
    for one in spec.fallback:
        other = tools.get(one.tool)
        if other is None:
            raise DeclarationError(f"its fallback {one.tool!r} is no tool of this worker's modules")
        if other in path:
            way = " -> ".join(each.name for each in (*path, other))
            raise DeclarationError(f"its fallbacks form a cycle: {way}; remove one of them")
        if (words := beyond(spec, other) or _more(spec, other)) is not None:
            raise DeclarationError(f"its fallback {one.tool!r} would do more: {words}")
        if faults := _parameter_faults(spec, other, one.arguments):
            raise DeclarationError(f"its fallback {one.tool!r} takes other parameters: {'; '.join(faults)}")
        through = found.get(spec.name) if above else None
        found.setdefault(
            one.tool, one if through is None else replace(one, arguments=_through(through.arguments, one.arguments))
        )
        _gather(other, tools, path, found)


def _through(first: dict[str, str] | None, then: dict[str, str] | None) -> dict[str, str] | None:
    """The mapping of a fallback's fallback, from the parameters of the tool that both replace."""
    if first is None or then is None:
        return then if first is None else first
    return {theirs: first[ours] for theirs, ours in then.items() if ours in first}


def beyond(caller: ToolSpec, called: ToolSpec) -> str | None:
    """Why this tool may not call that one, nor be replaced by it, in words; None when it may."""
    if called.plan is not None:
        return f"{called.name} is a skill with steps, which runs in a chain of its own: a tool cannot call it"
    if caller.read_only and not called.read_only:
        return f"{caller.name} is declared read-only, and {called.name} is not"
    if caller.read_only and called.outward and not caller.outward:
        return f"{called.name} is declared outward, and {caller.name} is not"
    if caller.idempotent and not called.repeatable:
        return f"{caller.name} is declared idempotent, and {called.name} is neither that nor read-only"
    return None


def _more(spec: ToolSpec, other: ToolSpec) -> str | None:
    """What else a tool declares that the one does not in whose place it would be called."""
    flags = ("destructive", "may_clarify", "internal")
    more = [flag for flag in flags if getattr(other, flag) and not getattr(spec, flag)]
    return f"{other.name} is declared {' and '.join(more)}, and {spec.name} is not" if more else None


def _parameter_faults(spec: ToolSpec, other: ToolSpec, mapping: dict[str, str] | None) -> list[str]:
    own, theirs = spec.parameters.get("properties", {}), other.parameters.get("properties", {})
    pairs = {name: name for name in own} if mapping is None else mapping
    faults = [f"it has no {name}" for name in pairs if name not in theirs]
    faults += [f"{spec.name} has no {name}" for name in pairs.values() if name not in own]
    always = set(spec.parameters.get("required", ()))
    needed = [name for name in other.parameters.get("required", ()) if pairs.get(name) not in always]
    return [*faults, *(f"it needs {name}, which is not always given" for name in needed)]
