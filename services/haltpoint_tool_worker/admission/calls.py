"""A call that may run, and one that may not."""

from typing import Any

from haltpoint.contracts.base import value
from haltpoint.contracts.results import HookRecord
from haltpoint.tools import Tool
from haltpoint.tools.hooks import Hook
from haltpoint_tool_worker.admission.effects import Effect
from haltpoint_tool_worker.admission.preview import Shown
from haltpoint_tool_worker.results.outcomes import Reading


@value
class ToolCall:
    """A call that may run."""

    tool: Tool
    arguments: dict[str, Any]
    """Parsed, with the context."""
    seconds: float
    text: str
    """The arguments as JSON."""
    post_hooks: tuple[Hook, ...]
    ran: str | None = None
    """The same, when hooks have changed those of the order."""
    records: tuple[HookRecord, ...] = ()
    """The hooks that ran."""
    shown: Shown = Shown()
    """What its preview says."""
    approved: str = ""
    """The digest of a call that a person has approved by its order's word, which the claim finds
    out.
    """
    effect: Effect | None = None
    """The effect that happens once."""


@value
class Refusal:
    """A call that does not run."""

    reading: Reading
    records: tuple[HookRecord, ...] = ()
    """The hooks that ran, the one that refused it last."""
    asked: str | None = None
    """The arguments that a question is about, as JSON text, when hooks have written them."""
