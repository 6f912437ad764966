"""What tool authors import: `@tool`, `register`, `Ctx`, `ToolError`, `hook`, the marks and the
forms of a result.
"""

from haltpoint.contracts.results import ErrorType, MalformedResultError, Option, Target, ToolResult
from haltpoint.contracts.tools import Retry, ToolSpec
from haltpoint.tools import hooks as hook
from haltpoint.tools.context import Ctx
from haltpoint.tools.declaration import Tool, register, tool, tool_of, tools_in
from haltpoint.tools.errors import DeclarationError, ToolError
from haltpoint.tools.provenance import Foreign, FromResult, NotTarget
from haltpoint.tools.reconcile import NOT_HAPPENED, UNKNOWN, Happened

__all__ = [
    "NOT_HAPPENED",
    "UNKNOWN",
    "Ctx",
    "DeclarationError",
    "ErrorType",
    "Foreign",
    "FromResult",
    "Happened",
    "MalformedResultError",
    "NotTarget",
    "Option",
    "Retry",
    "Target",
    "Tool",
    "ToolError",
    "ToolResult",
    "ToolSpec",
    "hook",
    "register",
    "tool",
    "tool_of",
    "tools_in",
]
