"""The provider's own messages: kept with their thoughts, and sent back as they came (C9).

A message is kept when each of its calls was read: a server refuses what it cannot read itself. The
model that wrote it gets it back whole; another one gets its words and calls.
"""

import json
import re
from collections.abc import Container, Iterator
from itertools import count
from typing import Final

import msgspec

from haltpoint.contracts.base import Contract, JsonObject
from haltpoint.contracts.work.thoughts import Proposal
from haltpoint.runtime.streams.wire import encode
from haltpoint_planner.exchange import OTHER_FORM, Message, Reply
from haltpoint_planner.parsing.completions import words_in

_IN_WORDS: Final = {"role", "content", "tool_calls", OTHER_FORM}
"""What words alone say of a message."""
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
MOST: Final = 256 * 1024
"""Bytes of a message that is kept."""


class Own(Contract):
    """A message with calls, or what another one has beside its words; and when it was said."""

    by: str
    """The model that said it."""
    after: int
    """The number of the step's last action before."""
    message: Message

    @property
    def calls(self) -> list[JsonObject]:
        """Its native calls, in order."""
        return list(self.message.get("tool_calls") or ())


def kept(reply: Reply, proposal: Proposal, by: str, after: int, known: Container[str]) -> bytes:
    """The message of a reply as it is stored; only what is beside its words where it has no calls,
    or one of them was not read or has a name that no provider takes back. Nothing where that is
    nothing or too long. `known` are the tools.
    """
    message = reply.message or {}
    calls = message.get("tool_calls") or ()
    is_read = len(calls) == len(proposal.calls)
    for call in calls if is_read else ():
        name = call["function"]["name"]
        is_read &= name in known or bool(_NAME.fullmatch(name))
        is_read &= isinstance(arguments_of(call), dict)
    if not (calls and is_read):
        beside = message.keys() - _IN_WORDS
        message = {name: message[name] for name in beside if message[name]}
    if not message:
        return b""
    try:
        own = encode(Own(by, after, message))
    except (UnicodeEncodeError, RecursionError, msgspec.MsgspecError):
        return b""
    return own if len(own) <= MOST else b""


def arguments_of(call: JsonObject) -> object:
    """The arguments of a call of a message; None where they are no JSON."""
    given = call["function"].get("arguments", "")
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given or "{}")
    except (ValueError, RecursionError):
        return None


def fresh_ids() -> Iterator[str]:
    """Ids for the calls of one prompt. They have nine letters and digits: Mistral takes no
    others.
    """
    return (f"call{number:05}" for number in count(1))


def sent_back(own: Own, to: str, fresh: Iterator[str]) -> Message:
    """The message as the model `to` gets it. Each call has an id that no other one of it has, and
    none is missing or no text, which no server takes back; of another provider's ids nothing is
    known.
    """
    message = own.message
    calls = own.calls
    if own.by != to:
        message = {"role": "assistant", "content": words_in(message)}
        calls = list(map(_plain, calls))
    seen = {""}
    for place, call in enumerate(calls):
        name = call.get("id")
        if not isinstance(name, str) or name in seen:
            name = next(fresh)
        seen.add(name)
        calls[place] = {**call, "id": name}
    return {**message, "tool_calls": calls}


def _plain(call: JsonObject) -> JsonObject:
    """A call in the form that every provider takes, still without id."""
    arguments = call["function"].get("arguments") or "{}"
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    function = {"name": call["function"]["name"], "arguments": text}
    return {"type": "function", "function": function}
