"""A batch of calls in a worker's hands: what waits holds up no other, what is left behind."""

import asyncio
import contextvars
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from haltpoint import tool
from haltpoint.contracts.commands import ToolRequested
from haltpoint.runtime.observability.telemetry import Tracing
from haltpoint.runtime.store.receipts import Completion, Finished
from haltpoint.runtime.streams.delivery import Entry
from haltpoint.runtime.streams.wire import encode
from haltpoint_tool_worker import handlers as handlers_module
from haltpoint_tool_worker.handlers import Handlers
from haltpoint_tool_worker.pipeline import Pipeline
from haltpoint_tool_worker.registry import Registry
from haltpoint_tool_worker.running import runner as runner_module
from haltpoint_tool_worker.running.slots import Slots
from tests.support import wait_until
from tests.support.limits import unlimited
from tests.unit.tool_worker.calling import fault_of, tool_in

STREAM = "hp:{0}:tools:default"
LEFT_BEHIND: contextvars.ContextVar[str] = contextvars.ContextVar("left_behind", default="")
BEGUN: list[str] = []
GATES: dict[str, asyncio.Event] = {}


@tool(read_only=True)
async def quick() -> str:
    BEGUN.append("quick")
    return LEFT_BEHIND.get()


@tool(read_only=True)
async def patient() -> str:
    BEGUN.append("patient")
    await GATES["patient"].wait()
    return "done"


@tool(read_only=True)
async def untidy() -> str:
    LEFT_BEHIND.set("something")
    return LEFT_BEHIND.get()


@tool(read_only=True, timeout="50ms")
async def stubborn() -> str:
    while not GATES["stubborn"].is_set():
        try:
            await GATES["stubborn"].wait()
        except asyncio.CancelledError:
            continue
    return "at last"


@dataclass
class Receipts:
    """The receipt store, without a server. `fails`: how many more times it cannot be written to."""

    fails: int = 0
    written: list[Finished] = field(default_factory=list)

    def complete(self, finished: Finished) -> "asyncio.Future[Completion]":
        receipt: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        if self.fails:
            self.fails -= 1
            receipt.set_exception(RedisConnectionError("away"))
        else:
            self.written.append(finished)
            receipt.set_result(Completion.RECORDED)
        return receipt

    @property
    def data(self) -> list[str]:
        return [one.data for one in self.written]


@dataclass
class Worker:
    receipts: Receipts
    handlers: Handlers

    async def read(self, *tools: str) -> None:
        """Have these calls read in one batch."""
        entries = []
        for number, name in enumerate(tools):
            found = tool_in(globals()[name])
            request = ToolRequested.Data(
                action_id=f"c.{name}.{number + 1}",
                tool=name,
                repeatable=True,
                timeout=found.spec.timeout,
                deadline=time.time_ns() // 1_000_000 + 60_000,
            )
            message = ToolRequested(id=request.action_id, source="test", subject="c", data=request)
            fields = {b"__data__": encode(message), b"__body__": b"{}"}
            read_later = (
                time.time_ns() // 1_000_000 + 60_000
            )  # none has waited long, however slow the machine is
            entries.append(Entry(STREAM, f"{read_later}-{number}", fields, 1, time.monotonic()))
        await self.handlers.handle(entries)


@pytest.fixture
async def worker() -> AsyncIterator[Worker]:
    BEGUN.clear()
    GATES.update(patient=asyncio.Event(), stubborn=asyncio.Event())
    registry, receipts = Registry(), Receipts()
    for name in ("quick", "patient", "untidy", "stubborn"):
        found = tool_in(globals()[name])
        registry.add(found)
    receipt_store: Any = receipts
    pipeline = Pipeline(registry, receipt_store, unlimited(), Tracing(), 10.0)
    handlers = Handlers(Slots(16, 1), pipeline, receipt_store, receipt_store, lambda: False)
    yield Worker(receipts, handlers)
    for gate in GATES.values():
        gate.set()
    await wait_until(lambda: handlers.slots.held == 0)
    await handlers.drain()


async def test_what_a_tool_leaves_in_its_context_is_for_no_other(worker: Worker) -> None:
    await worker.read("untidy", "quick")
    await wait_until(lambda: len(worker.receipts.written) == 2)
    assert worker.receipts.data == ['{"value":"something"}', '{"value":""}']


async def test_a_tool_that_does_not_end_is_answered_and_keeps_its_slot(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "GRACE", 0.01)
    await worker.read("stubborn", "quick")
    await wait_until(lambda: len(worker.receipts.written) == 2)
    error = fault_of(worker.receipts.written[1])
    assert error.error_type.value == "TIMEOUT"
    await wait_until(lambda: worker.handlers.leases() == [])  # no lease is renewed for it any more
    assert worker.handlers.slots.held == 1
    await worker.handlers.drain()  # which does not wait for it
    GATES["stubborn"].set()
    await wait_until(lambda: worker.handlers.slots.held == 0)
    assert len(worker.receipts.written) == 2


async def test_a_receipt_that_cannot_be_written_is_tried_again(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handlers_module, "_PAUSE", 0.0)
    worker.receipts.fails = 3
    await worker.read("quick")
    await wait_until(lambda: len(worker.receipts.written) == 1)
    await wait_until(lambda: worker.handlers.slots.held == 0)
