"""A call on its way to its tool, and one that does not run."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from haltpoint.contracts.reasons import Reason
from haltpoint.tools import Ctx
from haltpoint_tool_worker.admission.effects import Effect
from haltpoint_tool_worker.admission.preview import Shown
from haltpoint_tool_worker.hooks.loading import HookChain
from haltpoint_tool_worker.hooks.run import PreHooks


@dataclass(slots=True)
class ToolCall(PreHooks):
    """A call before its judges, as its hooks make it, and then as it runs."""

    seconds: float = field(kw_only=True)
    """What it may take."""
    hooks: HookChain = field(kw_only=True)
    context: Callable[[], Ctx[Any]] = field(kw_only=True)
    """Makes a context for a hook or a preview."""
    reasons: tuple[Reason, ...] = ()
    """Why a person is asked."""
    effect: Effect | None = None
    """The effect that happens once."""
    shown: Shown = field(default_factory=Shown)
    """What its preview says."""
    approved: str = ""
    """The digest of a call that a person has approved by its order's word, which the claim finds
    out.
    """

    @property
    def asks(self) -> bool:
        """Whether a person is asked about the call, or was."""
        return bool(self.questions or self.reasons or self.job.request.approval is not None)

    @property
    def is_judged(self) -> bool:
        """Whether hooks, origins, a person or what is on record have a say in it."""
        spec = self.tool.spec
        is_bound = self.job.request.origins is not None or spec.recovery.effect_key is not None
        return is_bound or self.asks or bool(self.hooks.pre or spec.undoes)

    @property
    def ran(self) -> str | None:
        """The arguments as JSON text, when hooks have changed those of the order."""
        return self.text if self.changed else None
