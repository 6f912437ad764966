"""What a kind of step asks, before the conversation so far is put into it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.tools import ToolSpec


@dataclass(frozen=True, slots=True)
class Question:
    """One question to a model, in the words of its kind."""

    system: str
    """How to go about it."""
    task: str
    """What it is about."""
    last: str
    """What is asked for, at the end."""
    tools: Mapping[str, ToolSpec] = field(default_factory=dict)
    """Those that may be called."""
    is_due: bool = False
    """One of them has to be (C10), in a strict step."""
    schema: JsonObject | None = None
    """The form of the words where nothing can be called; None: they are free."""
    is_first: bool = False
    """No result is shown for it, and nothing is asked at the end unless a reply was wrong (C12)."""
