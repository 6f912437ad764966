"""The client for programs without an event loop: the same calls, each of which waits for its
result.

    with SyncClient("http://127.0.0.1:8700", key=...) as client:
        print(client.run("Tell John I'm running late").result().answer.text)

It runs its own event loop in a thread.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from haltpoint.client import Client
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.views.chains import EventView, RequestView
from haltpoint.contracts.work.tasks import Task
from haltpoint.runs import Result, Run

_P = ParamSpec("_P")
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
        """See `Run.result`. Without a timeout it raises NotEndedError as soon as the chain waits
        for a person.
        """
        return self._client.wait(
            self._run.result_unless_asked() if timeout is None else self._run.result(timeout)
        )

    def expects_request(self, kind: RequestKind | str | None = None) -> RequestView:
        """See `Run.expects_request`."""
        return self._client.wait(self._run.expects_request(kind))

    def cancel(self, reason: str = "") -> None:
        """See `Run.cancel`."""
        self._client.wait(self._run.cancel(reason))


def _waits(
    call: Callable[Concatenate[Client, _P], Coroutine[Any, Any, _T]],
) -> Callable[Concatenate["SyncClient", _P], _T]:
    """A call of `Client`, with its arguments and its text, as one that waits for the result."""

    def waiting(self: "SyncClient", /, *args: _P.args, **options: _P.kwargs) -> _T:
        return self.wait(call(self.client, *args, **options))

    update_wrapper(waiting, call)
    return waiting


class SyncClient:
    """A `Client` on an event loop in a thread of its own, from `with` to its end. For one thread at
    a time.
    """

    def __init__(self, url: str, key: str, *, timeout: float = 30.0) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="haltpoint-client", daemon=True
        )
        self._thread.start()
        self.client = Client(url, key, timeout=timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections and end the thread."""
        self.wait(self.client.aclose())
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
        return SyncRun(
            self,
            self.wait(self.client.run(goal, task=task, idempotency_key=idempotency_key, **fields)),
        )

    def attach(self, chain_id: str) -> SyncRun:
        """See `Client.attach`."""
        return SyncRun(self, self.client.attach(chain_id))

    chain = _waits(Client.chain)
    chains = _waits(Client.chains)
    actions = _waits(Client.actions)
    feedback = _waits(Client.feedback)
    cancel = _waits(Client.cancel)
    undo = _waits(Client.undo)
    requests = _waits(Client.requests)
    request = _waits(Client.request)
    answer = _waits(Client.answer)
    tools = _waits(Client.tools)
    agents = _waits(Client.agents)
    stats = _waits(Client.stats)

    def wait(self, call: Coroutine[Any, Any, _T]) -> _T:
        """Run something on the client's loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(call, self._loop).result()

    def iterate(self, events: AsyncIterator[EventView]) -> Iterator[EventView]:
        """Take the events of a stream one by one."""

        async def step() -> EventView | None:
            return await anext(events, None)

        while (event := self.wait(step())) is not None:
            yield event
