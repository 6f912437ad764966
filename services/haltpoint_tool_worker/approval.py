"""What an approval is bound to: one call, its tool and its arguments as they would run (B2)."""

import hashlib
import json
from dataclasses import replace
from typing import Any, Final

import msgspec
from pydantic_core import from_json, to_json

from haltpoint.contracts.reasons import Reason, ReasonKind
from haltpoint.contracts.tools import ErrorType
from haltpoint_tool_worker.failures import Cause, Failure, fault_of
from haltpoint_tool_worker.results import Reading, read_failure

_FIX: Final = "Its code must continue when ctx.confirmed is true."


def digest_of(tool: str, arguments: Any) -> str:
    """The same for the same call, however its JSON was written. Raises ValueError for what is no JSON."""
    canonical = json.dumps([tool, arguments], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def bound(reading: Reading, tool: str, arguments: str, approval: str | None, *, changed: bool) -> Reading:
    """The result, its confirmation bound to this call. `arguments` is JSON text; `changed`: hooks have written it.

    A tool that asks although a person has approved this very call would ask for ever: that is an error of its code. By
    its own word it did nothing, so there is no doubt.
    """
    asked = reading.outcome.confirmation
    if asked is None:
        return reading
    if approves(approval, tool, arguments):
        words = f"{tool} asks again about a call that a person has approved. {_FIX}"
        fault = fault_of(ErrorType.SERVER, words, recoverable=False)
        return read_failure(Failure(fault, Cause.NO_EFFECT))
    values = from_json(arguments or b"{}")
    told = {
        "digest": digest_of(tool, values),
        "arguments": to_json(values).decode() if changed else None,
        "reasons": asked.reasons or (Reason(kind=ReasonKind.TOOL, words=asked.message),),
    }
    outcome = msgspec.structs.replace(reading.outcome, confirmation=msgspec.structs.replace(asked, **told))
    return replace(reading, outcome=outcome)


def approves(approval: str | None, tool: str, arguments: str) -> bool:
    """Whether a person has approved this very call."""
    return approval is not None and approval == digest_of(tool, from_json(arguments or b"{}"))
