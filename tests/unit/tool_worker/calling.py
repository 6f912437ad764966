"""One call through a worker's own pipeline, with a receipt store on paper."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from redis.exceptions import OutOfMemoryError

from haltpoint.chain.model.state import Action
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.commands import ToolRequested
from haltpoint.contracts.results import Confirmation, ErrorInfo
from haltpoint.contracts.views.chains import ProgressView
from haltpoint.runtime.observability import logs
from haltpoint.runtime.observability.telemetry import Tracing
from haltpoint.runtime.store.receipts import Claimed, ClaimStatus, Finished
from haltpoint.runtime.streams.topology import EntryRef
from haltpoint.tools import Tool, tool_of
from haltpoint_tool_worker.admission.shared import Shared
from haltpoint_tool_worker.pipeline import Pipeline
from haltpoint_tool_worker.registry import Registry
from haltpoint_tool_worker.running.job import Job
from tests.support.limits import unlimited


@dataclass
class Paper:
    """The receipt store, without a server: what was claimed, asked for and kept, in order."""

    receipts_of: dict[str, Action] = field(default_factory=dict)
    full: bool = False
    claims: int = 0
    asked_for: list[str] = field(default_factory=list)
    wholes: list[str] = field(default_factory=list)
    shown: list[ProgressView] = field(default_factory=list)

    async def claim(
        self, ref: EntryRef, action_id: str, *, start: bool = True, approval: str = ""
    ) -> Claimed:
        self.claims += 1
        return Claimed(ClaimStatus.GO, 1)

    async def keep_whole(self, partition: int, action: str, data: str, deadline: int) -> None:
        if self.full:
            raise OutOfMemoryError("used memory > 'maxmemory'")
        self.wholes.append(data)

    def show_progress(self, report: ProgressView) -> None:
        self.shown.append(report)

    async def receipts(self, action: str, others: Any) -> dict[str, Action]:
        self.asked_for += others
        return {name: found for name, found in self.receipts_of.items() if name in others}


class Call:
    """A call of a tool in the hands of a worker that serves these tools."""

    def __init__(
        self,
        tools: Registry | tuple[Tool, ...],
        name: str,
        arguments: str = "{}",
        *,
        paper: Paper | None = None,
        shared: Shared | None = None,
        begun: bool = False,
        seconds: float = 20.0,
        **order: Any,
    ) -> None:
        registry = tools if isinstance(tools, Registry) else Registry()
        for tool in () if isinstance(tools, Registry) else tools:
            registry.add(tool)
        found = registry.find(name)
        assert found is not None
        deadline = time.time_ns() // 1_000_000 + round(seconds * 1000)
        given: JsonObject = {
            "action_id": "c.s.1",
            "repeatable": found.spec.repeatable,
            "timeout": found.spec.timeout,
        }
        request = ToolRequested.Data(tool=name, deadline=deadline, **{**given, **order})
        ref = EntryRef.of("hp:{0}:tools:default", "1-0")
        self.job = Job(ref, request, arguments, None, 1, time.monotonic(), begun, found)
        self.paper = paper or Paper()
        store: Any = self.paper
        self.pipeline = Pipeline(registry, store, shared or unlimited(), Tracing(), 10.0)

    async def receipt(self) -> Finished:
        """What is recorded of it."""
        before = logs.HIDDEN.set(partial(self.pipeline.hidden, self.job))
        finished = await self.pipeline.work(self.job)
        logs.HIDDEN.reset(before)
        assert finished is not None
        return finished


async def receipt_of(tool: Tool, arguments: str = "{}", **order: Any) -> Finished:
    """What is recorded of a call of a tool."""
    return await Call((tool,), tool.name, arguments, **order).receipt()


def tool_in(function: Callable[..., Any]) -> Tool:
    """The tool that a decorated function is."""
    tool = tool_of(function)
    assert tool is not None
    return tool


def fault_of(ended: Any) -> ErrorInfo:
    fault: ErrorInfo | None = ended.outcome.error
    assert fault is not None
    return fault


def question_of(ended: Any) -> Confirmation:
    """What a person is asked before the call runs."""
    question: Confirmation | None = ended.outcome.confirmation
    assert question is not None
    return question
