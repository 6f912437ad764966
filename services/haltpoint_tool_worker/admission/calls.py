"""A call on its way to its tool."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json

from haltpoint.chain.checks.values import rewritten
from haltpoint.contracts.reasons import Reason, Source, SourceKind
from haltpoint.tools import Ctx, Tool, hook
from haltpoint_tool_worker.admission.effects import Effect
from haltpoint_tool_worker.admission.preview import Shown
from haltpoint_tool_worker.hooks import HookChain
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
    seconds: float
    """What it may take."""
    hooks: HookChain
    context: Callable[[], Ctx[Any]]
    """Makes a context for a hook or a preview."""
    reasons: tuple[Reason, ...]
    """Why a person is asked."""
    changed: bool = False
    """Hooks have written the arguments."""
    questions: list[hook.Ask] = field(default_factory=list)
    """What hooks ask a person."""
    effect: Effect | None = None
    """The effect that happens once."""
    shown: Shown = field(default_factory=Shown)
    """What its preview says."""
    approved: str = ""
    """The digest of a call that a person has approved by its order's word, which the claim finds
    out.
    """

    @property
    def arguments(self) -> Any:
        """The arguments as they would run."""
        return from_json(self.text)

    @property
    def proposed(self) -> Any:
        """The arguments of the order."""
        return from_json(self.job.arguments or "{}")

    @property
    def sources(self) -> dict[str, Source]:
        """Where the values come from, as the hooks have left them."""
        sources = self.job.request.sources or {}
        spec = self.tool.spec
        return rewritten(spec, sources, self.proposed, self.arguments, SourceKind.HOOK)

    def seen(self) -> hook.Call:
        """The call as the next hook sees it: copies, so that only its answer counts."""
        return hook.Call(self.tool.name, self.arguments, self.tool.spec, self.sources)

    @property
    def asks(self) -> bool:
        """Whether a person is asked about the call, or was."""
        return bool(self.questions or self.reasons or self.job.request.approval is not None)

    @property
    def ran(self) -> str | None:
        """The arguments as JSON text, when hooks have changed those of the order."""
        return self.text if self.changed else None
