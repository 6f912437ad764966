"""What a tool returned, as it is recorded (CONTRACT B1): a total function.

A result that contradicts itself, or data that does not fit the declared result schema, is the
tool's fault.
"""

from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from typing import Any, Final

import msgspec
from msgspec import structs
from pydantic import BaseModel, ValidationError

from haltpoint.chain.model.schemas import result_faults
from haltpoint.contracts.doors import door
from haltpoint.contracts.results import (
    ErrorInfo,
    ErrorType,
    Option,
    Outcome,
    ToolResult,
)
from haltpoint.contracts.strict_json import in_texts
from haltpoint.runtime.observability import logs
from haltpoint.runtime.streams.wire import too_deep
from haltpoint.tools import MalformedResultError, Tool
from haltpoint.tools.signature import WRAP
from haltpoint_tool_worker.results.classify import (
    name_of,
    problems_of,
    read_exception,
    reported,
    stack_of,
)
from haltpoint_tool_worker.results.data import json_of, with_data
from haltpoint_tool_worker.results.older_style import in_older_style
from haltpoint_tool_worker.results.reading import (
    CONTINUE,
    Cause,
    Reading,
    a_bug,
    failed,
    malformed,
    of_fault,
)
from haltpoint_tool_worker.results.redaction import clean
from haltpoint_tool_worker.running.runner import UNBLOCK, Ended, Raised, Returned, Stopped

MAX_OUTCOME: Final = 64 * 1024
"""Bytes of an outcome: it travels in a message, beside arguments that hooks changed and the calls
of a tool.
"""

BLOCKS: Final = f"blocked the event loop of its worker. Its author: {UNBLOCK}"
_FIELDS: Final = frozenset(Outcome.__struct_fields__) - {"metadata"}

_log = logs.get(__name__)


def read_ended(ended: Ended, tool: Tool, seconds: float) -> Reading | None:
    """What a call gave that had so many seconds, or why nothing; None when it was stopped because
    another worker has it.
    """
    late = f"{tool.spec.name} did not answer within {seconds:g} s"
    match ended:
        case Returned(value):
            return read_result(tool, value)
        case Raised(error):
            return read_exception(tool, error)
        case Stopped.CANCELLED:
            words = f"{tool.name} was stopped: its chain was cancelled"
            fault = ErrorInfo(ErrorType.UNKNOWN, words)  # the tool did not fail: no advice
            return of_fault(fault, Cause.BROKEN)
        case Stopped.BLOCKED:
            return a_bug(ErrorType.TIMEOUT, f"{late}: it {BLOCKS}", Cause.BLOCKED)
        case Stopped.TIMED_OUT:
            return failed(ErrorType.TIMEOUT, late)
        case _:
            return None


def read_result(tool: Tool, raw: object) -> Reading:
    """What `tool` returned. Never raises, whatever the value's own code does."""
    try:
        fields = _said(tool, raw)
        if not fields.keys() >= {"success", "next_action"}:
            older = in_older_style(fields)
            if older is None:
                return with_data(tool.output, CONTINUE, raw)
            fields = older
        given = fields.get("data", {})
        if raw == CONTINUE.with_data(given):  # it says nothing else
            return with_data(tool.output, CONTINUE, given)
        outcome = checked(tool, fields)
        if outcome.error is not None:
            failure = reported(outcome.error)
            return replace(failure, outcome=structs.replace(outcome, error=failure.fault))
        return with_data(tool.output, outcome, given) if outcome.satisfies else Reading(outcome)
    except MalformedResultError as error:
        return malformed(f"the tool {tool.name} returned {error}")
    except BaseException as error:  # noqa: BLE001 - the value's own code failed
        _log.warning("the result of a tool cannot be read", tool=tool.name, stack=stack_of(error))
        words = f"the result of {tool.name} cannot be read: {name_of(type(error))}"
        return malformed(words)


def _said(tool: Tool, raw: object) -> Mapping[Any, Any]:
    """What a result says of itself; a field of the declared type is data (B7)."""
    if isinstance(raw, ToolResult):
        return structs.asdict(raw)
    if isinstance(raw, Mapping):
        return {key: raw[key] for key in raw if key not in tool.output.fields}
    if tool.output.adapter is None and (isinstance(raw, BaseModel) or is_dataclass(raw)):
        return vars(raw)
    return {}


def checked(tool: Tool, given: Mapping[Any, Any]) -> Outcome:
    """The outcome validated from JSON, also what was made without validation. Raises
    MalformedResultError.
    """
    fields = {name: given[name] for name in _FIELDS if given.get(name) is not None}
    text = in_texts(json_of(fields)).encode()
    if too_deep(text):
        raise MalformedResultError("a question or an error that is too large")
    try:
        outcome = door(Outcome).validate_json(text)
    except ValidationError as error:
        words = f"an invalid result: {problems_of(error)}"
        raise MalformedResultError(words) from None
    advice, clarification = outcome.instruction_for_ai, outcome.clarification
    if clarification is not None:
        options = tuple(_offered(tool, option) for option in clarification.options)
        clarification = structs.replace(clarification, options=options)
    outcome = structs.replace(
        outcome,
        warnings=tuple(clean(warning, 500) for warning in outcome.warnings[:20]),
        instruction_for_ai=advice and clean(advice, 2000),
        clarification=clarification,
    )
    if len(msgspec.json.encode(outcome)) > MAX_OUTCOME:
        raise MalformedResultError("a question that is too large")
    return outcome


def _offered(tool: Tool, option: Option) -> Option:
    """The option with its value as data: an object that fits the result schema. Raises
    MalformedResultError.
    """
    if option.value is None:
        return option
    is_object = isinstance(option.value, dict) and not tool.output.wrapped
    data = option.value if is_object else {WRAP: option.value}
    faults = result_faults(tool.spec, data)
    if faults:
        raise MalformedResultError(f"the value of option {option.id!r}: {'; '.join(faults)}")
    return structs.replace(option, value=data)
