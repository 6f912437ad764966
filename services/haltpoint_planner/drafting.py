"""From what a model said to a proposal, or to an answer (C9, C11). Whatever comes in, a value comes
out.
"""

import json
from bisect import bisect_right
from collections.abc import Mapping
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
)
from haltpoint_planner.parsing.reading import CUT, read

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


def draft_proposal(
    reply: Reply, tools: Mapping[str, ToolSpec], *, due: bool = True, may_be_silent: bool = False
) -> Proposal:
    """What the model wants in this turn. `tools` are all that are known; `due`: a call is due;
    `may_be_silent`: to say nothing is to be done.
    """
    said = read(reply, tools, due=due)
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
        faults.append(_EMPTY[reply.finish])
    content = said.words and cut(said.words, MAX_CONTENT - _size(calls))
    return Proposal(content=content, calls=tuple(calls), faults=tuple(faults))


def draft_answer(reply: Reply, tools: Mapping[str, ToolSpec]) -> tuple[str, tuple[str, ...]]:
    """The words of an answer, and the tools that the reply calls instead."""
    said = read(reply, tools, due=False)
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
    return len(msgspec.json.encode(value))


def _proposed(call: NativeCall, reply: Reply) -> ProposedCall:
    """The call. One whose arguments cannot be read is not made without arguments: raises
    UnreadableError.
    """
    tool = without_surrogates(call.name)
    if not tool or len(tool) > _TOOL_NAME:
        raise UnreadableError(f"a call names no tool: {tool[:40]!r}")
    if reply.cut and call.arguments == "":
        raise UnreadableError(f"the call of {tool}: {CUT}")
    try:
        arguments = arguments_of(call)
    except UnreadableError as error:
        why = CUT if reply.cut else error
        raise UnreadableError(f"the arguments of {tool}: {why}") from error
    return ProposedCall(tool=tool, arguments=arguments)


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
    size = _size(value)
    if size > MAX_ARGUMENTS:
        raise UnreadableError(f"they have {size} bytes; at most {MAX_ARGUMENTS} are taken")
    return value
