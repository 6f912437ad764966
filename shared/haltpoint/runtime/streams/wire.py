"""Messages to stream fields and back.

`__data__` is the message as JSON that a person can read; `__body__` is JSON text that is passed on
unparsed. What comes in is hostile: `decode` is total, and checks bytes and depth before it parses.

Users of FastStream publish tasks in its binary format, or the body of a task alone:
`read_foreign` reads them.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, cast

import msgspec
from msgspec import Struct
from pydantic import ValidationError

from haltpoint.contracts.base import MAX_BODY, MAX_DEPTH, MAX_RESULT, value
from haltpoint.contracts.catalogue import BY_TYPE, Stream, known_names
from haltpoint.contracts.commands import AnyMessage
from haltpoint.contracts.doors import door
from haltpoint.contracts.events import TaskSubmitted
from haltpoint.contracts.strict_json import StrictJsonError, read_strictly
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.config.faults import in_places

DATA: Final = "__data__"
BODY: Final = "__body__"
BEGUN: Final = b"__begun__"
"""In an order that was given back: a worker had started it."""

MAX_MESSAGE: Final = MAX_BODY + 64 * 1024
MESSAGE_DEPTH: Final = MAX_DEPTH + 8
"""A message carries values that were within the limits when they came in (a task's context, a
model's arguments), in an envelope of our own. A message that we send must never be too much for
its receiver: its chain would wait in vain.
"""

_DATA: Final = DATA.encode()
_BODY: Final = BODY.encode()
_DECODER: Final[msgspec.json.Decoder[AnyMessage]] = msgspec.json.Decoder(AnyMessage)
_STREAMS: Final = {row.message: row.stream for row in BY_TYPE.values()}

encode: Final = msgspec.json.Encoder().encode
"""The JSON of a message or a stored value, without the fields that have their default."""

# Linear for any input: a string that never ends runs to the end of the text and is not tried
# again.
_STRINGS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+\\?(?:"|\Z)', re.DOTALL)
_BRACKETS: Final = re.compile(rb"[\[\]{}]")
_TRACEPARENT: Final = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}",
)


class DeadLetterReason(StrEnum):
    """Why an entry is a dead letter: the closed set. The first eight say why it is no message."""

    NO_DATA = "no_data"
    TOO_LARGE = "too_large"
    BAD_ENCODING = "bad_encoding"
    BAD_JSON = "bad_json"
    TOO_DEEP = "too_deep"
    UNKNOWN_VERSION = "unknown_version"
    UNKNOWN_MESSAGE = "unknown_message"
    BAD_FIELDS = "bad_fields"
    UNKNOWN_CHAIN = "unknown_chain"
    CONFLICT = "conflict"
    DELIVERIES_EXHAUSTED = "deliveries_exhausted"
    QUARANTINED = "quarantined"


class Decoded(Struct, frozen=True, gc=False):
    """A message and its body, which is JSON text or empty."""

    message: AnyMessage
    body: str = ""


@value
class Rejected:
    """An entry that cannot be processed; `detail` says it in words, without the whole input."""

    reason: DeadLetterReason
    detail: str


def decode(stream: Stream, fields: Mapping[bytes, bytes]) -> Decoded | Rejected:
    """Read one entry of `stream`. Never raises: whatever the bytes are, the answer is a value."""
    data = fields.get(_DATA)
    body = fields.get(_BODY, b"")
    if data is None:
        return Rejected(DeadLetterReason.NO_DATA, f"the entry has no field {DATA}")
    if len(data) > MAX_MESSAGE or len(body) > MAX_RESULT:
        detail = f"{len(data)} bytes of data, {len(body)} of body"
        return Rejected(DeadLetterReason.TOO_LARGE, detail)
    try:
        text = body.decode()
        data.decode()
    except UnicodeDecodeError as error:
        detail = f"not UTF-8 at byte {error.start}: {error.reason}"
        return Rejected(DeadLetterReason.BAD_ENCODING, detail)
    if too_deep(data, MESSAGE_DEPTH) or too_deep(body):
        detail = f"nested deeper than {MESSAGE_DEPTH}, or its body deeper than {MAX_DEPTH}"
        return Rejected(DeadLetterReason.TOO_DEEP, detail)
    try:
        message: AnyMessage | Rejected = _DECODER.decode(data)
        if isinstance(message, TaskSubmitted):  # other programs write it, too
            read_strictly(data)
    except msgspec.ValidationError as error:
        message = _second_look(data, str(error))
    except ValueError as error:
        return _bad_json(error)
    if isinstance(message, Rejected):
        return message
    if _STREAMS[type(message)] is not stream:
        detail = f"{message.type} does not belong on {stream.value}"
        return Rejected(DeadLetterReason.UNKNOWN_MESSAGE, detail)
    trace = message.traceparent
    if trace is not None and _TRACEPARENT.fullmatch(trace) is None:
        # A bad one is dropped, never an error.
        message = msgspec.structs.replace(message, traceparent=None)
    return Decoded(message, text)


def too_deep(text: bytes, limit: int = MAX_DEPTH) -> bool:
    """Whether JSON text nests deeper than `limit`, found without parsing and without recursion."""
    if b"[" not in text and text.find(b"{", 1) < 0:
        return False  # as most are, and soon seen
    if text.count(b"{") + text.count(b"[") <= limit:
        return False
    depth = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub(b"", text)):
        if bracket in b"[{":
            depth += 1
            if depth > limit:
                return True
        else:
            depth -= 1
    return False


def _second_look(data: bytes, fault: str) -> AnyMessage | Rejected:
    """A task from outside, or a message with a bad traceparent; else why it is no message of
    ours.
    """
    try:
        fields = read_strictly(data)
    except ValueError as error:  # such as a number of 4,000 digits
        return _bad_json(error)
    if not isinstance(fields, dict):
        return Rejected(DeadLetterReason.BAD_FIELDS, "a message is a JSON object")
    if "type" not in fields:
        return Rejected(DeadLetterReason.BAD_FIELDS, "the message has no `type`")
    tag = fields["type"]
    if not isinstance(tag, str) or tag not in BY_TYPE:
        text = str(tag)[:128]
        if known_names().isdisjoint((text, text.rpartition(".")[0])):
            return Rejected(DeadLetterReason.UNKNOWN_MESSAGE, f"there is no message {text!r}")
        detail = f"this release does not know {text!r}, but another version of it"
        return Rejected(DeadLetterReason.UNKNOWN_VERSION, detail)
    trace = fields.get("traceparent")
    if not isinstance(trace, str) or _TRACEPARENT.fullmatch(trace) is None:
        fields["traceparent"] = None
    try:
        if tag == "task.submitted.v1":
            fields["data"] = door(Task).validate_python(fields.get("data"))
        return cast("AnyMessage", msgspec.convert(fields, BY_TYPE[tag].message))
    except ValidationError as error:
        return Rejected(DeadLetterReason.BAD_FIELDS, in_places(error, "data"))
    except msgspec.ValidationError:
        return Rejected(DeadLetterReason.BAD_FIELDS, fault[:1000])


def _bad_json(error: ValueError) -> Rejected:
    return Rejected(DeadLetterReason.BAD_JSON, str(error)[:1000])


_MAGIC: Final = b"\x89BIN\r\n\x1a\n"
_BODY_AT: Final = slice(len(_MAGIC) + 6, len(_MAGIC) + 10)
"""Where the format says where its body begins: behind its version and the offset of its headers."""

_PERHAPS: Final = (DeadLetterReason.BAD_ENCODING, DeadLetterReason.BAD_FIELDS)


def body_of(data: bytes) -> bytes:
    """The body of an entry, taken out of FastStream's format."""
    if not data.startswith(_MAGIC):
        return data
    return data[int.from_bytes(data[_BODY_AT], "big") :]


def read_foreign(
    stream: str, entry: str, fields: Mapping[bytes, bytes], rejected: Rejected
) -> Decoded | Rejected:
    """Read an entry of an events stream that `wire.decode` has rejected. Never raises.

    Without a `type` it is the body of a task. Its id is that of its entry, so that the same entry
    is the same task.
    """
    if rejected.reason not in _PERHAPS:
        return rejected
    try:
        message = read_strictly(body_of(fields.get(_DATA, b"")))
    except StrictJsonError as fault:
        return Rejected(DeadLetterReason.BAD_JSON, str(fault))
    except ValueError:
        return rejected
    if not isinstance(message, dict):
        return rejected
    if "type" not in message:
        message = {"type": "task.submitted.v1", "id": entry, "source": stream, "data": message}
    return decode(Stream.EVENTS, {_DATA: encode(message)})
