"""The feed of a partition, read without a group: each gateway hears everything and wakes those who
watch.

What is heard is that something happened, and how far running calls are. So nothing is lost when an
entry is missed, and nothing is acknowledged.
"""

import asyncio
import math
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

import msgspec
from redis.exceptions import RedisError

from haltpoint.contracts.views.chains import EventView, ProgressView
from haltpoint.runtime.observability import logs
from haltpoint.runtime.service.service import Service
from haltpoint.runtime.streams.broker import POLL_MS
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.views.feeds import newest_in
from haltpoint_gateway.shared_logs import as_sse
from haltpoint_gateway.watchers import Watchers

_BATCH: Final = 256
_PAUSE: Final = 0.005
"""Seconds between two reads: people see no difference, and watchers look once at what came
meanwhile.
"""

_log = logs.get(__name__)


def listen(here: Service, watchers: Watchers) -> None:
    """Read all feeds while there are watchers, until the service is closed."""
    for partition in range(here.topology.partitions):
        feed = here.topology.key(partition, "feed")
        here.spawn(_read(here, feed, watchers), f"read {feed}")


async def _read(here: Service, feed: str, watchers: Watchers) -> None:
    last = b""  # the entry that was read last; none while there are no watchers
    async with AutoPipeline(here.redis, patience=math.inf, timeout=POLL_MS / 1000 + 6) as reading:
        while True:
            if not watchers.present.is_set():
                await watchers.present.wait()
                last = b""
            try:
                if not last:
                    last = await newest_in(reading, feed)
                    watchers.wake_all()  # to what came before
                reply = await reading.call(
                    "XREAD", "COUNT", _BATCH, "BLOCK", POLL_MS, "STREAMS", feed, last
                )
            except (RedisError, OSError) as error:
                _log.warning("a feed cannot be read", stream=feed, reason=str(error))
                await asyncio.sleep(1.0)  # a server that refuses answers at once
                continue
            for last, fields in (reply or {}).get(feed.encode(), ()):  # noqa: B007 - the next read begins there
                kind, text, *_ = fields
                if kind == b"progress":
                    _show(watchers, text)
                    continue
                for line in text.decode(errors="replace").split():  # something happened there
                    watchers.wake(line.partition(":")[0])
            await asyncio.sleep(_PAUSE)


def _show(watchers: Watchers, text: bytes) -> None:
    """A worker's report as the event that it is."""
    with suppress(msgspec.MsgspecError):
        report = msgspec.json.decode(text, type=ProgressView)
        details = msgspec.to_builtins(report)
        event = EventView("", datetime.now(UTC), "progress", details)
        watchers.show(report.action_id, as_sse(event))
