"""FastStream's batch subscriber on a shorter way: from the stream to one function, over one connection.

FastStream asks redis-py for each batch, and that takes a connection out of a pool, wraps, counts and times the command;
then it makes a message of the batch, which passes scopes, middlewares, a filter, a parser and a decoder. None of it is
used here, and it was a quarter of what an action costs in an idle system. FastStream still starts, watches over and
stops the reading, and says what is wrong with it.
"""

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, Final, cast

from faststream import AckPolicy
from faststream._internal.endpoint.subscriber.call_item import CallsCollection
from faststream.redis import RedisBroker, StreamSub
from faststream.redis.subscriber.config import RedisSubscriberConfig, RedisSubscriberSpecificationConfig
from faststream.redis.subscriber.specification import StreamSubscriberSpecification
from faststream.redis.subscriber.usecases import StreamBatchSubscriber
from redis.asyncio.connection import AbstractConnection

from haltpoint.runtime.broker import POLL_MS
from haltpoint.runtime.refused import RefusedForNow

Row = tuple[bytes, dict[bytes, bytes]]
"""The id and the fields of one entry."""

_COUNT: Final = 5
"""Where the command says how much it wants."""


class Reader(StreamBatchSubscriber):
    """Hands what is new in `stream` to `handle`, one batch after the other; it says how much the next one may bring.

    `asked_at` is when the last batch was asked for, by the monotonic clock: the server gave it out after that.
    """

    def __init__(
        self,
        broker: RedisBroker,
        stream: str,
        group: str,
        consumer: str,
        count: int,
        handle: Callable[[list[Row]], Awaitable[int]],
    ) -> None:
        source = StreamSub(stream, group=group, consumer=consumer, batch=True, declare=False)
        outer, calls = cast("Any", broker.config), CallsCollection[Any]()
        config = RedisSubscriberConfig(
            _outer_config=outer, _ack_policy=AckPolicy.MANUAL, no_reply=True, stream_sub=source
        )
        about = RedisSubscriberSpecificationConfig(title_=None, description_=None, include_in_schema=False)
        super().__init__(config, StreamSubscriberSpecification(outer, about, calls, stream_sub=source), calls)
        self(handle)  # FastStream reads for nobody, so it is told; `_get_msgs` calls it
        self._handle = handle
        self.asked_at = 0.0
        self._command: list[Any] = ["XREADGROUP", "GROUP", group, consumer, "COUNT", count, "BLOCK", POLL_MS]
        self._command += ["STREAMS", stream, ">"]
        self._connection: AbstractConnection | None = None

    async def stop(self) -> None:
        """Read no more; what is being handled may end first."""
        await super().stop()
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.disconnect(nowait=True)
            await self._client.connection_pool.release(connection)

    async def _get_msgs(self, read: object) -> None:
        """One batch: FastStream calls it again and again. Raises redis-py's errors, when patience did not help."""
        connection = self._connection
        if connection is None:
            pool: Any = self._client.connection_pool
            connection = self._connection = await pool.get_connection()
        found = None
        with suppress(RefusedForNow):  # the service says so, once; FastStream would each time, and sleep
            found = await connection.retry.call_with_retry(partial(self._ask, connection), partial(_close, connection))
        if found and self.running:
            with self.lock:
                self._command[_COUNT] = await self._handle(list(_rows(found)))

    async def _ask(self, connection: AbstractConnection) -> Any:
        self.asked_at = time.monotonic()
        await connection.send_command(*self._command)
        return await connection.read_response()


async def _close(connection: AbstractConnection, _: Exception) -> None:
    await connection.disconnect()


def _rows(found: Any) -> Iterator[Row]:
    """The entries of a reply about one stream: a map in RESP3 and a list of pairs in RESP2."""
    ((_, rows),) = found.items() if isinstance(found, dict) else found
    for entry, fields in rows:
        yield entry, dict(zip(fields[::2], fields[1::2], strict=True))
