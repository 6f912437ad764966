"""Answers to questions: taken once, in time, for a question that is still open (R6)."""

import secrets

import msgspec
from pydantic_core import to_json

from haltpoint.contracts.base import chain_of, value
from haltpoint.contracts.events import HumanAnswered
from haltpoint.contracts.people.humans import Answer
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
    """Another answer was earlier: its author, its time (ms) and its words."""

    by: str
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
        trace: str | None = None,
        token: str | None = None,
        approves: Approves | None = None,
    ) -> Verdict:
        """Give an answer for `by`. The same one again under the same `token` is taken both times.

        `approves` is the call that the answer lets run: the record of it is written with the
        answer (G1).
        """
        author = by.encode(errors="replace")
        args: list[Argument] = [encode(answer), author, to_json(by)]
        args += (token or secrets.token_hex(8), _head(request_id, answer, trace))
        if approves is not None:
            args += (approves.action_id, approves.digest, round(approves.seconds))
        status, time, first_by, first = await self._functions.about(request_id, "answer", *args)
        match status:
            case b"taken":
                return Taken(time)
            case b"answered":
                earlier = msgspec.json.decode(first, type=Answer)
                first_author = first_by.decode()
                return AnsweredAlready(first_author, time, earlier)
            case b"expired":
                return Expired(time)
            case b"stale":
                return Stale()
            case _:
                return Unknown()


def _head(request_id: str, answer: Answer, trace: str | None) -> bytes:
    """The message human.answered up to the place of the answer."""
    message = HumanAnswered(
        id=f"{request_id}/answer",
        source="haltpoint/gateway",
        subject=chain_of(request_id),
        traceparent=trace,
        data=HumanAnswered.Data(request_id=request_id, answer=answer, at=0),
    )
    return encode(message).rpartition(encode(answer))[0]
