"""Answers to questions: taken once, in time, for a question that is still open (R6)."""

from enum import StrEnum
from hashlib import sha256

from msgspec import structs

from haltpoint.contracts.base import chain_of, value
from haltpoint.contracts.events import HumanAnswered
from haltpoint.contracts.people.audit import Line
from haltpoint.contracts.people.humans import Answer, Way
from haltpoint.runtime.streams.connection import Argument, Side
from haltpoint.runtime.streams.wire import encode


@value
class Approves:
    """A yes to the call of this digest; its record holds for so many seconds."""

    action_id: str
    digest: str
    seconds: float


class Verdict(StrEnum):
    """What becomes of an answer, or of a claim."""

    TAKEN = "taken"
    """It counts, alone or as a vote; or the question is this person's."""
    ANSWERED = "answered"
    """Another answer was earlier."""
    CLAIMED = "claimed"
    """Another person has taken the question."""
    EXPIRED = "expired"
    """The deadline has passed."""
    STALE = "stale"
    """The question was withdrawn, or its chain is over."""
    UNKNOWN = "unknown"
    """There is no such question (any more)."""


class Inbox(Side):
    """The gateway's side of the store.

    Whether an answer fits its question is checked before (`answer_fault`).
    """

    async def answer(
        self,
        request_id: str,
        answer: Answer,
        *,
        line: Line,
        trace: str | None = None,
        approves: Approves | None = None,
        quorum: int = 1,
    ) -> Verdict:
        """Give an answer for the person of this line in the audit. The same decision of the same
        person again, also with another comment, is a repeat whose first reply was lost: taken both
        times.

        It is a vote until `quorum` different people have decided the same. `approves` is the call
        that the answer lets run: the record of it is written with the answer (G1).
        """
        said = line.audited
        by = _name(said.by)
        way = said.way or Way.HTTP
        args: list[Argument] = [encode(answer), way.value, by, _decision(answer)]
        args += (quorum, _head(request_id, way, answer, trace))
        if approves is not None:
            args += (approves.action_id, approves.digest, round(approves.seconds))
        status = await self._functions.about(request_id, "answer", *args, line=line)
        return Verdict(status.decode())

    async def claim(
        self, request_id: str, by: str, seconds: int, *, forced: bool = False
    ) -> Verdict:
        """Take an open question, so that no other person takes or answers it for so many seconds; 0
        gives it back. `forced`: also when another person has taken it.
        """
        args: list[Argument] = [_name(by), seconds, int(forced)]
        status = await self._functions.about(request_id, "claim_request", *args)
        return Verdict(status.decode())


def _name(by: str) -> bytes:
    """Who, as it is stored: on one line."""
    return " ".join(by.split()).encode(errors="replace")


def _decision(answer: Answer) -> str:
    """The same for the same decision, whatever its comment says."""
    return sha256(encode(structs.replace(answer, comment=""))).hexdigest()[:16]


def _head(request_id: str, way: Way, answer: Answer, trace: str | None) -> bytes:
    """The message human.answered up to the place of the answer."""
    message = HumanAnswered(
        id=f"{request_id}/answer",
        source="haltpoint/gateway",
        subject=chain_of(request_id),
        traceparent=trace,
        data=HumanAnswered.Data(request_id=request_id, way=way, answer=answer, at=0),
    )
    return encode(message).rpartition(encode(answer))[0]
