"""Running a tool: whatever it raises comes back as a value, and nobody waits longer than agreed."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from haltpoint.runtime.streams.wire import encode
from haltpoint.tools import MalformedResultError, Tool, register
from haltpoint_tool_worker.results.classify import classify
from haltpoint_tool_worker.running.runner import Raised, Returned, Run, Stopped, begin
from tests.unit.tool_worker import hostile
from tests.unit.tool_worker.calling import fault_of, receipt_of


async def run(
    what: Tool, seconds: float, started: Callable[[Run], object] = bool
) -> Returned | Raised | Stopped:
    loop = asyncio.get_running_loop()
    begun = Run(what, seconds, begin(what), loop.create_future())
    started(begun)
    return await begun.result()


def raising(make: Callable[[], BaseException], *, is_async: bool) -> Tool:
    def act() -> None:
        raise make()

    async def act_later() -> None:
        raise make()

    return register(act_later if is_async else act)


@pytest.mark.parametrize("is_async", [True, False], ids=["coroutine", "function"])
@pytest.mark.parametrize("what", hostile.RAISED)
async def test_whatever_a_tool_raises_is_a_value_and_a_typed_error(
    what: str, is_async: bool
) -> None:
    ended = await run(raising(hostile.RAISED[what], is_async=is_async), 5)
    assert isinstance(ended, Raised)
    reading = classify(ended.error)
    assert fault_of(reading).error_type.value == "UNKNOWN"
    assert len(encode(reading.outcome)) < 3000


async def test_a_function_that_gives_a_coroutine_is_told_what_to_do() -> None:
    async def later() -> int:
        return 1

    ended = await run(register(lambda: later(), name="later"), 5)  # noqa: PLW0108
    assert isinstance(ended, Raised)
    assert isinstance(ended.error, MalformedResultError)


@pytest.mark.parametrize("is_async", [True, False], ids=["coroutine", "function"])
async def test_a_tool_may_have_parameters_of_any_name(is_async: bool) -> None:
    def act(what: str, seconds: int, function: str) -> str:
        return f"{what} {seconds} {function}"

    async def act_later(what: str, seconds: int, function: str) -> str:
        return act(what, seconds, function)

    tool = register(act_later if is_async else act)
    finished = await receipt_of(tool, '{"what": "a", "seconds": 1, "function": "b"}')
    assert finished.data == '{"value":"a 1 b"}'


async def test_a_thread_that_takes_too_long_is_left_behind_and_its_end_is_known() -> None:
    gate, runs = threading.Event(), list[Run]()
    ended = await run(_waiting(gate), 0.01, runs.append)
    assert ended is Stopped.TIMED_OUT
    assert not runs[0].inside.done()
    gone = asyncio.Event()
    runs[0].inside.add_done_callback(lambda _: gone.set())
    gate.set()
    await gone.wait()
    assert runs[0].inside.done()


async def test_a_thread_has_a_moment_to_end_by_itself_when_its_chain_is_cancelled() -> None:
    gate, runs = threading.Event(), list[Run]()
    ending = asyncio.create_task(run(_waiting(gate), 60, runs.append))
    await asyncio.sleep(0)
    runs[0].stop(Stopped.CANCELLED)
    gate.set()
    assert isinstance(await ending, Returned), "what it brought is known"


async def test_a_coroutine_is_cancelled_when_its_lease_is_lost() -> None:
    cancelled: list[bool] = []

    runs: list[Run] = []

    async def hang() -> None:
        asyncio.get_running_loop().call_soon(runs[0].stop, Stopped.LOST)
        try:
            await asyncio.sleep(3600)
        finally:
            cancelled.append(True)

    ended = await run(register(hang), 60, runs.append)
    assert ended is Stopped.LOST
    assert cancelled == [True]


def _waiting(gate: threading.Event) -> Tool:
    def wait() -> bool:
        return gate.wait(10)

    return register(wait)
