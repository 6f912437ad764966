"""Answers to questions: taken once, in time, for a question that is still open (R6)."""

from hashlib import sha256

import msgspec
from msgspec import structs
from pydantic_core import to_json

from haltpoint.contracts.base import chain_of, value
from haltpoint.contracts.events import HumanAnswered
from haltpoint.contracts.people.humans import Answer, Way
from haltpoint.runtime.streams.connection import Argument, Side
from haltpoint.runtime.streams.wire import encode


@value
class Approves:
    """A yes to the call of this digest; its record holds for so many seconds."""

    action_id: str
    digest: str
    seconds: float


@value
class Taken:
    """The answer counts, since `at` (server's time, ms)."""

    at: int


@value
class AnsweredAlready:
    """Another answer was earlier: its author, its way, its time (ms) and its words."""

    by: str
    way: Way
    at: int
    answer: Answer


@value
class Expired:
    """No answer is taken after `deadline` (ms)."""

    deadline: int


@value
class Stale:
    """The question was withdrawn, or its chain is over."""


@value
class Unknown:
    """There is no such question (any more)."""


Verdict = Taken | AnsweredAlready | Expired | Stale | Unknown


class Inbox(Side):
    """The gateway's side of the store.

    Whether an answer fits its question is checked before (`answer_fault`).
    """

    async def answer(
        self,
        request_id: str,
        answer: Answer,
        *,
        by: str = "",
        way: Way = Way.HTTP,
        trace: str | None = None,
        approves: Approves | None = None,
    ) -> Verdict:
        """Give an answer for `by`, that came by `way`. The same decision of the same person again,
        also with another comment, is a repeat whose first reply was lost: taken both times.

        `approves` is the call that the answer lets run: the record of it is written with the
        answer (G1).
        """
        author = f"{way.value}\n{by}".encode(errors="replace")
        args: list[Argument] = [encode(answer), author, to_json(by)]
        args += (_decision(answer), _head(request_id, way, answer, trace))
        if approves is not None:
            args += (approves.action_id, approves.digest, round(approves.seconds))
        status, time, first_by, first = await self._functions.about(request_id, "answer", *args)
        match status:
            case b"taken":
                return Taken(time)
            case b"answered":
                earlier = msgspec.json.decode(first, type=Answer)
                first_way, _, author_of_first = first_by.decode().partition("\n")
                return AnsweredAlready(author_of_first, Way(first_way), time, earlier)
            case b"expired":
                return Expired(time)
            case b"stale":
                return Stale()
            case _:
                return Unknown()


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
