"""A stream that each partition has, read as one in the order of time."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.topology import Topology

PLACE: Final = re.compile(r"([0-9]{1,4})/([0-9]{1,15})-([0-9]{1,15})")
"""The name of a place: `<partition>/<entry>`."""


class Place(NamedTuple):
    """Where an entry is. Places are in the order of time."""

    ms: int
    number: int
    partition: int

    @classmethod
    def parse(cls, text: str) -> "Place":
        """Raises ValueError for what is no name of a place."""
        match = PLACE.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not the id of an entry")
        partition, ms, number = map(int, match.groups())
        return cls(ms, number, partition)

    @property
    def entry(self) -> str:
        """Its entry in its partition."""
        return f"{self.ms}-{self.number}"

    def __str__(self) -> str:
        return f"{self.partition}/{self.entry}"


Entry = tuple[Place, Sequence[bytes]]
"""Where an entry is, and its names and values in turn."""


async def read_timeline(
    calls: AutoPipeline,
    topology: Topology,
    stream: str,
    cursor: str | None,
    limit: int,
    since: datetime | None = None,
    until: datetime | None = None,
) -> tuple[list[Entry], str | None]:
    """The first `limit` entries behind a cursor, from one moment to another; and the next
    cursor.
    """
    behind = Place.parse(cursor) if cursor else None
    begin, end = _ms(since, "-"), _ms(until, "+")
    entries: list[Entry] = []
    for partition in range(topology.partitions):  # one after the other: each may have megabytes
        key = topology.key(partition, stream)
        first = begin
        if behind is not None:
            first = f"({behind.entry}" if partition <= behind.partition else behind.entry
        for entry, values in await calls.call("XRANGE", key, first, end, "COUNT", limit):
            entries.append((Place.parse(f"{partition}/{entry.decode()}"), values))
    entries.sort(key=lambda entry: entry[0])
    if len(entries) < limit:
        return entries, None
    return entries[:limit], str(entries[limit - 1][0])


def _ms(moment: datetime | None, otherwise: str) -> str:
    """As the server's ids begin: none is earlier than 1970."""
    return str(max(0, round(moment.timestamp() * 1000))) if moment else otherwise
