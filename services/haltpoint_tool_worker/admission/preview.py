"""Taking a tool's preview, which is what a person sees before they say yes (CONTRACT G2, G3). A
call whose preview fails does not run: its failure is the call's, and nothing has happened.
"""

import json
from typing import TYPE_CHECKING, Final

from haltpoint.contracts.base import value
from haltpoint.contracts.people.approvals import digest_of_preview
from haltpoint.contracts.results import ErrorType, ToolResult
from haltpoint.tools import MalformedResultError, Tool
from haltpoint.tools.signature import CONTEXT
from haltpoint_tool_worker.results.classify import name_of, read_exception
from haltpoint_tool_worker.results.data import json_of
from haltpoint_tool_worker.results.failures import Effects, Failure, judged, malformed
from haltpoint_tool_worker.results.reading import RefusedError, read_failure, refused
from haltpoint_tool_worker.results.redaction import clean
from haltpoint_tool_worker.running.runner import Raised, Returned

if TYPE_CHECKING:
    from haltpoint_tool_worker.admission.calls import ToolCall

SECONDS: Final = 10.0
"""A person waits for it: it has less time than its tool may have."""
_SHOWN: Final = 4000
"""Characters of a preview that a person sees."""


@value
class Shown:
    """What a preview says, as a person sees it, and the digest of the whole of it; both empty for a
    tool without.
    """

    text: str = ""
    digest: str = ""


async def take_preview(call: "ToolCall") -> Shown:
    """Call the tool's preview with the arguments as they would run: it gets values of its own,
    which are not the tool's. Raises RefusedError for whatever is wrong with it.
    """
    job, tool = call.job, call.tool
    if tool.preview is None:
        return Shown()
    try:
        taken = tool.preview.taken({**tool.parse(call.text), CONTEXT: call.context()})
    except BaseException as failed:  # noqa: BLE001 - a validator of the tool's author failed
        raise _failed(tool, read_exception(tool, failed)) from None
    seconds = min(SECONDS, job.request.timeout)
    match await job.run(tool.preview, taken, seconds):
        case Returned(result):
            return _read(tool, result)
        case Raised(error):
            raise _failed(tool, read_exception(tool, error))
        case _:
            words = f"{tool.name} was not called: its preview did not return within {seconds:g} s"
            raise RefusedError(refused(ErrorType.TIMEOUT, words, again=True, no_effect=True))


def _read(tool: Tool, result: object) -> Shown:
    try:
        if isinstance(result, ToolResult):
            raise MalformedResultError("a ToolResult: a preview is a text, or data")
        if isinstance(result, str):
            text = str.__str__(result)
        else:
            text = json.dumps(json.loads(json_of(result)), ensure_ascii=False, indent=2)
        return Shown(clean(text, _SHOWN), digest_of_preview(text))
    except MalformedResultError as error:
        words = f"the preview of {tool.name} returned {error}"
    except BaseException as error:  # noqa: BLE001 - the value's own code failed
        words = f"the preview of {tool.name} cannot be read: {name_of(type(error))}"
    raise _failed(tool, malformed(words))


def _failed(tool: Tool, failure: Failure) -> RefusedError:
    return RefusedError(read_failure(judged(failure, Effects.NOT_STARTED, tool.name)))
