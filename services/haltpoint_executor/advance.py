"""Load, decide, commit: what chains have heard becomes what they are, for a batch of one partition in one call.

A chain that somebody else changed meanwhile (another executor, for as long as two believe to own the partition) is
loaded again and decided again, alone, until its commit fits. What was decided before that was never seen by anybody.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from opentelemetry.trace import Span, SpanKind

from haltpoint.chain.decide import decide
from haltpoint.contracts.catalogue import GROUP, Stream
from haltpoint.contracts.events import HumanAnswered, MessageLost, Received, TimerDue
from haltpoint.runtime import logs, telemetry
from haltpoint.runtime.committing import ChainCommit, Decided, Loaded
from haltpoint.runtime.store import CommitStatus, Store
from haltpoint_executor.clock import ServerClock
from haltpoint_executor.world import CurrentWorld, takes_all_tools, tools_named

_CACHED_CHAINS: Final = 10_000
_ATTEMPTS: Final = 20
"""Conflicts in a row after which a chain's entries are left to come back; each means that somebody else got on."""

_log = logs.get(__name__)


@dataclass(slots=True)
class Heard:
    """What one chain has to decide on, in the stream's order, and the entries that it came by."""

    chain_id: str
    received: list[Received] = field(default_factory=list)
    entries: list[str] = field(default_factory=list)


class ChainCache:
    """The chains that were decided on last, as they are in Redis unless somebody else changed them."""

    def __init__(self, limit: int = _CACHED_CHAINS) -> None:
        self._limit = limit
        self._chains: OrderedDict[str, Loaded] = OrderedDict()

    def get(self, chain_id: str) -> Loaded | None:
        """The chain as we left it."""
        return self._chains.get(chain_id)

    def keep(self, loaded: Loaded) -> None:
        """Remember it, unless it is over: nothing more is expected then."""
        chain = loaded.chain
        if chain.status.final:
            self._chains.pop(chain.id, None)
            return
        self._chains[chain.id] = loaded
        self._chains.move_to_end(chain.id)
        if len(self._chains) > self._limit:
            self._chains.popitem(last=False)

    def drop(self, chain_id: str) -> None:
        """Forget it: it is not what we thought."""
        self._chains.pop(chain_id, None)


class Advance:
    """Moves the chains of one partition on. Not to be called by two at once."""

    def __init__(
        self, partition: int, store: Store, world: CurrentWorld, clock: ServerClock, tracing: telemetry.Tracing
    ) -> None:
        self._partition = partition
        self._tracing = tracing
        self._store = store
        self._world = world
        self._clock = clock
        self._cache = ChainCache()

    async def load(self, chain_ids: Sequence[str]) -> dict[str, Loaded]:
        """These chains, from memory where we have them. Missing: there is no such chain, or it cannot be used."""
        known: dict[str, Loaded] = {}
        missing: list[str] = []
        for chain_id in chain_ids:
            if (loaded := self._cache.get(chain_id)) is not None:
                known[chain_id] = loaded
            else:
                missing.append(chain_id)
        if missing:
            known.update(await self._store.load(self._partition, missing))
        return known

    async def commit(self, heard: Sequence[Heard], known: dict[str, Loaded], finished: Sequence[str]) -> None:
        """Decide and write. `known` has all these chains; `finished` are entries that only need to be acknowledged.

        Entries of a chain for which that failed are left to come back after their lease; what failed is logged.
        """
        for _ in range(_ATTEMPTS):
            await self._look_for_new_tools(heard, known)
            spans: list[Span] = []
            commits = [
                commit for each in heard if (commit := self._decide(each, known[each.chain_id], spans)) is not None
            ]
            if not commits and not finished:
                return
            try:
                batch = await self._store.commit(self._partition, commits, finished)
            finally:
                for span in spans:
                    telemetry.finish(span)
            self._clock.told(batch.now)
            conflicts: set[str] = set()
            for commit, committed in zip(commits, batch.chains, strict=True):
                chain_id = commit.loaded.chain.id
                if committed.loaded is not None:
                    self._cache.keep(committed.loaded)
                    continue
                self._cache.drop(chain_id)
                if committed.status is CommitStatus.CONFLICT:
                    conflicts.add(chain_id)
                else:
                    with logs.about(chain=chain_id, trace=commit.loaded.trace):
                        _log.error("the chain is quarantined; its entries are dead letters")
            if not conflicts:
                return
            _log.debug("somebody else changed chains; deciding again", chains=len(conflicts))
            known = await self._store.load(self._partition, sorted(conflicts))
            heard = [each for each in heard if each.chain_id in known]
            finished = ()
        _log.warning("chains are changed by somebody else all the time", chains=[each.chain_id for each in heard])

    def _decide(self, heard: Heard, loaded: Loaded, spans: list[Span]) -> ChainCommit | None:
        """Decide on each event in turn; None when that is not possible, which is a fault of ours. The chain hears of it
        when the event has come back too often; when it cannot even decide on that, the commit makes it a fault.

        A span for each goes to `spans`, to be finished when it is written.
        """
        decided: list[Decided] = []
        chain = loaded.chain
        for received in heard.received:
            now = max(self._clock.now(), _told_time(received), chain.updated_at)
            span = self._span(received, loaded)
            if span is not None:
                spans.append(span)
            try:
                decision = decide(chain, received, self._world.value, now)
            except Exception as error:  # noqa: BLE001 - one chain must not stop the others
                with logs.about(chain=heard.chain_id, trace=loaded.trace):
                    _log.error("a decision failed", message=received.message.id, exc_info=error)
                if isinstance(received.message, MessageLost):
                    return ChainCommit(loaded, (), heard.entries, error)
                return None
            decided.append(Decided(received, decision, now, telemetry.context_of(span, loaded.trace)))
            chain = decision.chain
            if span is not None:
                span.set_attribute(telemetry.CHAIN_STATUS, chain.status.value)
        return ChainCommit(loaded, decided, heard.entries)

    def _span(self, received: Received, loaded: Loaded) -> Span | None:
        message = received.message
        if loaded.trace is None or not self._tracing.wanted(loaded.trace):
            return None
        name = message.type.rpartition(".")[0]
        attributes: dict[str, telemetry.Value] = {
            telemetry.MESSAGING_SYSTEM: "redis",
            telemetry.MESSAGING_OPERATION: "process",
            telemetry.MESSAGING_OPERATION_TYPE: "process",
            telemetry.MESSAGING_DESTINATION: Stream.EVENTS.value,
            telemetry.MESSAGING_PARTITION: str(self._partition),
            telemetry.MESSAGING_GROUP: GROUP[Stream.EVENTS].value,
            telemetry.MESSAGING_MESSAGE: message.id,
            telemetry.CHAIN: loaded.chain.id,
        }
        return self._tracing.start(
            f"process {name}", loaded.trace, SpanKind.CONSUMER, attributes, caused_by=message.traceparent
        )

    async def _look_for_new_tools(self, heard: Sequence[Heard], known: dict[str, Loaded]) -> None:
        named: set[str] = set()
        all_there_are = False
        for each in heard:
            chain = known[each.chain_id].chain
            for received in each.received:
                named |= tools_named(received.message, chain)
                all_there_are = all_there_are or takes_all_tools(received.message, chain)
        await self._world.know(named, all_there_are=all_there_are)


def _told_time(received: Received) -> int:
    """The server's time that the message itself tells (ms), 0 for none: we are not earlier than that."""
    match received.message:
        case HumanAnswered():
            return received.message.data.at
        case TimerDue():
            return received.message.data.at
        case _:
            return 0
