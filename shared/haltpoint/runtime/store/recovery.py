"""What is known of a partition whose history went backwards (R10): brought by processes, read by
people.
"""

import asyncio
import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from haltpoint.contracts.base import value
from haltpoint.contracts.people.audit import Line
from haltpoint.contracts.views.deployment import LossView
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.streams.connection import Argument, Side

_BATCH: Final = 200
"""Actions of one call."""


@value
class Recalled:
    """An action with other effects that was started, as its process remembers it."""

    action_id: str
    attempt: int
    call: str
    """As `call_digest` gives it."""
    token: str = ""
    """Of the claim under which it was started, if this process made it."""
    receipt: str = ""
    """Its receipt as it is stored (`rows.Receipt`), if it is known."""


def went_backwards(partition: int) -> HaltpointError:
    """HP-023."""
    return HaltpointError(
        "HP-023",
        f"the history of partition {partition} went backwards",
        "the server has lost writes that it had acknowledged: it was flushed, or came back with an "
        "older copy of its data",
        "Calls that were started are not started again; haltpoint recover show shows the loss",
    )


def call_digest(tool: str, arguments: str) -> str:
    """Tells a call from another under the same id."""
    text = f"{tool}\n{arguments}".encode(errors="replace")
    return hashlib.sha1(text, usedforsecurity=False).hexdigest()


class Recovery(Side):
    """For services, which tell what they know, and for people, who read it."""

    async def look(self, partition: int) -> bool:
        """Whether the server knows less of a partition than this process has heard."""
        mark = self._calls.continuity.mark(partition)
        args = ("", 0) if mark is None else mark
        lost = await self._functions.call("look", partition, *args)
        if mark is not None and not lost:
            self._calls.continuity.confirm(partition, mark)
        return bool(lost)

    async def recall(self, partition: int, actions: Sequence[Recalled]) -> int:
        """Say which actions were started; returns how many of them the partition did not know."""
        unknown = 0
        for first in range(0, len(actions), _BATCH):
            args: list[Argument] = []
            for action in actions[first : first + _BATCH]:
                receipt = action.receipt.encode()
                args += (action.action_id, action.attempt, action.token, action.call, receipt)
            unknown += await self._functions.call("recall", partition, *args)
        return unknown

    async def miss(self, partition: int, chains: Sequence[str]) -> int:
        """Tell which chains were accepted; returns how many of them are found to be missing."""
        missing = 0
        for first in range(0, len(chains), _BATCH):
            batch = chains[first : first + _BATCH]
            missing += await self._functions.call("miss", partition, *batch)
        return missing

    async def lose_group(self, partition: int, stream: str) -> None:
        """Tell that a stream's consumer group is gone."""
        await self._functions.call("lose_group", partition, stream)

    async def losses(self) -> list[LossView]:
        """What no person has accepted yet, by partition."""
        found = await asyncio.gather(*map(self._loss, range(self._topology.partitions)))
        return [loss for loss in found if loss is not None]

    async def accept(self, partition: int, line: Line | None = None) -> None:
        """A person has seen what a partition has lost; what was recalled still holds."""
        await self._functions.call("accept_loss", partition, line=line)

    async def _loss(self, partition: int) -> LossView | None:
        key = self._topology.key
        fields, recalled, twice, gone = await asyncio.gather(
            self._calls.call("HGETALL", key(partition, "lost")),
            self._calls.call("HKEYS", key(partition, "recalled")),
            self._calls.call("SMEMBERS", key(partition, "twice")),
            self._calls.call("SMEMBERS", key(partition, "gone")),
        )
        if not fields:
            return None
        at = int(fields[b"at"]) / 1000
        return LossView(
            partition=partition,
            at=datetime.fromtimestamp(at, UTC),
            before=int(fields[b"before"]),
            after=int(fields[b"after"]),
            groups=fields.get(b"groups", b"").decode(),
            recalled=_sorted(recalled),
            twice=_sorted(twice),
            gone=_sorted(gone),
        )


def _sorted(names: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(sorted(name.decode() for name in names))
