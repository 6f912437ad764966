"""What can still be read of an entry that cannot be processed: which message of which chain it was (R9)."""

from collections.abc import Mapping
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from haltpoint.contracts.base import Contract
from haltpoint.contracts.events import Message, MessageLost
from haltpoint.runtime.store.dead_letters import Orphan
from haltpoint.runtime.streams.wire import DATA, MAX_MESSAGE, MESSAGE_DEPTH, DeadLetterReason, Rejected, too_deep

_DATA: Final = DATA.encode()


class _Label(Contract):
    id: Annotated[str, Meta(min_length=1, max_length=512)]
    subject: Annotated[str, Meta(min_length=1, max_length=512)]


def loss_of(fields: Mapping[bytes, bytes], rejected: Rejected) -> MessageLost | Orphan | None:
    """What the chain is told of an entry that is no message: nothing if another release reads it. None: it names none.

    Never raises. The answer may be a lie: who wrote the entry may have put any id and chain on it.
    """
    if rejected.reason is DeadLetterReason.UNKNOWN_VERSION:
        return owner_of(fields)
    label = _label_of(fields)
    return None if label is None else _lost(label.id, label.subject, f"{rejected.reason.value}: {rejected.detail}")


def owner_of(fields: Mapping[bytes, bytes]) -> Orphan | None:
    """The owner that an entry names, if no chain waits for it."""
    label = _label_of(fields)
    # The ids of messages are `<what it is about>[/<more>]`.
    return None if label is None else Orphan(label.subject, label.id.partition("/")[0])


def loss_of_message(message: Message, reason: str) -> MessageLost | Orphan:
    """The message.lost to send; None for a lost message.lost."""
    if isinstance(message, MessageLost) or not message.subject:
        return Orphan(message.subject)
    return _lost(message.id, message.subject, reason)


def _label_of(fields: Mapping[bytes, bytes]) -> _Label | None:
    data = fields.get(_DATA, b"")
    if len(data) > MAX_MESSAGE or too_deep(data, MESSAGE_DEPTH):
        return None
    try:
        return msgspec.json.decode(data, type=_Label)
    except ValueError:  # of any kind: it is no JSON, or no such fields
        return None


def _lost(message_id: str, chain_id: str, reason: str) -> MessageLost:
    data = MessageLost.Data(message_id=message_id, reason=reason[:1000])
    return MessageLost(id=f"{message_id}/lost"[:512], source="haltpoint/dead-letters", subject=chain_id, data=data)
