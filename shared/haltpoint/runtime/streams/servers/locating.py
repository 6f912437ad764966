"""Where a server is now: those that know are asked at each connect.

A failover makes another server the master, and a slot of a cluster moves to another node. So an
address is never kept: a connection that ends, or whose server refuses, is opened anew, and asks
again. Of those who are asked most are believed: one that is cut off from the others still names the
server that it knew.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar
from weakref import WeakSet

from redis.asyncio.connection import ConnectionPool
from redis.exceptions import AuthenticationError, RedisError
from redis.exceptions import ConnectionError as RedisConnectionError

from haltpoint.runtime.streams.refused import RefusedForNow
from haltpoint.runtime.streams.servers.link import Link, ask
from haltpoint.runtime.streams.tasks import end

_PATIENCE: Final = 1.0
"""Seconds that one of those who know may take."""

T = TypeVar("T", bound=Hashable)


class Place(NamedTuple):
    """Where a server listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Guide(NamedTuple):
    """A Sentinel, or a node of a cluster: without a login, and with that of the server."""

    place: Place
    anonymous: ConnectionPool
    known: ConnectionPool


class Guides(NamedTuple):
    """Those who know where the servers are; `kind` is what people call them."""

    kind: str
    all: Sequence[Guide]

    async def ask(self, question: Sequence[str], read: Callable[[Any, Guide], T]) -> T:
        """What most of them answer, as `read` makes it of a reply; LookupError: it says nothing.

        Raises redis-py's ConnectionError when there is no answer.
        """
        votes = Counter[T]()
        why: Exception = LookupError(f"the address names no {self.kind}")
        asked = [asyncio.create_task(_answer(guide, question, read)) for guide in self.all]
        try:
            for coming in asyncio.as_completed(asked):
                answer = await coming
                if isinstance(answer, Exception):
                    why = answer
                    continue
                votes[answer] += 1
                if 2 * votes[answer] > len(asked):
                    break
        finally:
            await end(*asked)
        if not votes:
            raise RedisConnectionError(f"no {self.kind} names the server: {_words(why)}") from why
        ((answer, _),) = votes.most_common(1)
        return answer

    async def silent(self, question: Sequence[str]) -> list[str]:
        """Those that do not answer now, each with the reason."""
        asked = [_answer(guide, question, _heard) for guide in self.all]
        outcomes = await asyncio.gather(*asked)
        return [
            f"{guide.place} ({_words(outcome)})"
            for guide, outcome in zip(self.all, outcomes, strict=True)
            if isinstance(outcome, Exception)
        ]


@dataclass
class Whereabouts:
    """Where a server that moves is now.

    A server that hangs up on one connection, or hangs, does so with all: `breaks` is how often that
    was seen, and `links` are those that would wait for it.
    """

    guides: Guides
    question: Sequence[str]
    read: Callable[[Any, Guide], Place]
    breaks: int = 0
    links: WeakSet[Link] = field(default_factory=WeakSet)

    async def locate(self) -> Place:
        """Ask. Raises redis-py's ConnectionError."""
        return await self.guides.ask(self.question, self.read)

    def hangs(self) -> None:
        """It gave no reply for too long."""
        self.breaks += 1
        for link in [*self.links]:
            link.close(RedisConnectionError("the server hangs, as another connection has found"))


def _heard(_: object, guide: Guide) -> None:
    """It has answered."""


async def _answer(
    guide: Guide, question: Sequence[str], read: Callable[[Any, Guide], T]
) -> T | Exception:
    try:
        try:
            reply = await ask(guide.anonymous, _PATIENCE, *question)
        except (AuthenticationError, RefusedForNow):
            reply = await ask(guide.known, _PATIENCE, *question)
        return read(reply, guide)
    except (RedisError, OSError, LookupError) as error:
        return error


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
