"""The story of a chain, line by line: what pages and terminals show, and programs may."""

from datetime import datetime
from typing import Final, Literal, TypeAlias

from haltpoint.contracts.base import Strings, value
from haltpoint.contracts.doors import Part

About: TypeAlias = Literal["chain", "step", "call", "question", "model", "answer"]
"""What a line is about."""

Tone: TypeAlias = Literal[
    "pending",
    "running",
    "done",
    "failed",
    "stop",
    "choice",
    "never",
    "corrected",
    "broken",
    "words",
    "deed",
    "not_done",
    "missing",
]
"""What a line says about its subject."""

SIGNS: Final[dict[Tone, str]] = {
    "pending": "·",
    "running": "▸",
    "done": "✓",
    "failed": "✗",
    "stop": "■",
    "choice": "→",
    "never": "⊘",
    "corrected": "↺",
    "broken": "✗",
    "words": "»",
    "deed": "◆",
    "not_done": "◇",
    "missing": "!",
}
"""The sign before a line: no words of a model look like a deed."""


@value
class StoryLine(Part):
    """One line of a chain's story. `step_id`, `action_id` and `request_id` say of what, where it is
    about one.
    """

    about: About
    tone: Tone
    text: str
    at: datetime | None = None
    """When it happened; null: it is only so now."""
    struck: str = ""
    """Follows the text, struck through: a call that never ran, the model's words."""
    note: str = ""
    """Follows in brackets."""
    more: Strings = ()
    """Below it: what a person has to know beside a question."""
    step_id: str = ""
    action_id: str = ""
    request_id: str = ""
