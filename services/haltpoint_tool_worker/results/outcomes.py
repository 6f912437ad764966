"""What a tool returned, as it is recorded (CONTRACT B1): a total function.

Data is always one JSON object of at most 1 MiB, nested at most 32 deep. What JSON cannot say is replaced, and a warning
says so; what is too large is cut, marked, and `truncated` says so. A result that contradicts itself, or data that does
not fit the declared result schema, is the tool's fault.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from typing import Any, Final

import jsonschema
import msgspec
from pydantic import BaseModel, ValidationError

from haltpoint.chain.checks.deeds import deed_of
from haltpoint.contracts.advice import A_BUG
from haltpoint.contracts.base import MAX_DEPTH, MAX_ITEMS, MAX_RESULT, MAX_WHOLE, value
from haltpoint.contracts.doors import door
from haltpoint.contracts.results import DeedWords, ErrorInfo, ErrorType, NextAction, Option, Outcome, ToolResult
from haltpoint.runtime.observability import logs
from haltpoint.runtime.streams.wire import too_deep
from haltpoint.tools import MalformedResultError, Tool
from haltpoint.tools.signature import WRAP
from haltpoint_tool_worker.results.failures import Cause, Failure, cleaned, fault_of, malformed, reported
from haltpoint_tool_worker.results.json_safe import NO_JSON, Tamed, name_of, tame
from haltpoint_tool_worker.results.older_style import KNOWN, in_older_style
from haltpoint_tool_worker.results.raised import read_exception, stack_of
from haltpoint_tool_worker.results.redaction import clean
from haltpoint_tool_worker.running.runner import UNBLOCK, Ended, Raised, Returned, Stopped

EMPTY: Final = "{}"
MAX_OUTCOME: Final = 64 * 1024
"""Bytes of an outcome: it travels in a message, beside arguments that hooks changed and the calls of a tool."""

_OUTCOME_DEPTH: Final = MAX_DEPTH - 8  # the message's own levels are above it
_SIZES: Final = ((262_144, MAX_ITEMS), (32_768, 1000), (4096, 100), (512, 20))
"""Characters of a string and items of a container, tried until the data fits."""

_log = logs.get(__name__)

_LONG_NUMBER: Final = re.compile(rb"[0-9]{4000}")
_encode: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
).encode
_CONTINUE: Final = Outcome(success=True, next_action=NextAction.CONTINUE)
_COMPLETE: Final = Outcome(success=True, next_action=NextAction.COMPLETE)


@value
class Reading:
    """An outcome without metadata, and its data as JSON text; or, in `failure`, why there is no success.

    `whole` are the data before they were cut. `deed`: what the call did, once it is known to have succeeded.
    """

    outcome: Outcome
    data: str = EMPTY
    truncated: bool = False
    whole: str = ""
    failure: Failure | None = None
    deed: DeedWords | None = None

    @property
    def in_doubt(self) -> bool:
        """Whether its outcome is unknown."""
        return self.failure is not None and self.failure.fault.error_type is ErrorType.IN_DOUBT


def read_ended(ended: Ended, tool: Tool, seconds: float, no_effect: tuple[type[BaseException], ...]) -> Reading | None:
    """The result of a call that had so many seconds; None when it was stopped because another worker has it."""
    if isinstance(ended, Returned):
        return read_result(tool, ended.value)
    if isinstance(ended, Raised):
        return read_failure(read_exception(tool, ended.error, no_effect))
    if ended is Stopped.CANCELLED:
        words = f"{tool.spec.name} was stopped: its chain was cancelled"
        return read_failure(Failure(ErrorInfo(ErrorType.UNKNOWN, words), Cause.BROKEN))  # the tool did not fail
    if ended is Stopped.BLOCKED:
        return blocked(tool, seconds)
    return timed_out(tool, seconds) if ended is Stopped.TIMED_OUT else None


def read_result(tool: Tool, raw: object) -> Reading:
    """What `tool` returned. Never raises, whatever the value's own code does."""
    try:
        if isinstance(raw, ToolResult):
            return _read_whole(tool, raw, raw.data)
        fields: Mapping[Any, Any] | None = None
        if isinstance(raw, Mapping):
            if "success" in raw and "next_action" in raw and "success" not in tool.output.fields:
                return _read_whole(tool, raw, raw.get("data", {}))
            fields = None if KNOWN.isdisjoint(raw) else raw
        elif tool.output.adapter is None and (isinstance(raw, BaseModel) or is_dataclass(raw)):
            fields = vars(raw)  # an object speaks of itself only where the tool declares no type for it
        if fields is not None and (older := in_older_style(fields, tool.output.fields)):
            return _read_whole(tool, older, {})
        return _with_data(tool, _CONTINUE, raw)
    except MalformedResultError as error:
        return read_failure(malformed(f"the tool {tool.spec.name} returned a result that contradicts itself: {error}"))
    except BaseException as error:  # noqa: BLE001 - the value's own code failed
        _log.warning("the result of a tool cannot be read", tool=tool.spec.name, stack=stack_of(error))
        return read_failure(malformed(f"the result of {tool.spec.name} cannot be read: {name_of(type(error))}"))


