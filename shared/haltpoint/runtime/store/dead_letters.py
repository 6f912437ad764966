"""Dead letters: entries that cannot be processed, with their bytes and a reason (R9).

A letter's chain is told of it, as far as its entry still says which message of which chain it was;
the letter is given back on demand.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec

from haltpoint.contracts.base import Contract, chain_of, value
from haltpoint.contracts.events import Message, MessageId, MessageLost, ThoughtFailed
from haltpoint.contracts.people.audit import Line
from haltpoint.contracts.results import ErrorInfo, ErrorType, NextAction, Outcome
from haltpoint.runtime.streams.connection import Argument, Side
from haltpoint.runtime.streams.outgoing import completed_parts, split_message
from haltpoint.runtime.streams.topology import EntryRef
from haltpoint.runtime.streams.wire import (
    DATA,
    MAX_MESSAGE,
    MESSAGE_DEPTH,
    DeadLetterReason,
    Rejected,
    encode,
    too_deep,
)

_DATA: Final = DATA.encode()


class RequeueStatus(StrEnum):
    """What became of a letter that was to be given back."""

    REQUEUED = "requeued"
    GONE = "gone"
    """There is no such letter (any more)."""
    DONE = "done"
    """Nothing waits for it any more, so it stays."""


@value
class DeadAction:
    """The action of an entry: its chain gets a failed receipt, or a doubt if it may have acted."""

    action_id: str
    attempt: int
    message: str
    trace: str | None = None


@value
class Orphan:
    """The owner of an entry whose chain gets no message."""

    chain_id: str
    about: str = ""
    """The action, thought or request, if the entry names it."""


About = DeadAction | ThoughtFailed | MessageLost | Orphan | None
"""Whom an entry was for; None: not even its owner can be read."""


class DeadLetters(Side):
    """For all services."""

    async def add(
        self,
        ref: EntryRef,
        reason: DeadLetterReason,
        detail: str = "",
        *,
        about: About = None,
    ) -> str | None:
        """Move an entry to its partition's dead letters and tell its chain.

        The letter's id; None when it was gone.
        """
        words = detail.encode(errors="replace")
        args = (ref.stream, ref.entry, reason, words, *_told(about))
        status, letter = await self._functions.call("dead_letter", ref.partition, *args)
        return letter.decode() if status == b"moved" else None

    async def drop(self, partition: int, letter: str, line: Line | None = None) -> bool:
        """Forget a dead letter; False when it is gone. What waits for it waits in vain."""
        change = self._functions.call("change", partition, "XDEL", "dead", letter, line=line)
        return bool(await change)

    async def requeue(self, partition: int, letter: str, line: Line | None = None) -> RequeueStatus:
        """Give a dead letter back to its stream, once."""
        reply = await self._functions.call("requeue", partition, letter, line=line)
        return RequeueStatus(reply.decode())


def _told(about: About) -> tuple[Argument, ...]:
    """The arguments that say which chain is told, and how (see lua/dead_letters.lua)."""
    match about:
        case None:
            return ("",)
        case Orphan():
            return (about.chain_id, "", about.about)
        case DeadAction():
            action = about.action_id
            chain = chain_of(action)
            head, tail = completed_parts(action, about.attempt, chain, about.trace)
            failed = _outcome(ErrorType.SERVER, about.message)
            in_doubt = _outcome(ErrorType.IN_DOUBT, about.message)
            return (chain, "action", action, head, failed, in_doubt, tail)
        case ThoughtFailed():
            thought = about.data.thought_id
            data = encode(about.data)
            message = encode(about)
            head = split_message(message, data)
            return (chain_of(thought), "thought", thought, head, data)
        case MessageLost():
            return (about.subject, "lost", "", encode(about))


def _outcome(kind: ErrorType, message: str) -> bytes:
    fault = ErrorInfo(kind, message, recoverable=False)
    return encode(Outcome(success=False, next_action=NextAction.ERROR, error=fault))


class _Label(Contract):
    """All that an entry must have for its chain to be told."""

    id: MessageId
    subject: MessageId


def loss_of(fields: Mapping[bytes, bytes], rejected: Rejected) -> MessageLost | Orphan | None:
    """The message for the chain of an entry that is no message; None: it names no chain.

    The chain hears nothing if another release reads the entry. Never raises. The answer may be a
    lie: the author of the entry may have put any id and chain on it.
    """
    if rejected.reason is DeadLetterReason.UNKNOWN_VERSION:
        return owner_of(fields)
    label = _label_of(fields)
    if label is None:
        return None
    return _lost(label.id, label.subject, f"{rejected.reason.value}: {rejected.detail}")


def owner_of(fields: Mapping[bytes, bytes]) -> Orphan | None:
    """The owner that an entry names, if no chain waits for it."""
    label = _label_of(fields)
    if label is None:
        return None
    about = label.id.partition("/")[0]  # the ids of messages are `<what it is about>[/<more>]`
    return Orphan(label.subject, about)


def loss_of_message(message: Message, reason: str) -> MessageLost | Orphan:
    """The message.lost to send; an orphan for a lost message.lost."""
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
    name = f"{message_id}/lost"
    return MessageLost(id=name[:512], source="haltpoint/dead-letters", subject=chain_id, data=data)
