"""A call on its way to its tool."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json

from haltpoint.chain.checks.values import rewritten
from haltpoint.contracts.people.answerers import ANYONE, Answerers
from haltpoint.contracts.reasons import Reason, Source, SourceKind
from haltpoint.contracts.results import HookVerdict
from haltpoint.runtime.store.limits.effects import Prior
from haltpoint.tools import Ctx, Tool, hook
from haltpoint.tools.hooks import Hook
from haltpoint_tool_worker.admission.effects import Effect
from haltpoint_tool_worker.results.reading import Reading, RefusedError
from haltpoint_tool_worker.running.job import Job


@dataclass(slots=True)
class ToolCall:
    """A call before its judges, as its hooks make it, and then as it runs."""

    tool: Tool
    job: Job
    text: str
    """The arguments as they would run, JSON text."""
    parsed: dict[str, Any]
    """What the tool gets."""
    hooks: Sequence[Hook]
    """Around it, in their order."""
    context: Callable[[], Ctx[Any]]
    """Makes a separate context for a hook, a preview or the tool."""
    reasons: list[Reason]
    """Why a person is asked."""
    previews: list[str] = field(default_factory=list)
    """What hooks show that person."""
    expires: float | None = None
    """For how long a rule lets the question be open."""
    answerers: Answerers = ANYONE
    """Who may answer, by a rule."""
    effect: Effect | None = None
    """The effect that happens once."""
    over: Prior | None = None
    """An earlier call with this effect."""
    again: Prior | None = None
    """The earlier call, where a person has to allow that it is repeated."""
    approved: str = ""
    """The digest of a call that a person has approved by its order's word, which the claim finds
    out.
    """

    @property
    def arguments(self) -> Any:
        """The arguments as they would run."""
        return from_json(self.text)

    @property
    def changed(self) -> bool:
        """Whether hooks have written other arguments than those of the order."""
        return self.text != self.job.arguments

    @property
    def sources(self) -> dict[str, Source]:
        """Where the values come from, as the hooks have left them."""
        sources = self.job.request.sources or {}
        if not self.changed:
            return sources
        proposed = from_json(self.job.arguments)
        return rewritten(self.tool.spec, sources, proposed, self.arguments, SourceKind.HOOK)

    def seen(self) -> hook.Call:
        """The call as the next hook sees it: copies, so that only its answer counts."""
        return hook.Call(self.tool.name, self.arguments, self.tool.spec, {**self.sources})

    @property
    def asks(self) -> bool:
        """Whether a person is asked about the call, or was."""
        return bool(self.reasons) or self.job.request.approval is not None

    @property
    def ran(self) -> str | None:
        """The arguments as JSON text, when hooks have changed those of the order."""
        return self.text if self.changed else None


def blocked_by(job: Job, hook: str, reading: Reading) -> RefusedError:
    """One of the hooks that every tool has refuses a call (H3)."""
    job.note(hook, HookVerdict.BLOCK)
    return RefusedError(reading)
