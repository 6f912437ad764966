"""The notifier hears of questions by the public facts, and sends what the rules say.

It is a consumer group of the stream of facts beside the chains: a service that does not take a
notice delays no chain and no answer.
"""

import asyncio
import json
from typing import Any, Final

from msgspec.structs import asdict
from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import RequestStatus
from haltpoint.contracts.people.notices import NotifyRule
from haltpoint.contracts.views.chains import RequestView
from haltpoint.runtime.observability import logs
from haltpoint.runtime.streams.delivery import Entry
from haltpoint_gateway.gateway import Gateway
from haltpoint_gateway.notices.channels import Channel, UndeliveredError
from haltpoint_gateway.notices.outbox import Notice
from haltpoint_gateway.notices.words import letter_of

GROUP: Final = "notices"
_PAUSE: Final = 0.5
"""Seconds between two looks at what is due."""
_KINDS: Final = (
    FactType.REQUEST_OPENED,
    FactType.REQUEST_ANSWERED,
    FactType.REQUEST_EXPIRED,
    FactType.REQUEST_WITHDRAWN,
)

_log = logs.get(__name__)


class Notifier:
    """Keeps a notice for each question that a rule announces, and delivers those that are due.

    `public_url` is where people reach the pages of this gateway.
    """

    def __init__(
        self,
        redis: Redis,
        gateway: Gateway,
        rules: tuple[NotifyRule, ...],
        channels: dict[str, Channel],
        public_url: str,
    ) -> None:
        self._redis = redis
        self._outbox = gateway.outbox
        self._gateway = gateway
        self._rules = {rule.name: rule for rule in rules}
        self._channels = channels
        self._public_url = public_url.rstrip("/")

    async def make_group(self, stream: str) -> None:
        """Read a stream of facts from its beginning: also what was asked while no gateway ran."""
        try:
            await self._redis.xgroup_create(stream, GROUP, id="0", mkstream=True)
        except ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise

    async def handle(self, entries: list[Entry]) -> None:
        """Keep the notices of these facts, then acknowledge them."""
        for entry in entries:
            fact = json.loads(entry.fields[b"__data__"])
            await self._hear(fact)
            await self._redis.xack(entry.stream, GROUP, entry.id)

    async def exhausted(self, entry: Entry) -> None:
        """A fact that could not be handled again and again is passed over."""
        _log.error("a fact has led to no notice", stream=entry.stream, entry=entry.id)
        await self._redis.xack(entry.stream, GROUP, entry.id)

    async def run(self, rule: str) -> None:
        """Deliver what is due by one rule, until cancelled."""
        while True:
            try:
                notices = [notice async for notice in self._outbox.due(rule)]
                await asyncio.gather(*map(self._deliver, notices))
            except RedisError as error:
                _log.warning("notices wait for the server", reason=str(error))
            await asyncio.sleep(_PAUSE)

    async def _hear(self, fact: dict[str, Any]) -> None:
        kind = fact["type"].removesuffix(".v1")
        if kind not in _KINDS:
            return
        request = await self._request(fact["data"]["request_id"])
        if request is None:
            return
        for rule in self._rules.values():
            if rule.fits(request.kind, request.tool, request.answerers.to):
                await self._keep(rule, request, closed=kind != FactType.REQUEST_OPENED)

    async def _keep(self, rule: NotifyRule, request: RequestView, *, closed: bool) -> None:
        """Keep the notice of a question's beginning or end, if the rule has one."""
        due = request.asked_at.timestamp() + rule.after
        if closed:
            end = (request.closed_at or request.deadline).timestamp()
            if not rule.also_closed or end < due:
                return
            due = end
        event = "closed" if closed else "opened"
        name = f"{rule.name}/{request.id}/{event}"
        notice = Notice(id=name, rule=rule.name, request_id=request.id, closed=closed, since=due)
        await self._outbox.add(notice)

    async def _deliver(self, notice: Notice) -> None:
        request = await self._request(notice.request_id)
        rule = self._rules.get(notice.rule)
        if request is None or rule is None or _is_late(notice, request):
            await self._outbox.done(notice)
            return
        link = f"{self._public_url}/inbox/{request.id}"
        typed = await self._gateway.catalogue.typed_secrets()
        letter = letter_of(notice, rule, request, link, typed)
        try:
            await self._channels[rule.name].send(notice.id, letter)
        except UndeliveredError as error:
            tried = notice.after_a_fault(str(error))
            await self._outbox.again(tried)
            _log.warning("a notice was not taken", **asdict(tried))
        else:
            await self._outbox.done(notice)

    async def _request(self, request_id: str) -> RequestView | None:
        return await self._gateway.views.request(request_id, visible_to=lambda _: True)


def _is_late(notice: Notice, request: RequestView) -> bool:
    """Whether a question was closed before its opening was announced."""
    return not notice.closed and request.status is not RequestStatus.OPEN
