"""What could not be processed: kept with bytes and reason, told to its chain, given back on demand (R9)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from haltpoint.contracts.base import chain_of
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.events import MessageLost, ThoughtFailed
from haltpoint.contracts.results import ErrorInfo, ErrorType, NextAction, Outcome
from haltpoint.runtime.store.receipts import encode_data
from haltpoint.runtime.streams.connection import Argument, AutoPipeline
from haltpoint.runtime.streams.outgoing import completed_parts, split_message
from haltpoint.runtime.streams.topology import PREFIX, EntryRef, Topology
from haltpoint.runtime.streams.wire import DeadLetterReason, encode


class RequeueStatus(StrEnum):
    """`gone`: no such letter (any more); `done`: nobody waits for it any more, so it stays."""

    REQUEUED = "requeued"
    GONE = "gone"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class DeadAction:
    """The action that an entry was about: its chain gets a failed receipt, or a doubt if it may have taken effect."""

    action_id: str
    attempt: int
    message: str
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class Orphan:
    """The owner of an entry whose chain gets no message. `about`: the action, thought or request, if one knows."""

    chain_id: str
    about: str = ""


class DeadLetters:
    """For all services."""

    def __init__(self, calls: AutoPipeline, topology: Topology) -> None:
        self._calls = calls
        self._topology = topology

    async def add(
        self,
        ref: EntryRef,
        reason: DeadLetterReason,
        detail: str = "",
        *,
        about: DeadAction | ThoughtFailed | MessageLost | Orphan | None = None,
    ) -> str | None:
        """Move an entry to its partition's dead letters and tell its chain. The letter's id; None when it was gone.

        `about` None: not even whose it was can be read.
        """
        args: list[Argument] = [ref.stream, ref.entry, reason, detail.encode(errors="replace")]
        match about:
            case None:
                args.append("")
            case Orphan():
                args += (about.chain_id, "", about.about)
            case DeadAction():
                chain = chain_of(about.action_id)
                head, tail = completed_parts(about.action_id, about.attempt, chain, about.trace)
                failed, in_doubt = _failed(ErrorType.SERVER, about.message), _failed(ErrorType.IN_DOUBT, about.message)
                args += (chain, "action", about.action_id, head, failed, in_doubt, tail)
            case ThoughtFailed():
                data = encode_data(about)
                thought = about.data.thought_id
                head = split_message(encode(about), data)
                args += (chain_of(thought), "thought", thought, head, data)
            case MessageLost():
                args += (about.subject, "lost", "", encode(about))
        status, letter = await self._function("dead_letter", ref.partition, *args)
        return letter.decode() if status == b"moved" else None

    async def requeue(self, partition: int, letter: str) -> RequeueStatus:
        """Give a dead letter back to its stream, once."""
        return RequeueStatus((await self._function("requeue", partition, letter)).decode())

    async def _function(self, name: str, partition: int, *args: Argument) -> Any:
        key = self._topology.stream(partition, Stream.EVENTS)
        return await self._calls.call("FCALL", PREFIX + name, 1, key, *args)


def _failed(kind: ErrorType, message: str) -> bytes:
    fault = ErrorInfo(kind, message, recoverable=False)
    return encode(Outcome(success=False, next_action=NextAction.ERROR, error=fault))
