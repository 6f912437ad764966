"""One entry in a worker's hands, from the moment it was read until it is finished or given back."""

import asyncio
import time
from typing import Any

from msgspec import Struct, field
from opentelemetry.trace import Span

from haltpoint.contracts.base import chain_of
from haltpoint.contracts.commands import ToolRequested
from haltpoint.contracts.results import HookRecord, HookVerdict
from haltpoint.contracts.tools import ToolSpec
from haltpoint.runtime.observability import logs
from haltpoint.runtime.store.limits.effects import OwnEffect
from haltpoint.runtime.store.limits.reserving import Place
from haltpoint.runtime.store.receipts import Claimed, ClaimStatus, Lease
from haltpoint.runtime.streams.topology import EntryRef
from haltpoint.tools import Tool
from haltpoint_tool_worker.running.runner import Ended, Run, Runnable, Stopped, begin


class Job(Struct, eq=False):
    """A call in our hands. Moments are of the monotonic clock, but for `began_ms`."""

    ref: EntryRef
    request: ToolRequested.Data
    arguments: str
    trace: str | None
    deliveries: int
    leased_at: float
    """When its lease was renewed last, or earlier."""
    begun: bool = False
    """A worker may have started it before."""
    tool: Tool | None = None
    """What it calls, if it is offered here."""
    claimed: Claimed = Claimed(ClaimStatus.GO, 0)
    """Our claim; of epoch 0 until there is one."""
    claiming: bool = False
    """The epoch may be another one already."""
    over: Stopped | None = None
    """Why nothing more of it is wanted: its chain is cancelled, or it is not ours any more."""
    runs: list[Run] = field(default_factory=list)
    """Its tool and the hooks around it, as far as they were begun."""
    seconds: float = 0.0
    """What that which runs may take."""
    records: list[HookRecord] = field(default_factory=list)
    """What the hooks around it said."""
    call: Any = None
    """The ToolCall of admission, as its hooks have left it; None before it is one."""
    working: bool = False
    """It has begun and not ended, so it may be what blocks the event loop."""
    span: Span | None = None
    began_ms: int = 0
    """When our work on it began."""
    limited: str = ""
    """The limit that holds it back."""
    place: Place | None = None
    """What it has of limits."""
    placed_at: float = 0.0
    """Since when."""
    effect: OwnEffect | None = None
    """What it has reserved (E6)."""
    told_at: float = 0.0
    """When its progress was shown last."""

    @property
    def time_left(self) -> float:
        """Seconds until its deadline."""
        return self.request.deadline / 1000 - time.time()

    @property
    def waited(self) -> int:
        """Ms from its order to the beginning of our work on it."""
        return self.began_ms - int(self.ref.entry.partition("-")[0])

    @property
    def spec(self) -> ToolSpec:
        """What its tool declares; nothing of one that is not offered here."""
        return ToolSpec(self.request.tool) if self.tool is None else self.tool.spec

    @property
    def repeatable(self) -> bool:
        """Whether both the plan and the tool say that it may run again."""
        is_tools = self.tool is not None and self.tool.spec.repeatable
        return is_tools and self.request.repeatable

    @property
    def called(self) -> bool:
        """Whether its tool was called."""
        return any(run.what is self.tool for run in list(self.runs))

    @property
    def lost(self) -> bool:
        """Whether it is not ours any more."""
        return self.over is Stopped.LOST

    @property
    def lease(self) -> Lease:
        """As a heartbeat names it."""
        return Lease(self.ref, self.request.action_id, self.claimed.epoch)

    @property
    def doing(self) -> str:
        """What of it runs now, with its file: a hook, its tool; the tool's name before and
        after.
        """
        names = [
            f"{run.what.name} ({run.what.place})"
            for run in list(self.runs)
            if not run.inside.done()
        ]
        return [self.request.tool, *names][-1]

    def note(self, name: str, verdict: HookVerdict, took: int = 0) -> None:
        """Record what a hook around it has said."""
        self.records.append(HookRecord(name, verdict, took))

    def ids(self) -> dict[str, str]:
        """What the lines of the log are about."""
        action = self.request.action_id
        return logs.ids(chain=chain_of(action), action=action, trace=self.trace)

    async def run(self, what: Runnable, seconds: float, /, *arguments: Any, **named: Any) -> Ended:
        """Run its tool, or a function beside it, for so many seconds if there are as many. A tool
        whose result nobody wants is not called.
        """
        if self.over is not None and what is self.tool:
            return self.over
        self.seconds = max(0.0, min(seconds, self.time_left))
        halted = asyncio.get_running_loop().create_future()
        run = Run(what, self.seconds, begin(what, *arguments, **named), halted)
        self.runs.append(run)
        return await run.result()

    def stopped(self) -> bool:
        """Whether the result of what runs is of no use any more. For any thread."""
        return self.over is not None or any(run.stopped for run in self.runs[-1:])

    def stop(self, why: Stopped) -> None:
        """Stop what runs: what is known of a cancelled call is recorded, of a lost one nothing."""
        self.over = Stopped.LOST if self.lost else why
        for run in self.runs:
            run.stop(why)
