"""The notifier hears of questions by the public facts, and sends what the rules say.

It is a consumer group of the stream of facts beside the chains: a service that does not take a
notice delays no chain and no answer.

A notice is kept before the fact that it is about is acknowledged, and forgotten after it was
delivered. So it is sent at least once, always under the same id, whatever becomes of a gateway.
"""

import asyncio
import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin

from haltpoint.contracts.people.notices import Notice, NotifyRule
from haltpoint.runtime.streams.delivery import Entry
from haltpoint_gateway.gateway import Gateway
from haltpoint_gateway.notices.channels import Channel
from haltpoint_gateway.notices.words import letter_of

GROUP: Final = "notices"
FAILED: Final = "hp:{0}:notices"
"""The hash of the notices whose last try failed, by their ids."""
_LEASE: Final = 30
"""Seconds in which a gateway that took a notice has to send it; it may have twice as long."""
_PAUSES: Final = (5, 10, 20, 40, 80, 160, 320, 640, 1280, *[1800] * 46, 7 * 86400)
"""Seconds behind each try that failed. After a day a notice is given up; it is forgotten behind the
last pause.
"""
_BATCH: Final = 2
"""Notices of a rule that are sent in one turn. Twenty held up answers by a quarter of a second."""


@dataclass(frozen=True, slots=True)
class Notifier:
    """Keeps a notice for each question that a rule announces, and delivers those that are due.

    Each rule has a queue, by when its notices are due: a service that is slow keeps no other one
    waiting. `public_url` is where people reach the pages of this gateway.
    """

    gateway: Gateway
    channels: Mapping[NotifyRule, Channel]
    public_url: str

    async def handle(self, entries: list[Entry]) -> None:
        """Keep the notices of these facts, then acknowledge them."""
        for entry in entries:
            data = entry.fields[b"__data__"]
            fact = json.loads(data)
            if fact["type"].startswith("request."):
                await self._hear(fact["data"]["request_id"])
            await self.gateway.redis.xack(entry.stream, GROUP, entry.id)

    async def exhausted(self, entry: Entry) -> None:
        """A fact that could not be handled is tried again: no question is forgotten."""
        await self.handle([entry])

    async def deliver(self, rule: NotifyRule) -> None:
        """Deliver what is due by one rule."""
        redis = self.gateway.redis
        queue = _queue(rule)
        now = time.time()
        due = await redis.zrangebyscore(queue, 0, now, 0, _BATCH)
        await asyncio.gather(*[self._take(rule, name.decode()) for name in due])

    async def _hear(self, request_id: str) -> None:
        """Keep the notices of a question that was opened or closed."""
        request = await self.gateway.views.request(request_id, lambda _: True)
        if request is None:
            return
        is_open = request.is_open
        happened = "opened" if is_open else "closed"
        for rule in self.channels:
            if rule.fits(request.kind, request.tool, request.answerers.to):
                due = request.asked_at.timestamp() + rule.after
                notice = {f"{rule.name}/{request_id}/{happened}": due}
                # An end is due where it waits since its opening was announced, and only there.
                await self.gateway.redis.zadd(_queue(rule), notice, nx=is_open, xx=not is_open)

    async def _take(self, rule: NotifyRule, name: str) -> None:
        """Send a notice, unless another gateway does; keep why it was not taken."""
        redis = self.gateway.redis
        queue = _queue(rule)
        lease = (time.time() // _LEASE + 2) * _LEASE
        # Of two gateways that saw it at the same moment, the second one changes nothing.
        if not await redis.zadd(queue, {name: lease}, xx=True, gt=True, ch=True):
            return
        text = await redis.hget(FAILED, name)
        notice = Notice.model_validate_json(text) if text else Notice.begun(name)
        try:
            await self._send(rule, notice)
            await redis.zrem(queue, name)
            await redis.hdel(FAILED, name)
        except Exception as error:  # noqa: BLE001 - of a service, or a question of another release
            tries = notice.tries + 1
            words = str(error) or repr(error)
            fault = {"tries": tries, "fault": words, "given_up": tries == len(_PAUSES)}
            failed = notice.model_copy(update=fault)
            await redis.hset(FAILED, name, failed.model_dump_json())
            due = time.time() + _PAUSES[notice.tries]
            await redis.zadd(queue, {name: due}, xx=True)

    async def _send(self, rule: NotifyRule, notice: Notice) -> None:
        """Send a notice that is needed yet. Raises whatever keeps it from that."""
        request_id = notice.request_id
        request = await self.gateway.views.request(request_id, lambda _: True)
        if notice.given_up or request is None or notice.is_of_an_end is request.is_open:
            return  # of some it was closed before its opening was announced
        catalogue = self.gateway.catalogue
        tools = await catalogue.read()
        typed = await catalogue.typed_secrets()
        link = urljoin(self.public_url, f"/inbox/{request_id}")
        letter = letter_of(notice, rule, request, link, tools.get(request.tool), typed)
        if rule.also_closed and request.is_open:
            end = {f"{rule.name}/{request_id}/closed": math.inf}
            await self.gateway.redis.zadd(_queue(rule), end, nx=True)
        await self.channels[rule](letter)


def _queue(rule: NotifyRule) -> str:
    return f"{FAILED}:{rule.name}"
