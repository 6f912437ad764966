"""The notifier hears of questions by the public facts, and sends what the rules say.

It is a consumer group of the stream of facts beside the chains: a service that does not take a
notice delays no chain and no answer.
"""

import asyncio
import json
import math
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin

from redis.asyncio import Redis

from haltpoint.contracts.people.notices import Notice, NotifyRule
from haltpoint.contracts.views.chains import RequestView
from haltpoint.runtime.observability import logs
from haltpoint.runtime.streams.delivery import Entry
from haltpoint_gateway.gateway import Gateway
from haltpoint_gateway.notices.channels import Channel, UndeliveredError
from haltpoint_gateway.notices.words import letter_of

GROUP: Final = "notices"
_log = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class Notifier:
    """Keeps a notice for each question that a rule announces, and delivers those that are due.

    `public_url` is where people reach the pages of this gateway.
    """

    redis: Redis
    gateway: Gateway
    rules: tuple[NotifyRule, ...]
    public_url: str

    async def handle(self, entries: list[Entry]) -> None:
        """Keep the notices of these facts, then acknowledge them."""
        for entry in entries:
            fact = json.loads(entry.fields[b"__data__"])
            if fact["type"].startswith("request."):
                await self._hear(fact["data"]["request_id"])
            await self.redis.xack(entry.stream, GROUP, entry.id)

    async def exhausted(self, entry: Entry) -> None:
        """A fact that could not be handled again and again is passed over."""
        _log.error("a fact has led to no notice", stream=entry.stream, entry=entry.id)
        await self.redis.xack(entry.stream, GROUP, entry.id)

    async def deliver(self, rule: NotifyRule, channel: Channel) -> None:
        """Deliver what is due by one rule."""
        due = await self.gateway.outbox.due(rule.name)
        await asyncio.gather(*[self._send(rule, channel, notice) for notice in due])

    async def _hear(self, request_id: str) -> None:
        request = await self._request(request_id)
        if request is None:
            return
        outbox = self.gateway.outbox
        due = request.asked_at.timestamp()
        for rule in self.rules:
            if not rule.fits(request.kind, request.tool, request.answerers.to):
                continue
            if request.is_open:
                await outbox.put(rule.name, request_id, "opened", due + rule.after)
            else:
                await outbox.put(rule.name, request_id, "closed", 0.0, known=True)

    async def _send(self, rule: NotifyRule, channel: Channel, notice: Notice) -> None:
        outbox = self.gateway.outbox
        request_id = notice.request_id
        request = await self._request(request_id)
        if notice.given_up or request is None or notice.is_of_an_end is request.is_open:
            await outbox.done(notice)  # of some it was closed before its opening was announced
            return
        catalogue = self.gateway.catalogue
        tools = await catalogue.read()
        typed = await catalogue.typed_secrets()
        link = urljoin(self.public_url, f"/inbox/{request_id}")
        letter = letter_of(notice, rule, request, link, tools.get(request.tool), typed)
        if rule.also_closed and request.is_open:
            await outbox.put(rule.name, request_id, "closed", math.inf)
        try:
            await channel(notice.id, letter)
            await outbox.done(notice)
        except UndeliveredError as error:
            fault = str(error)
            await outbox.again(notice, fault)

    async def _request(self, request_id: str) -> RequestView | None:
        return await self.gateway.views.request(request_id, visible_to=lambda _: True)
