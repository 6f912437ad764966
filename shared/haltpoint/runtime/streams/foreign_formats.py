"""Tasks as users of FastStream publish them.

An entry of theirs has the field `__data__` too. It holds FastStream's binary format or plain JSON.
What is inside is one of our messages or, without a `type`, the body of a task.
"""

import struct
from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import from_json, to_json

from haltpoint.contracts.base import JsonObject, value
from haltpoint.contracts.catalogue import Stream
from haltpoint.runtime.streams.wire import DATA, DeadLetterReason, Decoded, Rejected, decode

_DATA: Final = DATA.encode()
_MAGIC: Final = b"\x89BIN\r\n\x1a\n"
_START: Final = struct.Struct(
    ">HII"
)  # behind the magic: version, offset of the headers, offset of the body


@value
class Opened:
    """The body of an entry, its headers (None: they cannot be read), and their format in words."""

    body: bytes
    headers: Mapping[str, Any] | None
    form: str = "in plain JSON"


def opened(data: bytes) -> Opened | Rejected:
    """Take the body out of FastStream's format. It is not looked at."""
    return _binary(data) if data.startswith(_MAGIC) else Opened(data, {})


def read_foreign(
    stream: str, entry: str, fields: Mapping[bytes, bytes], rejected: Rejected
) -> Decoded | Rejected:
    """Read an entry of an events stream that `wire.decode` has rejected. Never raises.

    A body's id is its header `id`; without one it is that of its entry, so that the same entry is
    the same task.
    """
    data = fields.get(_DATA, b"")
    if not _may_be_foreign(data, rejected):
        return rejected
    entry_body = opened(data)
    if isinstance(entry_body, Rejected):
        return entry_body
    form, headers = entry_body.form, entry_body.headers
    try:
        message = from_json(entry_body.body)
    except ValueError as error:
        return Rejected(DeadLetterReason.BAD_JSON, f"the body {form} is not JSON: {error}")
    if not isinstance(message, dict):
        detail = f"the body {form} is not a JSON object, so it is not a task"
        return Rejected(DeadLetterReason.BAD_FIELDS, detail)
    reading = f"a message {form}"
    if "type" not in message:
        if headers is None:
            detail = f"the headers {form} cannot be read; they must be ASCII"
            return Rejected(DeadLetterReason.BAD_ENCODING, detail)
        reading = f"it has no `type`, so it is read as the body of a task {form}"
        message = _submitted(message, headers, stream, entry)
    elif not data.startswith(_MAGIC):
        return rejected
    if headers:
        message.setdefault("traceparent", headers.get("traceparent"))
    decoded = decode(Stream.EVENTS, {_DATA: to_json(message, inf_nan_mode="constants")})
    if isinstance(decoded, Rejected):
        detail = f"{reading}: {decoded.detail}"
        return Rejected(decoded.reason, detail[:1000])
    return decoded


def _may_be_foreign(data: bytes, rejected: Rejected) -> bool:
    if rejected.reason is DeadLetterReason.BAD_ENCODING:
        return data.startswith(_MAGIC)
    return rejected.reason is DeadLetterReason.BAD_FIELDS


def _submitted(task: JsonObject, headers: Mapping[str, Any], stream: str, entry: str) -> JsonObject:
    message = {"type": "task.submitted.v1", "id": entry, "source": stream, "data": task}
    if "id" in headers:
        message["id"] = headers["id"]
        message["source"] = headers.get("source", "faststream")
    return message


def _binary(data: bytes) -> Opened | Rejected:
    """FastStream's binary format: a start, headers, a body to the end; numbers are big-endian."""
    form = "in FastStream's binary format"
    try:
        version, _, body_at = _START.unpack_from(data, len(_MAGIC))
    except struct.error:
        return Rejected(DeadLetterReason.BAD_ENCODING, f"an entry {form} that ends too early")
    if version != 1:
        detail = f"an entry {form}, version {version}; this release reads version 1"
        return Rejected(DeadLetterReason.UNKNOWN_VERSION, detail)
    if body_at > len(data):
        return Rejected(DeadLetterReason.BAD_ENCODING, f"an entry {form} that ends too early")
    from faststream.redis import BinaryMessageFormatV1  # half a second that few need

    body, headers = BinaryMessageFormatV1.parse(data)
    # FastStream writes the length of a text in characters, not in bytes, and so reads others wrong.
    is_read = body is not data and all(map(str.isascii, (*headers, *headers.values())))
    return Opened(data[body_at:], headers if is_read else None, form)
