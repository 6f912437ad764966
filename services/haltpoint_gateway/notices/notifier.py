"""The notifier hears of questions by the public facts, and sends what the rules say.

It is a consumer group of the stream of facts beside the chains: a service that does not take a
notice delays no chain and no answer.
"""

import asyncio
import json
from dataclasses import dataclass
from functools import partial
from typing import Final

from redis.asyncio import Redis
from redis.exceptions import RedisError

from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import RequestStatus
from haltpoint.contracts.people.notices import Notice, NotifyRule
from haltpoint.contracts.views.chains import RequestView
from haltpoint.runtime.observability import logs
from haltpoint.runtime.streams.delivery import Entry
from haltpoint_gateway.gateway import Gateway
from haltpoint_gateway.notices.channels import Channel, UndeliveredError
from haltpoint_gateway.notices.words import letter_of

GROUP: Final = "notices"
_PAUSE: Final = 0.1
"""Seconds between two looks at what is due by a rule: others of the gateway have turns between."""
_KINDS: Final = (
    FactType.REQUEST_OPENED,
    FactType.REQUEST_ANSWERED,
    FactType.REQUEST_EXPIRED,
    FactType.REQUEST_WITHDRAWN,
)

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
            kind = fact["type"].removesuffix(".v1")
            if kind in _KINDS:
                is_end = kind != FactType.REQUEST_OPENED
                await self._hear(fact["data"]["request_id"], is_end=is_end)
            await self.redis.xack(entry.stream, GROUP, entry.id)

    async def exhausted(self, entry: Entry) -> None:
        """A fact that could not be handled again and again is passed over."""
        _log.error("a fact has led to no notice", stream=entry.stream, entry=entry.id)
        await self.redis.xack(entry.stream, GROUP, entry.id)

    async def run(self, rule: NotifyRule, channel: Channel) -> None:
        """Deliver what is due by one rule, until cancelled."""
        deliver = partial(self._deliver, rule, channel)
        while True:
            try:
                notices = await self.gateway.outbox.due(rule.name)
                await asyncio.gather(*map(deliver, notices))
            except RedisError as error:
                _log.warning("notices wait for the server", reason=str(error))
            await asyncio.sleep(_PAUSE)

    async def _hear(self, request_id: str, *, is_end: bool) -> None:
        """Keep the notices of a question's beginning, or of its end where a rule announces that."""
        request = await self._request(request_id)
        if request is None:
            return
        add = self.gateway.outbox.add
        to = request.answerers.to
        closed_at = request.closed_at or request.deadline
        for rule in self.rules:
            due = request.asked_at.timestamp() + rule.after
            end = closed_at.timestamp()
            if not rule.fits(request.kind, request.tool, to):
                continue
            if not is_end:
                await add(f"{rule.name}/{request_id}/opened", due)
            elif rule.also_closed and end >= due:
                await add(f"{rule.name}/{request_id}/closed", end)

    async def _deliver(self, rule: NotifyRule, channel: Channel, notice: Notice) -> None:
        outbox = self.gateway.outbox
        request = await self._request(notice.request_id)
        if request is None or _is_late(notice, request):
            await outbox.done(notice)
            return
        site = self.public_url.rstrip("/")
        typed = await self.gateway.catalogue.typed_secrets()
        letter = letter_of(notice, rule, request, f"{site}/inbox/{request.id}", typed)
        try:
            await channel(notice.id, letter)
        except UndeliveredError as error:
            tried = await outbox.again(notice, str(error))
            _log.warning("a notice was not taken", **tried.model_dump(mode="json"))
        else:
            await outbox.done(notice)

    async def _request(self, request_id: str) -> RequestView | None:
        return await self.gateway.views.request(request_id, visible_to=lambda _: True)


def _is_late(notice: Notice, request: RequestView) -> bool:
    """Whether a question was closed before its opening was announced."""
    return not notice.is_of_an_end and request.status is not RequestStatus.OPEN
