"""From what a model said in one reply to a proposal, or to an answer (C9, C11): native calls; else
one JSON object in the documents' forms; else words. Whatever comes in, a value comes out.

    {"tool": "find", "arguments": {...}}                        a call; also tool_name, name; args,
                                                                parameters
    {"tool_calls": [...], "content": "..."}                     calls, and words
    {"content": "...", "next_step_decision": "fail"}            words, and the end of the step
    {"should_call_tool": false, "reasoning": "..."}             words
    {"target_agent": "billing", "task": "...", ...}             who works on the task (I3)

Names are in snake_case or camelCase. Where something is due, words may be beside the object. In an
answer or a reasoning step an object counts only when it is all there is.
"""

from bisect import bisect_right
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from typing import Final

from msgspec import json

from haltpoint.chain.checks.core_tools import IMPOSSIBLE
from haltpoint.chain.model.canonical import UNSEEN
from haltpoint.contracts.base import MAX_ARGUMENTS, MAX_BODY, JsonObject
from haltpoint.contracts.tools import END_STEP, ToolSpec
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.routing import ROUTE
from haltpoint.contracts.work.thoughts import Proposal
from haltpoint_planner.exchange import Finish, NativeCall, Reply
from haltpoint_planner.parsing.objects import (
    CUT,
    Block,
    UnreadableError,
    arguments_in,
    fields,
    object_in,
    without_surrogates,
    words_of,
)

MAX_CONTENT: Final = MAX_BODY - 64 * 1024
"""Bytes of words and arguments as JSON: with the rest they fit into a message."""
MAX_CALLS: Final = 32
_MAX_PROPOSAL: Final = 96 * 1024
"""Bytes of all arguments together."""
_TOOL_NAME: Final = 128
_EMPTY: Final = {
    Finish.STOP: "it is empty: it has neither words nor calls",
    Finish.LENGTH: "it is empty: it reached its limit of tokens",
    Finish.FILTER: "it is empty: the provider's content filter stopped it",
}
_STOPPED: Final = "it is empty: the provider stopped it, as it does for a call that it cannot read"
_PARTS: Final = {
    Finish.LENGTH: CUT,
    Finish.FILTER: "the provider's content filter stopped it",
}
"""Why only a part of a call is there."""
_TOOL: Final = ("tool", "tool_name", "name")
_ARGUMENTS: Final = ("arguments", "args", "parameters")
_DECISION: Final = ("target_agent", "task", "reasoning", "confidence")
_NO_REASON: Final = "The model gave no reason."
_LONGEST_REASON: Final = 2000


@dataclass(frozen=True, slots=True)
class Said:
    """What a reply says."""

    words: str = ""
    calls: tuple[NativeCall, ...] = ()
    fault: str = ""
    """What cannot be read of it, as half of a sentence."""


def draft_proposal(
    reply: Reply, tools: Mapping[str, ToolSpec], *, due: bool = True, may_be_silent: bool = False
) -> Proposal:
    """What the model wants in this turn. `tools` are all that are known; `due`: a call is due;
    `may_be_silent`: to say nothing is to be done.
    """
    said = _said_in(reply, tools, due=due)
    calls: list[ProposedCall] = []
    faults = [said.fault] if said.fault else []
    for call in said.calls[:MAX_CALLS]:
        try:
            calls.append(_proposed(call, reply))
        except UnreadableError as error:
            faults.append(str(error))
    left_out = len(said.calls) - MAX_CALLS
    if left_out > 0:
        faults.append(f"at most {MAX_CALLS} calls of a reply are read: {left_out} are left out")
    if _size(calls) > _MAX_PROPOSAL:
        faults.append(f"its calls have more than {_MAX_PROPOSAL} bytes together")
        calls.clear()
    is_done = may_be_silent and reply.finish is Finish.STOP
    if not (calls or faults or is_done) and is_blank(said.words):
        faults.append(_EMPTY.get(reply.finish, _STOPPED))
    content = "" if is_blank(said.words) else cut(said.words, MAX_CONTENT - _size(calls))
    return Proposal(content=content, calls=tuple(calls), faults=tuple(faults))


def draft_answer(reply: Reply, tools: Mapping[str, ToolSpec]) -> tuple[str, tuple[str, ...]]:
    """The words of an answer, and the tools that the reply calls instead."""
    said = _said_in(reply, tools)
    names = [without_surrogates(call.name)[:_TOOL_NAME] for call in said.calls[:MAX_CALLS]]
    called = tuple(name for name in names if name != END_STEP)
    return "" if is_blank(said.words) else cut(said.words), called


def is_blank(words: str) -> bool:
    """Whether a person sees nothing of it."""
    return not UNSEEN.sub("", words).strip()


def cut(text: str, room: int = MAX_CONTENT) -> str:
    """At most so many bytes as JSON; what is longer ends with a mark that says how many characters
    were cut off.
    """
    if _size(text) <= room:
        return text
    lengths = range(min(len(text), room))
    kept = bisect_right(lengths, room, key=lambda length: _size(text[:length])) - 1
    return f"{text[:kept]} [cut: {len(text) - kept} more characters]"


def _size(value: object) -> int:
    return len(json.encode(value))


def _proposed(call: NativeCall, reply: Reply) -> ProposedCall:
    """The call. One whose arguments cannot be read is not made without arguments: raises
    UnreadableError.
    """
    tool = without_surrogates(call.name)
    if not 0 < len(tool) <= _TOOL_NAME:
        raise UnreadableError(f"a call names no tool: {tool[:40]!r}")
    try:
        if reply.finish in _PARTS and call.arguments == "":
            raise UnreadableError(_PARTS[reply.finish])
        arguments = arguments_in(call.arguments)
        size = _size(arguments)
        if size > MAX_ARGUMENTS:
            raise UnreadableError(f"they have {size} bytes; at most {MAX_ARGUMENTS} are taken")
    except UnreadableError as error:
        why = _PARTS.get(reply.finish, error)
        raise UnreadableError(f"the arguments of {tool}: {why}") from error
    return ProposedCall(tool=tool, arguments=arguments)


def _said_in(reply: Reply, tools: Container[str], *, due: bool = False) -> Said:
    """Its native calls, with words beside them; else what is read of its words. `tools` are the
    known ones; `due`: a call is due, so an object is meant as one.
    """
    text = words_of(reply)
    words = Said(text.strip(), reply.calls)
    if reply.calls:
        return words
    try:
        block = object_in(text)
        if block is None:
            return words
        said = _said_by(block, tools)
    except UnreadableError as error:
        if not due:
            return words
        return replace(words, fault=CUT if reply.cut else str(error))
    if due:
        return said
    if block.beside or said.fault:
        return words
    names = {call.name for call in said.calls}
    names.discard(END_STEP)
    is_known = all(name in tools for name in names)
    return said if is_known else words


def _said_by(block: Block, tools: Container[str]) -> Said:
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
    has_arguments = not named.keys().isdisjoint(_ARGUMENTS)
    is_call = has_arguments and not named.keys().isdisjoint(_TOOL)
    return (_call(named),) if is_call or list(named) == ["tool"] else ()


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
