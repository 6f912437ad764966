"""Answers to questions: taken once, in time, for a question that is still open (R6)."""

import secrets
from dataclasses import dataclass

import msgspec
from pydantic_core import to_json

from haltpoint.contracts.base import chain_of
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.events import HumanAnswered
from haltpoint.contracts.people.humans import Answer
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.topology import PREFIX, Topology
from haltpoint.runtime.streams.wire import encode


@dataclass(frozen=True, slots=True)
class Approves:
    """A yes to the call of this digest; its record holds for so many seconds."""

    action_id: str
    digest: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Taken:
    """The answer counts, since `at` (server's time, ms)."""

    at: int


@dataclass(frozen=True, slots=True)
class AnsweredAlready:
    """Somebody was earlier; this is what they said, and when (ms)."""

    by: str
    at: int
    answer: Answer


@dataclass(frozen=True, slots=True)
class Expired:
    """Nobody may answer after `deadline` (ms)."""

    deadline: int


@dataclass(frozen=True, slots=True)
class Stale:
    """The question was withdrawn, or its chain is over."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """There is no such question (any more)."""


Verdict = Taken | AnsweredAlready | Expired | Stale | Unknown


class Inbox:
    """The gateway's side of the store. Whether an answer fits its question is checked before (`answer_fault`)."""

    def __init__(self, calls: AutoPipeline, topology: Topology) -> None:
        self._calls = calls
        self._topology = topology

    async def answer(
        self,
        request_id: str,
        answer: Answer,
        *,
        by: str = "",
        trace: str | None = None,
        token: str | None = None,
        approves: Approves | None = None,
    ) -> Verdict:
        """Give an answer for `by`. The same one under the same `token` was sent twice: it is taken both times.

        `approves` is the call that the answer lets run: the record of it is written with the answer (G1).
        """
        who = to_json(by)
        record = () if approves is None else (approves.action_id, approves.digest, round(approves.seconds))
        reply = await self._calls.call(
            *("FCALL", PREFIX + "answer", 1, self._key(request_id), request_id),
            *(encode(answer), by.encode(errors="replace"), who),
            *(token or secrets.token_hex(8), _head(request_id, answer, trace)),
            *record,
        )
        status, at, first_by, first = reply[0].decode(), int(reply[1]), reply[2], reply[3]
        match status:
            case "taken":
                return Taken(at)
            case "answered":
                return AnsweredAlready(first_by.decode(), at, msgspec.json.decode(first, type=Answer))
            case "expired":
                return Expired(at)
            case "stale":
                return Stale()
            case _:
                return Unknown()

    def _key(self, request_id: str) -> str:
        return self._topology.stream(self._topology.partition(request_id), Stream.EVENTS)


def _head(request_id: str, answer: Answer, trace: str | None) -> bytes:
    """The message human.answered up to where the answer is put in."""
    message = HumanAnswered(
        id=f"{request_id}/answer",
        source="haltpoint/gateway",
        subject=chain_of(request_id),
        traceparent=trace,
        data=HumanAnswered.Data(request_id=request_id, answer=answer, at=0),
    )
    return encode(message).rpartition(encode(answer))[0]
