"""The calls with other effects that this worker has started: for a server that has forgotten them
(R10).
"""

from collections import OrderedDict
from dataclasses import replace
from typing import Final

from msgspec import Struct

from haltpoint.contracts.results import ErrorType
from haltpoint.runtime.store.limits.effects import Standing, standing_of_outcome
from haltpoint.runtime.store.receipts import Finished, recorded_outcome
from haltpoint.runtime.store.recovery import Recalled, call_digest
from haltpoint.runtime.store.rows import Kind, Receipt
from haltpoint.runtime.streams.wire import encode
from haltpoint_tool_worker.running.job import Job

MOST: Final = 4096
"""Calls that are remembered."""
LARGEST: Final = 8 * 1024
"""Bytes of the data of a result that is remembered with its call; a larger one is not."""


class _Call(Struct):
    """A call that was started, and how it ended, as far as that is remembered."""

    partition: int
    recalled: Recalled
    effect: str
    """The digest of the effect that it has reserved and may have had (E6)."""
    says: str | None = None
    """The line of its deed."""


class Memory:
    """The last calls, of which the oldest is forgotten first."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, _Call] = OrderedDict()

    def began(self, job: Job) -> None:
        """A claim lets this call run."""
        request = job.request
        digest = call_digest(request.tool, job.arguments)
        recalled = Recalled(request.action_id, request.attempt, digest, job.claimed.token)
        effect = job.effect.digest if job.effect is not None else ""
        self._calls[request.action_id] = _Call(job.ref.partition, recalled, effect)
        self._calls.move_to_end(request.action_id)
        if len(self._calls) > MOST:
            self._calls.popitem(last=False)

    def ended(self, finished: Finished) -> None:
        """It is over, whether the server has heard of it or not. A doubt says no more than that it
        was started.
        """
        call = self._calls.get(finished.action_id)
        error = finished.outcome.error
        in_doubt = error is not None and error.error_type is ErrorType.IN_DOUBT
        is_large = len(finished.data) > LARGEST
        if call is None or in_doubt or is_large or call.recalled.attempt != finished.attempt:
            return
        recorded = recorded_outcome(finished)
        receipt = Receipt(Kind.RECEIPT, encode(recorded).decode(), finished.data)
        call.recalled = replace(call.recalled, receipt=receipt.text)
        deed = recorded.metadata.deed
        if deed is not None:
            call.says = deed.says
        elif standing_of_outcome(recorded, deed, tried_before=False) is Standing.FREE:
            call.effect = ""

    def of(self, partition: int) -> list[Recalled]:
        """What is remembered of a partition."""
        calls = self._calls.values()
        return [call.recalled for call in calls if call.partition == partition]

    def effects(self) -> list[tuple[str, str, str | None]]:
        """Effects that happen once and may have: digest, action, and the line of the deed if it is
        known.
        """
        calls = self._calls.items()
        return [(call.effect, action, call.says) for action, call in calls if call.effect]
