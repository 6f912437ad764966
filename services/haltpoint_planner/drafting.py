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

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from msgspec import json

from haltpoint.chain.checks.core_tools import IMPOSSIBLE
from haltpoint.chain.model.canonical import UNSEEN
from haltpoint.contracts.base import MAX_BODY
from haltpoint.contracts.tools import END_STEP, ToolSpec
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.routing import ROUTE
from haltpoint.contracts.work.thoughts import Proposal
from haltpoint_planner.exchange import Finish, NativeCall, Reply
from haltpoint_planner.parsing.completions import (
    PARTIAL,
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
_SPELLINGS: Final = {
    "tool_name": "tool",
    "name": "tool",
    "args": "arguments",
    "parameters": "arguments",
}
"""Other names of the fields of a call."""
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
            calls.append(_proposed(call, reply.finish))
        except UnreadableError as error:
            faults.append(str(error))
    left_out = said.calls[MAX_CALLS:]
    if left_out:
        more = len(left_out)
        faults.append(f"at most {MAX_CALLS} calls of a reply are read: {more} are left out")
    written = json.encode(calls)
    size = len(written)
    if size > _MAX_PROPOSAL:
        faults.append(f"its calls have more than {_MAX_PROPOSAL} bytes together")
        calls, size = [], 0
    content = said.words and shown(said.words, MAX_CONTENT - size)
    is_done = may_be_silent and reply.finish is not Finish.OTHER
    if not (content or calls or faults or is_done):
        faults.append(_EMPTY.get(reply.finish, _STOPPED))
    return Proposal(content=content, calls=tuple(calls), faults=tuple(faults))


def draft_answer(reply: Reply, tools: Mapping[str, ToolSpec]) -> tuple[str, tuple[str, ...]]:
    """The words of an answer, and the tools that the reply calls instead."""
    said = _said_in(reply, tools)
    names = [without_surrogates(call.name)[:_TOOL_NAME] for call in said.calls[:MAX_CALLS]]
    return shown(said.words), tuple(name for name in names if name != END_STEP)


def shown(words: str, room: int = MAX_CONTENT) -> str:
    """What people see of words, at most so many bytes as JSON; what is longer ends with a mark that
    says how many characters were cut off.
    """
    seen = UNSEEN.sub("", words)
    if not seen.strip():
        return ""
    kept = words
    while (size := len(json.encode(kept))) > room:
        kept = kept[: len(kept) * room // size]
    if kept == words:
        return words
    missing = len(words) - len(kept)
    return f"{kept} [cut: {missing} more characters]"


def _proposed(call: NativeCall, finish: Finish) -> ProposedCall:
    """The call. One whose arguments cannot be read is not made without arguments: raises
    UnreadableError.
    """
    tool = without_surrogates(call.name)
    if not 0 < len(tool) <= _TOOL_NAME:
        raise UnreadableError(f"a call names no tool: {tool[:40]!r}")
    try:
        if finish in PARTIAL and call.arguments == "":
            raise UnreadableError
        arguments = arguments_in(call.arguments)
    except UnreadableError as error:
        why = PARTIAL.get(finish, error)
        raise UnreadableError(f"the arguments of {tool}: {why}") from error
    return ProposedCall(tool=tool, arguments=arguments)


def _said_in(reply: Reply, tools: Mapping[str, ToolSpec], *, due: bool = False) -> Said:
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
        fault = str(PARTIAL.get(reply.finish, error))
        return replace(words, fault=fault)
    if due:
        return said
    names = {call.name for call in said.calls}
    is_known = names <= {*tools, END_STEP}
    if block.beside or said.fault or not is_known:
        return words
    return said


def _said_by(block: Block, tools: Mapping[str, ToolSpec]) -> Said:
    named = fields(block.value, _SPELLINGS)
    decides = "should_call_tool" in named
    own = named.get("reasoning" if decides else "content")
    if not isinstance(own, str):
        own = ""
    words = "\n".join(filter(None, (block.beside, own)))
    if named.get("next_step_decision") == "fail":
        end = {"outcome": IMPOSSIBLE, "reason": words[:_LONGEST_REASON] or _NO_REASON}
        return Said(words, (NativeCall(END_STEP, end),))
    if ROUTE in tools and "target_agent" in named:
        decision = {name: named.get(name) for name in _DECISION}
        return Said(words, (NativeCall(ROUTE, decision),))
    if "tool_calls" in named:
        return Said(words, _calls_in(named["tool_calls"] or []))
    is_call = "tool" in named and ("arguments" in named or list(block.value) == ["tool"])
    if is_call and named.get("should_call_tool") is not False:
        return Said(words, _calls_in([named]))
    return Said(words, fault="" if own or decides else "its JSON object names no tool")


def _calls_in(listed: object) -> tuple[NativeCall, ...]:
    if not isinstance(listed, list):
        raise UnreadableError("its tool_calls are not a list")
    calls: list[NativeCall] = []
    for value in listed:
        named = fields(value, _SPELLINGS) if isinstance(value, dict) else {}
        name = named.get("tool")
        if not isinstance(name, str):
            raise UnreadableError("one of its calls names no tool")
        calls.append(NativeCall(name, named.get("arguments")))
    return tuple(calls)
