"""The stream `humans`: what the executor wants people to know.

A question is in the inbox already when its message comes: the message only calls somebody. So calling twice is
harmless, and a message that cannot be read goes to the dead letters.
"""

from collections.abc import Awaitable, Callable

from redis.asyncio import Redis

from haltpoint.contracts.catalogue import GROUP, Stream
from haltpoint.contracts.events import HumanRequested, HumanWithdrawn
from haltpoint.contracts.humans import RequestStatus
from haltpoint.runtime import logs
from haltpoint.runtime.delivery import Entry
from haltpoint.runtime.views import Views
from haltpoint.runtime.wire import Rejected, decode
from haltpoint_gateway import questions

Bury = Callable[[Entry, str, str], Awaitable[None]]
"""Put an entry among the dead letters, for a reason and with a detail in words."""

_log = logs.get(__name__)


class Humans:
    """Calls people by a line in the log, with the command that answers."""

    def __init__(self, redis: Redis, views: Views, bury: Bury) -> None:
        self._redis = redis
        self._views = views
        self._bury = bury

    async def handle(self, entries: list[Entry]) -> None:
        """Tell about each entry and finish it."""
        for entry in entries:
            decoded = decode(Stream.HUMANS, entry.fields)
            if isinstance(decoded, Rejected):
                _log.error("a message for people cannot be read", reason=decoded.reason.value, detail=decoded.detail)
                await self._bury(entry, decoded.reason.value, decoded.detail)
                continue
            message = decoded.message
            if isinstance(message, HumanRequested):
                await self._tell(message)
            elif isinstance(message, HumanWithdrawn):
                _log.info("a question was withdrawn", request=message.data.request_id, reason=message.data.reason)
            await self._finish(entry)

    async def exhausted(self, entry: Entry) -> None:
        """Bury what could not be told about again and again."""
        await self._bury(entry, "deliveries", f"handed out {entry.deliveries} times without success")

    async def _tell(self, message: HumanRequested) -> None:
        request = await self._views.request(message.data.request_id, sees=lambda _: True)
        if request is None or request.status is not RequestStatus.OPEN:
            return  # answered, late or forgotten while the message was on its way
        with logs.about(chain=request.chain_id, step=request.step_id, action=request.action_id):
            _log.info(
                questions.about(request),
                answer=questions.command(request),
                kind=request.kind.value,
                until=request.deadline.isoformat(),
            )

    async def _finish(self, entry: Entry) -> None:
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.xack(entry.stream, GROUP[Stream.HUMANS].value, entry.id)
        pipeline.xdel(entry.stream, entry.id)
        await pipeline.execute()
