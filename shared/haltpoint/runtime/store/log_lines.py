"""One line of a chain's log: the input, where it can be read again (a small one whole), and its
facts.

Where a text begins with the chain's id and a dot, the id is one letter that no JSON text has.
"""

from typing import Any, Final

from msgspec import Struct, json

from haltpoint.chain.model.outputs import Decision
from haltpoint.contracts import events
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.catalogue import BY_TYPE
from haltpoint.contracts.events import Received
from haltpoint.runtime.streams.wire import encode

_OWN: Final = "\x01"
"""In the place of the chain's id: JSON spells this letter out."""

_NAMES: Final = {row.message: row.type.rpartition(".")[0] for row in BY_TYPE.values()}
"""Of the inputs, without the version."""

_REFERS: Final = ("action_id", "request_id", "thought_id")
"""Where an input can be read again: the field of its data that says it."""


class LogLine(Struct, gc=False, array_like=True):
    """A line, a list as it is stored: when, on which input, the facts that it made true, each with
    its details; then where the input can be read again, or its data, which nothing reads.
    """

    at: int
    type: str
    facts: list[tuple[str, JsonObject]]
    ref: str | None = None


_decode: Final = json.Decoder(LogLine).decode


def encode_line(chain_id: str, received: Received, decision: Decision, now: int) -> str:
    """A line as it is stored."""
    message = received.message
    kind = type(message)
    facts = [(fact.type, fact.details) for fact in decision.facts]
    line: list[Any] = [now, _NAMES[kind], facts]
    refs = [getattr(message.data, name) for name in _REFERS if hasattr(message.data, name)]
    if refs:
        line.append(refs[0])
    elif kind is not events.TaskSubmitted:
        line += (None, message.data)
    return encode(line).decode().replace(f'"{chain_id}.', f'"{_OWN}.')


def decode_line(chain_id: str, text: bytes) -> LogLine:
    """A line with whole ids."""
    return _decode(text.replace(_OWN.encode(), chain_id.encode()))
