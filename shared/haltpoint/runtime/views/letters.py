"""Dead letters as people read them. A letter's id is `<partition>/<entry>`."""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from haltpoint.contracts.base import value
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
_OURS: Final = 14
"""Names and values of our seven fields (store/lua/base.lua)."""
_SHOWN: Final = 1024
"""Characters of a message."""


@value
class LetterId:
    """Where a letter is."""

    partition: int
    ms: int
    number: int

    @classmethod
    def parse(cls, text: str) -> "LetterId":
        """Raises ValueError for what is no id of a letter."""
        match = LETTER.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not the id of a dead letter")
        return cls(*map(int, match.groups()))

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
    letters: list[tuple[LetterId, LetterView]] = []
    for partition in range(topology.partitions):  # one after the other: each may have megabytes
        first = _first(partition, last)
        key = topology.key(partition, "dead")
        for entry, values in await calls.call("XRANGE", key, first, "+", "COUNT", limit):
            name = f"{partition}/{entry.decode()}"
            letters.append((LetterId.parse(name), _letter(name, values)))
    letters.sort(key=lambda letter: _order(letter[0]))
    page = [letter for _, letter in letters[:limit]]
    fitting = [letter for letter in page if reason in (None, letter.reason)]
    return Page(items=tuple(fitting), next_cursor=page[-1].id if len(page) == limit else None)


def _order(letter: LetterId) -> tuple[int, int, int]:
    return letter.ms, letter.number, letter.partition


def _first(partition: int, last: LetterId | None) -> str:
    """Where a partition's letters behind the last one begin."""
    if last is None:
        return "-"
    return f"({last.entry}" if partition <= last.partition else last.entry


def _letter(name: str, values: Sequence[bytes]) -> LetterView:
    """A letter from its entry: our fields come first, then those of the message."""
    ours = _texts(values[:_OURS])
    data = dict(zip(values[_OURS::2], values[_OURS + 1 :: 2], strict=True)).get(_DATA, b"")
    return LetterView(
        id=name,
        stream=ours["stream"],
        reason=ours["reason"],
        detail=ours["detail"],
        chain_id=ours["chain"],
        at=moment(ours["at"]),
        message=_without_private(body_of(data))[:_SHOWN],
    )


def _texts(values: Sequence[bytes]) -> dict[str, str]:
    texts = [value.decode(errors="replace") for value in values]
    return dict(zip(texts[::2], texts[1::2], strict=True))


def _without_private(body: bytes) -> str:
    """A message without what its task gives to tools alone (C15)."""
    text = body.decode(errors="replace")
    if '"private"' not in text:
        return text
    with suppress(ValueError, RecursionError):
        message = json.loads(text)
        parts = (message, message.get("data")) if isinstance(message, dict) else ()
        for part in parts:
            if isinstance(part, dict):
                part.pop("private", None)
        return json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return text
