"""The client for programs without an event loop: the same calls, each of which waits for its
result.

    with SyncClient("http://127.0.0.1:8700", key=...) as client:
        print(client.run("Tell John I'm running late").result().answer.text)

Its event loop is in a thread, behind a portal of anyio.
"""

from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import partial, update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from haltpoint.client import Client
from haltpoint.contracts.views.chains import EventView
from haltpoint.contracts.work.tasks import Task
from haltpoint.runs import Result, Run

_P = ParamSpec("_P")
_T = TypeVar("_T")
_Held = TypeVar("_Held")


class _Sync(Generic[_Held]):
    """Something of an event loop, and the portal that leads there."""

    def __init__(self, portal: BlockingPortal, held: _Held) -> None:
        self._portal = portal
        self._held = held

    def wait(
        self,
        call: Callable[Concatenate[_Held, _P], Coroutine[Any, Any, _T]],
        /,
        *args: _P.args,
        **options: _P.kwargs,
    ) -> _T:
        """Wait for the result of a call."""
        result: _T = self._portal.call(partial(call, self._held, *args, **options))
        return result


def _waits(
    call: Callable[Concatenate[_Held, _P], Coroutine[Any, Any, _T]],
) -> Callable[Concatenate[_Sync[_Held], _P], _T]:
    """A call, with its arguments and its text, as one that waits for the result."""

    def waiting(self: _Sync[_Held], /, *args: _P.args, **options: _P.kwargs) -> _T:
        return self.wait(call, *args, **options)

    update_wrapper(waiting, call)
    return waiting


class SyncRun(_Sync[Run]):
    """One chain as its submitter holds it; see `Run`."""

    @property
    def id(self) -> str:
        """The chain's id."""
        return self._held.id

    def events(self, after: str | None = None) -> Iterator[EventView]:
        """See `Run.events`."""
        events = self._held.events(after)
        while (event := self._portal.call(anext, events, None)) is not None:
            yield event

    def result(self, timeout: float | None = None) -> Result:
        """See `Run.result`. Without a timeout it raises NotEndedError as soon as the chain waits
        for a person.
        """
        if timeout is None:
            return self._portal.call(self._held.result_unless_asked)
        return self._portal.call(self._held.result, timeout)

    expects_request = _waits(Run.expects_request)
    cancel = _waits(Run.cancel)


class SyncClient(_Sync[Client]):
    """A `Client` on an event loop in a separate thread, from `with` to its end."""

    def __init__(self, url: str, key: str, *, timeout: float = 30.0) -> None:
        self._thread = start_blocking_portal(name="haltpoint-client")
        super().__init__(self._thread.__enter__(), Client(url, key, timeout=timeout))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections and end the thread."""
        self._portal.call(self._held.aclose)
        self._thread.__exit__(None, None, None)

    def run(
        self,
        goal: str = "",
        *,
        task: Task | Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        **fields: Any,
    ) -> SyncRun:
        """See `Client.run`."""
        run = partial(self._held.run, goal, task=task, idempotency_key=idempotency_key, **fields)
        return SyncRun(self._portal, self._portal.call(run))

    def attach(self, chain_id: str) -> SyncRun:
        """See `Client.attach`."""
        return SyncRun(self._portal, self._held.attach(chain_id))

    chain = _waits(Client.chain)
    chains = _waits(Client.chains)
    actions = _waits(Client.actions)
    feedback = _waits(Client.feedback)
    cancel = _waits(Client.cancel)
    undo = _waits(Client.undo)
    requests = _waits(Client.requests)
    request = _waits(Client.request)
    answer = _waits(Client.answer)
    claim = _waits(Client.claim)
    release = _waits(Client.release)
    tools = _waits(Client.tools)
    agents = _waits(Client.agents)
    stats = _waits(Client.stats)
