"""Workers that die in the middle of a call.

What a death leaves behind is made by hand: an entry that its worker holds no more, with no receipt.
Another delivery follows, as after a real one, and what the old one still says is refused. The
process of the test lives on, and the memory of its modules with it.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial, update_wrapper
from typing import Any, Final

from haltpoint.contracts.catalogue import GROUP, Stream
from haltpoint.testing.clock import TOPOLOGY
from haltpoint.tools import Tool

_CONTEXT: Final = "haltpoint_context"
"""How a tool is given its context that asks for none."""
_LONG_AGO: Final = 3_600_000  # ms


class Place(Enum):
    """Where in a call its worker dies."""

    BEFORE = "before its effect"
    AFTER = "after its effect, before its receipt"


class WorkerDiedError(Exception):
    """It ends the call, and no one hears of it."""


@dataclass(frozen=True, slots=True)
class Crashes:
    """The calls that lose their worker, by tool and place: how many are still to come."""

    redis: Any = None
    coming: Counter[tuple[str, Place]] = field(default_factory=Counter)
    names: set[str] = field(default_factory=set)
    """Of the tools that are served."""

    def let_die(self, tool: str, place: Place, times: int) -> None:
        """Let so many calls of a tool lose their worker. Raises LookupError for a tool that is not
        served.
        """
        if tool not in self.names:
            served = ", ".join(sorted(self.names)) or "none: call harness.start first"
            raise LookupError(f"no tool is called {tool!r}; these are served: {served}")
        self.coming[tool, place] += times

    def all_came(self) -> None:
        """Raise AssertionError for a crash that did not happen: its test has tested nothing."""
        for (tool, place), times in self.coming.items():
            if times:
                what = f"{tool} was to lose its worker {place.value}"
                raise AssertionError(f"{what}, and no call of it came there")

    def around(self, tool: Tool) -> Tool:
        """The tool with both places in it."""
        self.names.add(tool.name)
        function, context = tool.function, tool.inputs.context
        name = context or _CONTEXT
        reach = partial(self._reach, tool)

        def action_of(arguments: dict[str, Any]) -> str:
            ctx = arguments[name] if context else arguments.pop(name)
            return str(ctx.action_id)

        async def awaited(**arguments: Any) -> Any:
            action = action_of(arguments)
            reach(Place.BEFORE, action)
            result = await function(**arguments)
            reach(Place.AFTER, action)
            return result

        def called(**arguments: Any) -> Any:
            action = action_of(arguments)
            reach(Place.BEFORE, action)
            result = function(**arguments)
            reach(Place.AFTER, action)
            return result

        wrapped: Callable[..., Any] = awaited if tool.is_async else called
        inputs = replace(tool.inputs, context=name)
        return replace(tool, function=update_wrapper(wrapped, function), inputs=inputs)

    def _reach(self, tool: Tool, place: Place, action: str) -> None:
        if self.coming[tool.name, place]:
            self.coming[tool.name, place] -= 1
            self._take_away(tool.spec.queue, action)
            raise WorkerDiedError(f"the worker of {action} died {place.value}")

    def _take_away(self, queue: str, action: str) -> None:
        """Give the call's entry to a reader that will never be seen again."""
        stream = TOPOLOGY.stream(0, Stream.TOOLS, queue)
        named = f'"{action}"'.encode()
        for entry, fields in self.redis.xrange(stream):
            if named in fields[b"__data__"]:
                group = GROUP[Stream.TOOLS].value
                self.redis.xclaim(stream, group, "dead", 0, [entry], idle=_LONG_AGO, retrycount=1)
