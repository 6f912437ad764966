"""The feeds of all partitions, read as one: in which logs lines were written, and a place to
continue from.
"""

import asyncio
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from haltpoint.contracts.base import value
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.topology import Topology

_ENTRY: Final = re.compile(r"[0-9]{1,15}-[0-9]{1,15}")
_MOST: Final = 256
"""Entries of a feed that are read at once."""

Places = Sequence[str]
"""The entry of each partition's feed up to which was read."""


@value
class FeedPart:
    """What was read of the feeds."""

    lines: Mapping[str, list[int]]
    """The numbers of the lines that were written, by chain."""
    places: Places


async def newest_in(calls: AutoPipeline, feed: str) -> bytes:
    """The newest entry of a feed. Not `$`: it means another moment at each read, and what comes
    between two reads would be missed.
    """
    newest = await calls.call("XREVRANGE", feed, "+", "-", "COUNT", 1)
    return bytes(newest[0][0]) if newest else b"0-0"


class Feeds:
    """The feeds of a deployment."""

    def __init__(self, calls: AutoPipeline, topology: Topology) -> None:
        self._calls = calls
        self._keys = topology.keys("feed")

    def places(self, text: str) -> Places | None:
        """Places as they are written, joined by commas; None: they are no places of these feeds."""
        places = text.split(",")
        are_entries = all(map(_ENTRY.fullmatch, places))
        return places if are_entries and len(places) == len(self._keys) else None

    async def newest(self) -> Places:
        """The places up to which everything has happened."""
        places = await asyncio.gather(*(newest_in(self._calls, key) for key in self._keys))
        return [place.decode() for place in places]

    async def behind(self, places: Places) -> FeedPart:
        """What was written behind these places."""
        calls = [
            self._calls.call("XRANGE", key, f"({place}", "+", "COUNT", _MOST)
            for key, place in zip(self._keys, places, strict=True)
        ]
        lines: defaultdict[str, list[int]] = defaultdict(list)
        read: list[str] = []
        for place, entries in zip(places, await asyncio.gather(*calls), strict=True):
            for _, (kind, text, *_) in entries:
                written = text.decode().split() if kind == b"lines" else ()
                for line in written:  # <chain>:<number>
                    chain_id, _, number = line.rpartition(":")
                    lines[chain_id].append(int(number))
            read.append(entries[-1][0].decode() if entries else place)
        return FeedPart(lines, read)
