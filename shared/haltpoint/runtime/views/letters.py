"""Dead letters as people read them. A letter's id is `<partition>/<entry>`."""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.views.chains import Page
from haltpoint.contracts.views.deployment import LetterView
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.foreign_formats import body_of
from haltpoint.runtime.streams.topology import Topology
from haltpoint.runtime.streams.wire import DATA, DeadLetterReason
from haltpoint.runtime.views.log_view import moment

LETTER: Final = re.compile(r"([0-9]{1,4})/([0-9]{1,15})-([0-9]{1,15})")
"""The id of a letter."""

_DATA: Final = DATA.encode()
_OURS: Final = (b"stream", b"reason", b"detail", b"chain", b"at")
"""Fields of ours (store/lua/base.lua)."""
_SHOWN: Final = 1024
"""Characters of a message."""


class LetterId(NamedTuple):
    """Where a letter is. Letters are in the order of their ids."""

    ms: int
    number: int
    partition: int

    @classmethod
    def parse(cls, text: str) -> "LetterId":
        """Raises ValueError for what is no id of a letter."""
        match = LETTER.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not the id of a dead letter")
        partition, ms, number = map(int, match.groups())
        return cls(ms, number, partition)

    @property
    def entry(self) -> str:
        """Its entry in its partition."""
        return f"{self.ms}-{self.number}"


async def read_letters(
    calls: AutoPipeline,
    topology: Topology,
    reason: DeadLetterReason | None,
    cursor: str | None,
    limit: int,
) -> Page[LetterView]:
    """A page of letters, the oldest first: of `limit` letters those with this reason."""
    last = LetterId.parse(cursor) if cursor else None
    letters: list[LetterView] = []
    for partition in range(topology.partitions):  # one after the other: each may have megabytes
        first = _first(partition, last)
        key = topology.key(partition, "dead")
        for entry, values in await calls.call("XRANGE", key, first, "+", "COUNT", limit):
            letters.append(_letter(f"{partition}/{entry.decode()}", values))
    letters.sort(key=lambda letter: LetterId.parse(letter.id))
    page = letters[:limit]
    fitting = [letter for letter in page if reason in (None, letter.reason)]
    return Page(items=tuple(fitting), next_cursor=page[-1].id if len(page) == limit else None)


def _first(partition: int, last: LetterId | None) -> str:
    """Where a partition's letters behind the last one begin."""
    if last is None:
        return "-"
    return f"({last.entry}" if partition <= last.partition else last.entry


def _letter(name: str, values: Sequence[bytes]) -> LetterView:
    """A letter from its entry: our fields come first, then those of the message."""
    pairs = list(zip(values[::2], values[1::2], strict=True))
    fields = dict(reversed(pairs))  # so that no field of the message takes the place of ours
    stream, reason, detail, chain, at = (fields[field].decode(errors="replace") for field in _OURS)
    return LetterView(
        id=name,
        stream=stream,
        reason=reason,
        detail=detail,
        chain_id=chain,
        at=moment(at),
        message=_without_private(body_of(fields.get(_DATA, b"")))[:_SHOWN],
    )


def _without_private(body: bytes) -> str:
    """A message without what its task gives to tools alone (C15)."""
    text = body.decode(errors="replace")
    if '"private"' not in text:
        return text
    with suppress(ValueError, RecursionError):
        message = json.loads(text, object_hook=_public)
        return json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return text


def _public(fields: JsonObject) -> JsonObject:
    fields.pop("private", None)
    return fields
