"""Haltpoint: tool calls of language-model agents as typed events that hold the model to its word.

The names below are fetched when they are first used, so that `import haltpoint` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from haltpoint.client import Client
    from haltpoint.contracts.people.humans import Choice
    from haltpoint.sync_client import SyncClient
    from haltpoint.tools import (
        NOT_HAPPENED,
        UNKNOWN,
        Ctx,
        ErrorType,
        Foreign,
        FromResult,
        Happened,
        NotTarget,
        Option,
        Retry,
        Target,
        ToolError,
        ToolResult,
        hook,
        register,
        tool,
    )

__all__ = [
    "NOT_HAPPENED",
    "UNKNOWN",
    "Choice",
    "Client",
    "Ctx",
    "ErrorType",
    "Foreign",
    "FromResult",
    "Happened",
    "NotTarget",
    "Option",
    "Retry",
    "SyncClient",
    "Target",
    "ToolError",
    "ToolResult",
    "hook",
    "register",
    "tool",
]

_HOMES = dict.fromkeys(__all__, "haltpoint.tools") | {
    "Choice": "haltpoint.contracts.people.humans",
    "Client": "haltpoint.client",
    "SyncClient": "haltpoint.sync_client",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'haltpoint' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
