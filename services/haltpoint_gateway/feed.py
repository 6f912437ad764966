"""The feed of a partition, read without a group: each gateway hears everything and wakes those who watch.

What is heard is only that something happened. So nothing is lost when an entry is missed, and nothing is acknowledged.
"""

from functools import partial
from typing import Any, cast

from faststream import AckPolicy
from faststream.redis import StreamSub
from faststream.redis.message import FAKE_CONSUMER, BatchStreamMessage, RedisBatchStreamMessage

from haltpoint.runtime.service.service import Service
from haltpoint.runtime.streams.broker import POLL_MS
from haltpoint_gateway.watchers import Watchers

_BATCH = 256


async def listen(here: Service, watchers: Watchers) -> None:
    """Read all feeds from now on, as long as the service's broker runs."""

    async def wake(batch: dict[str, Any]) -> None:
        for fields in batch["data"]:
            for line in fields.get(b"lines", b"").decode(errors="replace").split():
                watchers.wake(line.partition(":")[0])

    for partition in range(here.topology.partitions):
        feed = here.topology.key(partition, "feed")
        # Not `$`: it means another moment at each read, and what comes between two reads would be missed.
        last: list[tuple[bytes, object]] = cast("Any", await here.reach(partial(here.redis.xrevrange, feed, count=1)))
        subscriber = here.broker.subscriber(
            stream=StreamSub(
                feed,
                last_id=last[0][0].decode() if last else "0-0",
                batch=True,
                max_records=_BATCH,
                polling_interval=POLL_MS,
            ),
            ack_policy=AckPolicy.MANUAL,
            no_reply=True,
            parser=_pass_through,
            decoder=_raw_body,
            include_in_schema=False,
        )
        subscriber(wake)
        await subscriber.start()


async def _pass_through(raw: BatchStreamMessage) -> RedisBatchStreamMessage:
    """A FastStream parser that leaves a batch as it was read; goes together with `_raw_body`."""
    return RedisBatchStreamMessage(
        raw_message=raw,
        body=raw,  # only `_raw_body` takes it out again
        consumer=FAKE_CONSUMER,
        group=None,
    )


async def _raw_body(message: RedisBatchStreamMessage) -> object:
    """A FastStream decoder: the batch as a dict with `message_ids` and `data`, one field mapping per entry."""
    return message.body
