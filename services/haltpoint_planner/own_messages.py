"""The provider's own messages: kept with their thoughts, and sent back as they came (C9).

A message is kept when each of its calls was read: a server refuses what it cannot read itself. The
model that wrote it gets it back whole; another one gets its words and calls.
"""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any, Final

import msgspec

from haltpoint.contracts.base import Contract
from haltpoint.contracts.work.thoughts import Proposal
from haltpoint.runtime.streams.wire import encode
from haltpoint_planner.exchange import Message, Reply

MOST: Final = 256 * 1024
"""Bytes of a message that is kept."""


class Own(Contract):
    """A message with calls, and when it was said."""

    by: str
    """The model that said it."""
    after: int
    """The number of the step's last action before."""
    message: Message

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Its native calls, in order; none where it calls in words."""
        return list(self.message.get("tool_calls") or ())


def kept(reply: Reply, proposal: Proposal, by: str, after: int) -> bytes:
    """The message of a reply as it is stored; nothing where it has no calls, or one that was not
    read, or is too long.
    """
    message, calls = reply.message, reply.calls
    if message is None or not calls or len(proposal.calls) < len(calls):
        return b""
    written = message.get("tool_calls") or ()
    is_read = [isinstance(arguments_of(call), dict) for call in written]
    if len(written) != len(calls) or not all(is_read):
        return b""
    try:
        own = encode(Own(by, after, message))
    except (UnicodeEncodeError, RecursionError, msgspec.MsgspecError):
        return b""
    return own if len(own) <= MOST else b""


def read_own(text: bytes) -> Own:
    """A stored message."""
    return msgspec.json.decode(text, type=Own)


def arguments_of(call: dict[str, Any]) -> object:
    """The arguments of a call of a message; None where they are no JSON."""
    given = call.get("function", {}).get("arguments", "")
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given or "{}")
    except (ValueError, RecursionError):
        return None


def sent_back(own: Own, to: str) -> Message:
    """The message as the model `to` gets it: each call has an id that no other one of it has."""
    calls = [_with_id(call, name) for call, name in zip(own.calls, _ids(own), strict=True)]
    if own.by == to:
        return {**own.message, "tool_calls": calls}
    content = own.message.get("content")
    words = content if isinstance(content, str) else ""
    return {"role": "assistant", "content": words, "tool_calls": list(map(_plain, calls))}


def _ids(own: Own) -> Iterator[str]:
    given = [str(call.get("id") or "") for call in own.calls]
    free = (name for number in count(1) if (name := f"call_{number}") not in given)
    seen: set[str] = {""}
    for name in given:
        fresh = next(free) if name in seen else name
        seen.add(fresh)
        yield fresh


def _with_id(call: dict[str, Any], name: str) -> dict[str, Any]:
    return call if call.get("id") == name else {**call, "id": name}


def _plain(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    arguments = function.get("arguments") or "{}"
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {
        "id": call["id"],
        "type": "function",
        "function": {"name": function["name"], "arguments": text},
    }