def timed_out(tool: Tool, seconds: float) -> Reading:
    """Why a call that took too long has no result."""
    words = f"{tool.spec.name} did not answer within {seconds:g} s"
    return read_failure(Failure(fault_of(ErrorType.TIMEOUT, words), Cause.BROKEN))


def blocked(tool: Tool, seconds: float) -> Reading:
    """Why a call that kept the event loop from turning has no result; it does not run again (E2)."""
    late = f"{tool.spec.name} did not answer within {seconds:g} s"
    words = f"{late}: it blocked the event loop of its worker. Its author: {UNBLOCK}"
    fault = fault_of(ErrorType.TIMEOUT, words, suggestion=A_BUG, recoverable=False)
    return read_failure(Failure(fault, Cause.BLOCKED))


def with_deed(tool: Tool, arguments: str, reading: Reading) -> Reading:
    """The result of a call that has succeeded, and in it what it did (F1), also when a hook makes an error of it."""
    return replace(reading, deed=deed_of(tool.spec, arguments, reading.data))


def read_failure(failure: Failure) -> Reading:
    """What an exception or a refusal is recorded as."""
    outcome = Outcome(success=False, next_action=NextAction.ERROR, error=failure.fault)
    return Reading(outcome, failure=failure)


def _with_data(tool: Tool, outcome: Outcome, raw: object) -> Reading:
    """The data as they are when they are within all limits: found out without parsing in the usual case."""
    data = _as_json(tool, raw)
    if data is None or len(data) > MAX_RESULT or too_deep(data) or (len(data) > 4000 and _LONG_NUMBER.search(data)):
        return _slowly(tool, outcome, raw)
    if data.count(b",") >= MAX_ITEMS and _longest(json.loads(data)) > MAX_ITEMS:
        return _slowly(tool, outcome, raw)
    if b"null" in data and tool.output.adapter is not None and _has_no_json(tool, raw, data):
        return _slowly(tool, outcome, raw)
    return Reading(outcome, data.decode())


def _has_no_json(tool: Tool, raw: object, data: bytes) -> bool:
    """Whether a null of the data stands for NaN or infinity: so pydantic writes them, whatever the schema says."""
    if tool.output.numbers and _violation(tool, json.loads(data)) is not None:
        return True
    return NO_JSON in _tamed(raw, *_SIZES[0]).notes


def _as_json(tool: Tool, raw: object) -> bytes | None:
    """The data as they are, of whatever size, or None when they are not plainly JSON of the result's type."""
    adapter = tool.output.adapter
    if hasattr(type(raw), "__next__"):
        return None  # pydantic would ask an iterator for its items, and it may never end
    try:
        if adapter is not None:
            found = adapter.validator.validate_python(raw)  # the adapter's own methods take longer than these
            data = adapter.serializer.to_json(found, by_alias=True, warnings="error")
        elif raw is None:
            return b"{}"
        else:
            data = _encode(raw).encode()
        if tool.output.wrapped or (adapter is None and not isinstance(raw, Mapping)):
            data = b'{"%s":%s}' % (WRAP.encode(), data)
    except Exception:  # noqa: BLE001 - the slow way finds out what is wrong with it
        return None
    return data


def _longest(value: Any) -> int:
    """The items of the largest container. The nesting was checked."""
    if isinstance(value, dict):
        return max(len(value), *map(_longest, value.values()), 0)
    return max(len(value), *map(_longest, value), 0) if isinstance(value, list) else 0


def _violation(tool: Tool, value: Any) -> str | None:
    if tool.output.schema is None:
        return None
    error = next(jsonschema.Draft202012Validator(tool.output.schema).iter_errors(value), None)
    return error and f"{'.'.join(map(str, error.absolute_path)) or 'the data'} does not satisfy {error.validator!r}"


def _slowly(tool: Tool, outcome: Outcome, raw: object) -> Reading:
    """The data with replacements and cuts; only uncut data can and must fit the schema."""
    for text, items in _SIZES:
        tamed = _tamed(raw, text, items)
        data = _as_object(tool, tamed.value)
        if len(data) <= MAX_RESULT:
            return _told(tool, outcome, raw, tamed, data)
    tamed = Tamed("[cut: too large]", cut=True)
    return _told(tool, outcome, raw, tamed, _as_object(tool, tamed.value))


def _tamed(raw: object, text: int, items: int) -> Tamed:
    return tame(raw, depth=MAX_DEPTH - 1, text=text, items=items)


