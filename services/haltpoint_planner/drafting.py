"""From what a model said to a proposal, or to an answer (C9, C11). Whatever comes in, a value comes
out.
"""

from bisect import bisect_right
from collections.abc import Mapping
from typing import Final

import msgspec

from haltpoint.chain.model.canonical import UNSEEN
from haltpoint.contracts.base import MAX_ARGUMENTS, MAX_BODY
from haltpoint.contracts.tools import END_STEP, ToolSpec
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.thoughts import Proposal
from haltpoint_planner.exchange import Finish, NativeCall, Reply
from haltpoint_planner.parsing.objects import (
    UnreadableError,
    arguments_in,
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
        faults.append(_EMPTY[reply.finish])
    content = said.words and cut(said.words, MAX_CONTENT - _size(calls))
    return Proposal(content=content, calls=tuple(calls), faults=tuple(faults))


def _said_in(reply: Reply, tools: Mapping[str, ToolSpec], *, due: bool) -> Said:
    """Its native calls, with words beside them; else what is read of its words."""
    if reply.calls:
        return Said(words_of(reply).strip(), reply.calls)
    return read(reply, tools, due=due)


def draft_answer(reply: Reply, tools: Mapping[str, ToolSpec]) -> tuple[str, tuple[str, ...]]:
    """The words of an answer, and the tools that the reply calls instead."""
    said = _said_in(reply, tools, due=False)
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
    if not 0 < len(tool) <= _TOOL_NAME:
        raise UnreadableError(f"a call names no tool: {tool[:40]!r}")
    try:
        if reply.cut and call.arguments == "":
            raise UnreadableError(CUT)
        arguments = arguments_in(call.arguments)
        size = _size(arguments)
        if size > MAX_ARGUMENTS:
            raise UnreadableError(f"they have {size} bytes; at most {MAX_ARGUMENTS} are taken")
    except UnreadableError as error:
        why = CUT if reply.cut else error
        raise UnreadableError(f"the arguments of {tool}: {why}") from error
    return ProposedCall(tool=tool, arguments=arguments)
