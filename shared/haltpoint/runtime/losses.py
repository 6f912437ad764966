"""What can still be read of an entry that cannot be processed: which message of which chain it was."""

from collections.abc import Mapping
from typing import Final

from pydantic import Field, ValidationError

from haltpoint.contracts.base import Contract
from haltpoint.contracts.events import LostMessage, Message, MessageLost
from haltpoint.runtime.wire import DATA, MAX_MESSAGE, MESSAGE_DEPTH, Reason, Rejected, too_deep

_DATA: Final = DATA.encode()


class _Label(Contract):
    id: str = Field(min_length=1, max_length=512)
    subject: str = Field(min_length=1, max_length=512)


def loss_of(fields: Mapping[bytes, bytes], rejected: Rejected) -> MessageLost | None:
    """What the chain is told of an entry that is no message; None when it names no chain, or a newer release reads it.

    Never raises. The answer may be a lie: who wrote the entry may have put any id and chain on it.
    """
    data = fields.get(_DATA, b"")
    if rejected.reason is Reason.UNKNOWN_VERSION or len(data) > MAX_MESSAGE or too_deep(data, MESSAGE_DEPTH):
        return None
    try:
        label = _Label.model_validate_json(data)
        return _lost(label.id, label.subject, f"{rejected.reason.value}: {rejected.detail}")
    except ValidationError:
        return None


def loss_of_message(message: Message, reason: str) -> MessageLost | None:
    """What the chain is told of a message that nobody could finish; None when that is such a word itself."""
    return None if isinstance(message, MessageLost) else _lost(message.id, message.subject, reason)


def _lost(message_id: str, chain_id: str, reason: str) -> MessageLost | None:
    if not chain_id:
        return None
    data = LostMessage(message_id=message_id, reason=reason[:1000])
    return MessageLost(id=f"{message_id}/lost"[:512], source="haltpoint/dead-letters", subject=chain_id, data=data)
