"""Haltpoint: tool calls of language-model agents as typed events that hold the model to its word.

The names below are fetched when they are first used, so that `import haltpoint` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from haltpoint.client import Client
    from haltpoint.contracts.tools import Option, ToolResult
    from haltpoint.tools import Ctx, Foreign, FromResult, New, Target, ToolError, hook, tool

__all__ = [
    "Client",
    "Ctx",
    "Foreign",
    "FromResult",
    "New",
    "Option",
    "Target",
    "ToolError",
    "ToolResult",
    "hook",
    "tool",
]

_HOMES = {"Client": "haltpoint.client"} | dict.fromkeys(__all__[1:], "haltpoint.tools")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'haltpoint' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
