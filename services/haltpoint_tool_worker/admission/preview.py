"""Taking a tool's preview, which is what a person sees before they say yes (CONTRACT G2, G3). A
call whose preview fails does not run: its failure is the call's, and nothing has happened.
"""

import json
from typing import Final

from haltpoint.contracts.results import ErrorType, ToolResult
from haltpoint.tools import MalformedResultError, Tool
from haltpoint.tools.signature import CONTEXT
from haltpoint_tool_worker.admission.calls import ToolCall
from haltpoint_tool_worker.results.classify import name_of, read_exception
from haltpoint_tool_worker.results.data import json_of
from haltpoint_tool_worker.results.reading import RefusedError, failed, malformed
from haltpoint_tool_worker.running.runner import Raised, Returned

SECONDS: Final = 10.0
"""A person waits for it."""


async def take_preview(call: ToolCall) -> str:
    """The whole of what the tool's preview says of the arguments as they would run; empty for a
    tool without. It gets values of its own, which are not the tool's. Raises RefusedError for
    whatever is wrong with it.
    """
    tool = call.tool
    if tool.preview is None:
        return ""
    taken = tool.preview.taken({**tool.parse(call.text), CONTEXT: call.context()})
    match await call.job.run(tool.preview, SECONDS, **taken):
        case Returned(result):
            return _read(tool, result)
        case Raised(error):
            raise RefusedError(read_exception(tool, error))
        case _:
            words = f"{tool.name} was not called: its preview did not return within {SECONDS:g} s"
            raise RefusedError(failed(ErrorType.TIMEOUT, words))


def _read(tool: Tool, result: object) -> str:
    try:
        if isinstance(result, ToolResult):
            raise MalformedResultError("a ToolResult: a preview is a text, or data")
        if isinstance(result, str):
            return str.__str__(result)
        return json.dumps(json.loads(json_of(result)), ensure_ascii=False, indent=2)
    except MalformedResultError as error:
        words = f"the preview of {tool.name} returned {error}"
    except BaseException as error:  # noqa: BLE001 - the value's own code failed
        words = f"the preview of {tool.name} cannot be read: {name_of(type(error))}"
    raise RefusedError(malformed(words))