def _told(tool: Tool, outcome: Outcome, raw: object, tamed: Tamed, data: bytes) -> Reading:
    if not tamed.cut:
        data = _normal(tool, tamed.value, data)
    told = list(tamed.notes)[:10] + (["the result was too large or nested too deep and is cut"] if tamed.cut else [])
    if told:
        outcome = msgspec.structs.replace(outcome, warnings=(*outcome.warnings, *told))
    return Reading(outcome, data.decode(), truncated=tamed.cut, whole=_whole(tool, raw) if tamed.cut else "")


def _whole(tool: Tool, raw: object) -> str:
    """The uncut data of a result that is plain JSON, if they are not too large to be kept; else nothing."""
    data = _as_json(tool, raw)
    return data.decode() if data is not None and len(data) <= MAX_WHOLE else ""


def _as_object(tool: Tool, value: object) -> bytes:
    if tool.output.wrapped or not isinstance(value, dict):
        value = {} if value is None and not tool.output.wrapped else {WRAP: value}
    return _encode(value).encode()


def _normal(tool: Tool, value: object, data: bytes) -> bytes:
    """The data as the result type writes it. Raises MalformedResultError when it does not fit."""
    if tool.output.adapter is None:
        return data
    try:
        found = tool.output.adapter.validate_python(value)
        data = tool.output.adapter.dump_json(found, by_alias=True, warnings="error")
    except ValidationError as error:
        raise MalformedResultError(f"data that does not fit its result type: {_places(error)}") from None
    data = b'{"%s":%s}' % (WRAP.encode(), data) if tool.output.wrapped else data
    if violation := _violation(tool, json.loads(data)):
        raise MalformedResultError(f"data that does not fit its result schema: {violation}")
    return data


def _places(error: ValidationError) -> str:
    problems = error.errors(include_input=False, include_url=False)[:5]
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}".removeprefix(": ") for each in problems)


def _read_whole(tool: Tool, raw: ToolResult[Any] | Mapping[str, Any], data: object) -> Reading:
    if isinstance(raw, ToolResult) and _is_plain(raw):
        return _with_data(tool, _COMPLETE if raw.next_action is NextAction.COMPLETE else _CONTINUE, data)
    outcome = checked(tool, raw)
    if outcome.error is not None:
        failure = reported(cleaned(outcome.error))
        return Reading(msgspec.structs.replace(outcome, error=failure.fault), failure=failure)
    if not outcome.satisfies:
        return Reading(outcome)
    return _with_data(tool, outcome, data)


def _is_plain(raw: ToolResult[Any]) -> bool:
    """A success that says nothing but its data."""
    return (
        raw.success is True
        and raw.next_action in (NextAction.CONTINUE, NextAction.COMPLETE)
        and raw.clarification is None
        and raw.confirmation is None
        and raw.error is None
        and raw.warnings == ()
        and raw.instruction_for_ai is None
    )


def checked(tool: Tool, raw: ToolResult[Any] | Mapping[str, Any]) -> Outcome:
    """The outcome validated from JSON, also what was made without validation. Raises MalformedResultError."""
    fields = {
        name: raw.get(name) if isinstance(raw, Mapping) else getattr(raw, name)
        for name in Outcome.__struct_fields__
        if name != "metadata"
    }
    tamed = tame({k: v for k, v in fields.items() if v is not None}, depth=_OUTCOME_DEPTH, text=MAX_OUTCOME, items=1000)
    if tamed.cut:
        raise MalformedResultError("a question or an error that is too large")
    if tamed.notes and "error" not in tamed.value:
        raise MalformedResultError(f"a question that cannot be shown exactly: {next(iter(tamed.notes))}")
    try:
        outcome = door(Outcome).validate_json(json.dumps(tamed.value))
    except ValidationError as error:
        raise MalformedResultError(_places(error)) from None
    words = outcome.instruction_for_ai
    outcome = msgspec.structs.replace(
        outcome,
        warnings=tuple(clean(each, 500) for each in outcome.warnings[:20]),
        instruction_for_ai=clean(words, 2000) if words else words,
    )
    if asked := outcome.clarification:
        options = tuple(_offered(tool, option) for option in asked.options)
        outcome = msgspec.structs.replace(outcome, clarification=msgspec.structs.replace(asked, options=options))
    if len(msgspec.json.encode(outcome)) > MAX_OUTCOME:
        raise MalformedResultError("a question that is too large")
    return outcome


def _offered(tool: Tool, option: Option) -> Option:
    """The option with its value as data: an object that fits the result schema. Raises MalformedResultError."""
    if option.value is None:
        return option
    value = option.value
    if tool.output.wrapped or not isinstance(value, dict):
        value = {WRAP: value}
    if violation := _violation(tool, value):
        raise MalformedResultError(f"the value of option {option.id!r}: {violation}")
    return msgspec.structs.replace(option, value=value)
