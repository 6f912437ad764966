"""The calls with other effects that this worker has started: for a server that has forgotten them
(R10).
"""

from collections import OrderedDict
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
    attempt: int
    token: str
    digest: str
    effect: str = ""
    """The digest of the effect that it has reserved (E6)."""
    finished: Finished | None = None


class Memory:
    """The last calls, of which the oldest is forgotten first."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, _Call] = OrderedDict()

    def began(self, job: Job, token: str) -> None:
        """A claim lets this call run."""
        request = job.request
        digest = call_digest(request.tool, job.arguments)
        effect = job.effect.digest if job.effect is not None else ""
        call = _Call(job.ref.partition, request.attempt, token, digest, effect)
        self._calls[request.action_id] = call
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
        if call is None or call.attempt != finished.attempt or in_doubt:
            return
        if len(finished.data) <= LARGEST:
            call.finished = finished

    def of(self, partition: int) -> list[Recalled]:
        """What is remembered of a partition."""
        recalled: list[Recalled] = []
        for action, call in self._calls.items():
            if call.partition != partition:
                continue
            receipt = ""
            if call.finished is not None:
                outcome = encode(recorded_outcome(call.finished)).decode()
                receipt = Receipt(Kind.RECEIPT, outcome, call.finished.data).text
            recalled.append(Recalled(action, call.attempt, call.digest, call.token, receipt))
        return recalled

    def effects(self) -> list[tuple[str, str, str | None]]:
        """Effects that happen once and may have: digest, action, and the line of the deed if it is
        known.
        """
        effects: list[tuple[str, str, str | None]] = []
        for action, call in self._calls.items():
            finished, deed, standing = call.finished, None, Standing.UNDER_WAY
            if finished is not None:
                deed = None if finished.metadata is None else finished.metadata.deed
                standing = standing_of_outcome(finished.outcome, deed, tried_before=False)
            if call.effect and standing is not Standing.FREE:
                effects.append((call.effect, action, None if deed is None else deed.says))
        return effects
