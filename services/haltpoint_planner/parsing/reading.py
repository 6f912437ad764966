"""What a model said in one reply (C9): native calls; else one JSON object in the documents' forms;
else words.

    {"tool": "find", "arguments": {...}}                        a call; also tool_name, name; args,
                                                                parameters
    {"tool_calls": [...], "content": "..."}                     calls, and words
    {"content": "...", "next_step_decision": "fail"}            words, and the end of the step
    {"should_call_tool": false, "reasoning": "..."}             words
    {"target_agent": "billing", "task": "...", ...}             who works on the task (I3)

Names are in snake_case or camelCase. Where something is due, words may be beside the object. In an
answer or a reasoning step an object counts only when it is all there is.
"""

from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Final

from haltpoint.chain.checks.core_tools import IMPOSSIBLE
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.tools import END_STEP
from haltpoint.contracts.work.routing import ROUTE
from haltpoint_planner.exchange import NativeCall, Reply
from haltpoint_planner.parsing.objects import (
    Block,
    UnreadableError,
    fields,
    object_in,
    words_of,
)

_TOOL: Final = ("tool", "tool_name", "name")
_ARGUMENTS: Final = ("arguments", "args", "parameters")
_DECISION: Final = ("target_agent", "task", "reasoning", "confidence")
_NO_REASON: Final = "The model gave no reason."
_LONGEST_REASON: Final = 2000

CUT: Final = "it is cut off: it reached its limit of tokens"


@dataclass(frozen=True, slots=True)
class Said:
    """What a reply says."""

    words: str = ""
    calls: tuple[NativeCall, ...] = ()
    fault: str = ""
    """What cannot be read of it, as half of a sentence."""


def read(reply: Reply, tools: Container[str], *, due: bool) -> Said:
    """What a reply without native calls says. `tools` are the known ones; `due`: a call is due, so
    an object is meant as one.
    """
    text = words_of(reply)
    words = Said(text.strip())
    try:
        block = object_in(text)
        if block is None:
            return words
        said = _said_in(block, tools)
    except UnreadableError as error:
        if not due:
            return words
        fault = CUT if reply.cut else str(error)
        return replace(words, fault=fault)
    if due:
        return said
    if block.beside or said.fault:
        return words
    names = {call.name for call in said.calls}
    names.discard(END_STEP)
    is_known = all(name in tools for name in names)
    return said if is_known else words


def _said_in(block: Block, tools: Container[str]) -> Said:
    named = fields(block.value)
    decides = "should_call_tool" in named
    content = named.get("reasoning" if decides else "content")
    own = content if isinstance(content, str) else ""
    words = "\n".join(filter(None, (block.beside, own)))
    if named.get("next_step_decision") == "fail":
        end = {"outcome": IMPOSSIBLE, "reason": words[:_LONGEST_REASON] or _NO_REASON}
        return Said(words, (NativeCall(END_STEP, end),))
    calls = _calls_in(named, tools)
    if calls or own or decides or "tool_calls" in named:
        return Said(words, calls)
    return Said(words, fault="its JSON object names no tool")


def _calls_in(named: JsonObject, tools: Container[str]) -> tuple[NativeCall, ...]:
    if ROUTE in tools and "target_agent" in named:
        decision = {name: named.get(name) for name in _DECISION}
        return (NativeCall(ROUTE, decision),)
    if "tool_calls" in named:
        listed = named["tool_calls"] or []
        if not isinstance(listed, list):
            raise UnreadableError("its tool_calls are not a list")
        return tuple(map(_call, listed))
    if named.get("should_call_tool") is False:
        return ()
    return (_call(named),) if _names_a_call(named) else ()


def _names_a_call(named: JsonObject) -> bool:
    """Whether an object is a call: it has a tool and arguments, or a tool and nothing else."""
    has_arguments = not named.keys().isdisjoint(_ARGUMENTS)
    return list(named) == ["tool"] or (has_arguments and not named.keys().isdisjoint(_TOOL))


def _call(value: object) -> NativeCall:
    named = fields(value) if isinstance(value, dict) else {}
    name = _only(named, _TOOL)
    if not isinstance(name, str):
        raise UnreadableError("one of its calls names no tool")
    return NativeCall(name, _only(named, _ARGUMENTS))


def _only(named: JsonObject, names: tuple[str, ...]) -> object:
    """The value under one of these names; None without any. Raises UnreadableError for two."""
    present = [name for name in names if name in named]
    if len(present) > 1:
        raise UnreadableError(f"one of its calls has both {' and '.join(present)}")
    if not present:
        return None
    return named[present[0]]
