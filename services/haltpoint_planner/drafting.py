"""From what a model said to a proposal, or to an answer (C9, C11). Whatever comes in, a value comes
out.
"""

import json
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from haltpoint.chain.model.canonical import UNSEEN
from haltpoint.contracts.base import MAX_ARGUMENTS, MAX_BODY
from haltpoint.contracts.tools import END_STEP, ToolSpec
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.thoughts import Proposal
from haltpoint_planner.exchange import Finish, NativeCall, Reply
from haltpoint_planner.parsing.objects import (
    UnreadableError,
    whole_value,
    without_surrogates,
    words_of,
)
from haltpoint_planner.parsing.reading import CUT, Said, read

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


@dataclass(slots=True)
class _Draft:
    """A proposal in the making."""

    calls: list[ProposedCall] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    size: int = 0
    """Bytes of the arguments so far."""


def draft_proposal(
    reply: Reply, tools: Mapping[str, ToolSpec], *, due: bool = True, may_be_silent: bool = False
) -> Proposal:
    """What the model wants in this turn. `tools` are all that are known; `due`: a call is due;
    `may_be_silent`: to say nothing is to be done.
    """
    said = said_in(reply, tools, due=due)
    draft = _Draft(faults=[said.fault] if said.fault else [])
    for call in said.calls:
        _add(draft, call, reply)
    is_done = may_be_silent and reply.finish is Finish.STOP
    if not (draft.calls or draft.faults or is_done) and is_blank(said.words):
        draft.faults.append(_EMPTY[reply.finish])
    content = said.words and cut(said.words, MAX_CONTENT - draft.size)
    calls, faults = tuple(draft.calls), tuple(draft.faults[:MAX_CALLS])
    return Proposal(content=content, calls=calls, faults=faults)


def said_in(reply: Reply, tools: Mapping[str, ToolSpec], *, due: bool) -> Said:
    """What a reply says: its native calls, with words beside them; else what is read of its
    words.
    """
    if reply.calls:
        return Said(words_of(reply).strip(), reply.calls)
    return read(reply, tools, due=due)


def draft_answer(reply: Reply, tools: Mapping[str, ToolSpec]) -> tuple[str, tuple[str, ...]]:
    """The words of an answer, and the tools that the reply calls instead."""
    said = said_in(reply, tools, due=False)
    names = [without_surrogates(call.name)[:_TOOL_NAME] for call in said.calls[:MAX_CALLS]]
    called = tuple(name for name in names if name != END_STEP)
    return "" if is_blank(said.words) else cut(said.words), called


def in_place_of_plan(reply: Reply) -> str:
    """The words of a reply that draws up no plan and calls nothing."""
    return "" if reply.calls or "{" in reply.content else words_of(reply).strip()


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
    return len(msgspec.json.encode(value))


def _add(draft: _Draft, call: NativeCall, reply: Reply) -> None:
    """Add a call, or say why it cannot be made: a call whose arguments cannot be read is not made
    without arguments.
    """
    tool = call.name if call.name.isascii() else without_surrogates(call.name)
    if not tool or len(tool) > _TOOL_NAME:
        draft.faults.append(f"a call names no tool: {tool[:40]!r}")
        return
    if call.arguments == "" and reply.cut:
        draft.faults.append(f"the call of {tool}: {CUT}")
        return
    try:
        arguments = arguments_of(call)
    except UnreadableError as error:
        draft.faults.append(f"the arguments of {tool}: {CUT if reply.cut else error}")
        return
    size = len(json.dumps(arguments, separators=(",", ":")))
    if size > MAX_ARGUMENTS or draft.size + size > _MAX_PROPOSAL:
        limit = f"they have {size} bytes; at most {MAX_ARGUMENTS} are taken"
        draft.faults.append(f"the arguments of {tool}: {limit}")
    elif len(draft.calls) == MAX_CALLS:
        draft.faults.append(f"at most {MAX_CALLS} calls of a reply are read: {tool} is left out")
    else:
        draft.size += size
        draft.calls.append(ProposedCall(tool=tool, arguments=arguments))


def arguments_of(call: NativeCall) -> dict[str, Any]:
    """The arguments of a call: an object, or its JSON as a text; nothing, null and blanks are none.
    Raises UnreadableError.
    """
    value: Any = call.arguments
    if not isinstance(value, str):
        value = json.dumps(value)
    while isinstance(value, str):
        value = whole_value(value)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UnreadableError("they are no JSON object")
    return value
