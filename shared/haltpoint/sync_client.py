"""The client for programs without an event loop: the same calls, each of which waits for its result.

    with SyncClient("http://127.0.0.1:8700", key=...) as client:
        print(client.run("Tell John I'm running late").result().answer.text)

It runs its own event loop in a thread.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from haltpoint.client import Client
from haltpoint.contracts.people.humans import Choice, RequestKind, RequestStatus
from haltpoint.contracts.reasons import Reach
from haltpoint.contracts.views import (
    ActionRecord,
    ChainSummary,
    ChainView,
    EventView,
    Page,
    RequestView,
    StatsView,
    ToolView,
)
from haltpoint.contracts.work.tasks import Task
from haltpoint.runs import Result, Run

_T = TypeVar("_T")


class SyncRun:
    """One chain as its submitter holds it; see `Run`."""

    def __init__(self, client: "SyncClient", run: Run) -> None:
        self._client = client
        self._run = run
        self.id = run.id

    def events(self, after: str | None = None) -> Iterator[EventView]:
        """See `Run.events`."""
        return self._client.iterate(self._run.events(after))

    def result(self, timeout: float | None = None) -> Result:
        """See `Run.result`. Without a timeout it raises NotEndedError as soon as the chain waits for a person."""
        return self._client.wait(self._run.result_unless_asked() if timeout is None else self._run.result(timeout))

    def expects_request(self, kind: RequestKind | str | None = None) -> RequestView:
        """See `Run.expects_request`."""
        return self._client.wait(self._run.expects_request(kind))

    def cancel(self, reason: str = "") -> None:
        """See `Run.cancel`."""
        self._client.wait(self._run.cancel(reason))


class SyncClient:
    """A `Client` on an event loop in a thread of its own, from `with` to its end. For one thread at a time."""

    def __init__(self, url: str, key: str, *, timeout: float = 30.0) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="haltpoint-client", daemon=True)
        self._thread.start()
        self._client = Client(url, key, timeout=timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections and end the thread."""
        self.wait(self._client.aclose())
        self.wait(self._loop.shutdown_asyncgens())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(
        self,
        goal: str = "",
        *,
        task: Task | Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        **fields: Any,
    ) -> SyncRun:
        """See `Client.run`."""
        return SyncRun(self, self.wait(self._client.run(goal, task=task, idempotency_key=idempotency_key, **fields)))

    def attach(self, chain_id: str) -> SyncRun:
        """See `Client.attach`."""
        return SyncRun(self, self._client.attach(chain_id))

    def chain(self, chain_id: str) -> ChainView:
        """See `Client.chain`."""
        return self.wait(self._client.chain(chain_id))

    def chains(self, status: str | None = None, *, cursor: str | None = None, limit: int = 50) -> Page[ChainSummary]:
        """See `Client.chains`."""
        return self.wait(self._client.chains(status, cursor=cursor, limit=limit))

    def actions(self, chain_id: str) -> tuple[ActionRecord, ...]:
        """See `Client.actions`."""
        return self.wait(self._client.actions(chain_id))

    def feedback(self, chain_id: str, words: str = "", *, wrong: bool = True, action_id: str | None = None) -> None:
        """See `Client.feedback`."""
        self.wait(self._client.feedback(chain_id, words, wrong=wrong, action_id=action_id))

    def cancel(self, chain_id: str, reason: str = "") -> None:
        """See `Client.cancel`."""
        self.wait(self._client.cancel(chain_id, reason))

    def requests(
        self,
        status: RequestStatus | str = RequestStatus.OPEN,
        *,
        kind: RequestKind | str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Page[RequestView]:
        """See `Client.requests`."""
        return self.wait(self._client.requests(status, kind=kind, cursor=cursor, limit=limit))

    def answer(
        self,
        request_id: str,
        *,
        option_id: str | None = None,
        decision: Choice | str | None = None,
        text: str = "",
        value: Mapping[str, Any] | None = None,
        comment: str = "",
        reach: Reach | str | None = None,
    ) -> RequestView:
        """See `Client.answer`."""
        call = self._client.answer(
            request_id, option_id=option_id, decision=decision, text=text, value=value, comment=comment, reach=reach
        )
        return self.wait(call)

    def tools(self) -> tuple[ToolView, ...]:
        """See `Client.tools`."""
        return self.wait(self._client.tools())

    def stats(self, days: int = 7) -> StatsView:
        """See `Client.stats`."""
        return self.wait(self._client.stats(days))

    def wait(self, call: Coroutine[Any, Any, _T]) -> _T:
        """Run something on the client's loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(call, self._loop).result()

    def iterate(self, events: AsyncIterator[EventView]) -> Iterator[EventView]:
        """Take the events of a stream one by one."""

        async def step() -> EventView | None:
            return await anext(events, None)

        while (event := self.wait(step())) is not None:
            yield event
