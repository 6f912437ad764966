"""The state of the deployment as Prometheus reads it: one look at Redis for all its processes.

What only Redis can say is read here: messages that wait, open questions, and the totals that
decisions leave. A process that died took none of it along.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from itertools import accumulate, product
from typing import Any, Final

import msgspec
from prometheus_client import CollectorRegistry, generate_latest
from redis.asyncio import Redis
from redis.exceptions import RedisError

from haltpoint.contracts.base import chain_of
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.views.deployment import QueueState
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Violation
from haltpoint.runtime.observability.metrics import Deployment
from haltpoint.runtime.store.counting import Total, Totals, read_totals
from haltpoint.runtime.store.rows import Key, local
from haltpoint.runtime.streams.topology import Topology
from haltpoint.runtime.views.queues import StreamState, read_stream, without_tenants

_PATIENCE: Final = 2.0
"""Seconds that a look may take; a scrape waits for it."""
_FRESH: Final = 1.0
"""Seconds for which a look counts: no key is needed, so anyone may ask, and often."""
_CHUNK: Final = 1000
"""Questions that are read at a time."""
_PRIORITIES: Final = ("low", "high")
_MOST: Final = 1 << 20
"""Seconds of the longest wait with its own bucket: 12 days."""


_NONE_YET: Final[Totals] = {
    Total.VIOLATIONS: dict.fromkeys(product(Violation, (Mode.STRICT, Mode.ADVISORY)), 0),
    Total.STRIKES: dict.fromkeys(product(Violation), 0),
    Total.UNDECIDED: dict.fromkeys(product(RequestKind), 0),
}
"""Prometheus sees a counter grow only from a sample before: the first of its kind would be lost."""


class _Asked(msgspec.Struct):
    """What a metric says of a question. It never changes."""

    kind: RequestKind
    asked_at: int
    priority: str | None = None


@dataclass
class Measures:
    """Reads the metrics of the deployment; `queues` are those of the tool workers."""

    redis: Redis
    topology: Topology
    queues: Callable[[], Awaitable[list[QueueState]]]
    _known: dict[str, _Asked] = field(default_factory=dict)
    _text: bytes = b""
    _read_at: float = -_FRESH
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def text(self) -> bytes:
        """Prometheus text of at most a second ago; empty while Redis does not answer."""
        async with self._one_at_a_time:
            if time.monotonic() - self._read_at >= _FRESH:
                self._text = await self._look()
                self._read_at = time.monotonic()
            return self._text

    async def _look(self) -> bytes:
        found = Deployment()
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._look_at_streams(found)
                await self._look_at_questions(found)
                _show_totals(found, await read_totals(self.redis, self.topology))
        except (OSError, RedisError):
            return b""
        registry = CollectorRegistry()
        registry.register(found)
        return generate_latest(registry)

    async def _look_at_streams(self, found: Deployment) -> None:
        for stream in (Stream.EVENTS, Stream.PLANS, Stream.HUMANS):
            state = await read_stream(self.redis, self.topology, stream)
            _show_stream(found, stream, "", state)
        for queue in map(without_tenants, await self.queues()):
            _show_stream(found, Stream.TOOLS, queue.name, queue)
            limits = Counter[str]()
            for row in queue.resting:
                limits[row.why] += row.calls
            for limit, calls in limits.items():
                found.resting.add_metric([queue.name, limit], calls)
        pipeline: Any = self.redis.pipeline(transaction=False)
        for partition in range(self.topology.partitions):
            pipeline.xlen(self.topology.key(partition, "dead"))
            pipeline.exists(self.topology.key(partition, "lost"))
        counts = await pipeline.execute()
        found.dead_letters.add_metric([], sum(counts[::2]))
        found.losses.add_metric([], sum(counts[1::2]))

    async def _look_at_questions(self, found: Deployment) -> None:
        pipeline: Any = self.redis.pipeline(transaction=False)
        pipeline.time()
        for key in self.topology.keys("index", "requests"):
            pipeline.zrange(key, 0, -1)
        (seconds, _), *members = await pipeline.execute()
        names = [member.decode() for index in members for member in index]
        await self._learn(names)
        asked = [self._known[name] for name in names if name in self._known]
        self._known = {name: self._known[name] for name in names if name in self._known}
        _show_questions(found, asked, seconds * 1000)

    async def _learn(self, names: Collection[str]) -> None:
        """Read the questions that were not there at the last look."""
        new = [name for name in names if name not in self._known]
        for first in range(0, len(new), _CHUNK):
            chunk = new[first : first + _CHUNK]
            pipeline: Any = self.redis.pipeline(transaction=False)
            for name in chunk:
                pipeline.hget(self.topology.key_of(Key.DATA, chain_of(name)), local(name))
            for name, text in zip(chunk, await pipeline.execute(), strict=True):
                if text is not None:
                    self._known[name] = msgspec.json.decode(text, type=_Asked)


def _show_stream(
    found: Deployment, stream: Stream, queue: str, state: StreamState | QueueState
) -> None:
    found.backlog.add_metric([stream, queue, "waiting"], state.waiting)
    found.backlog.add_metric([stream, queue, "running"], state.running)
    found.oldest.add_metric([stream, queue], state.waited)


def _show_questions(found: Deployment, asked: Collection[_Asked], now: int) -> None:
    counts = Counter[tuple[str, str]]()
    first = dict.fromkeys(RequestKind, now)
    for question in asked:
        priority = question.priority if question.priority in _PRIORITIES else "normal"
        counts[question.kind, str(priority)] += 1
        first[question.kind] = min(first[question.kind], question.asked_at)
    for labels, number in counts.items():
        found.requests.add_metric(labels, number)
    for kind, since in first.items():
        found.request_age.add_metric([kind], (now - since) / 1000)
    doubts = sum(question.kind is RequestKind.IN_DOUBT for question in asked)
    found.in_doubt.add_metric([], doubts)


def _show_totals(found: Deployment, totals: Totals) -> None:
    for what, family in (
        (Total.VIOLATIONS, found.violations),
        (Total.STRIKES, found.strikes),
        (Total.UNDECIDED, found.undecided),
    ):
        for labels, number in {**_NONE_YET[what], **totals[what]}.items():
            family.add_metric(labels, number)
    for (error, tool), number in totals[Total.RETRIES].items():
        found.retries.add_metric([tool, error], number)
    answers: defaultdict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for (kind, decision, within), number in totals[Total.ANSWERS].items():
        answers[kind, decision][int(within)] += number
    for labels, counts in answers.items():
        waited = totals[Total.WAITED].get(labels, 0)
        # How many waited at most so many seconds, for powers of two of seconds.
        bounds = [1 << power for power in range(_MOST.bit_length())]
        reached = accumulate(counts[bound] for bound in bounds)
        buckets = [
            (str(float(bound)), number) for bound, number in zip(bounds, reached, strict=True)
        ]
        buckets.append(("+Inf", counts.total()))
        found.human_wait.add_metric(labels, buckets, waited)
