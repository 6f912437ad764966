"""Tasks as users of FastStream publish them.

An entry of theirs has the field `__data__` too. It holds FastStream's binary format, the JSON envelope of FastStream
0.6, or plain JSON. What is inside is one of our messages or, without a `type`, the body of a task.
"""

import struct
from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import from_json, to_json

from haltpoint.contracts.base import value
from haltpoint.contracts.catalogue import Stream
from haltpoint.runtime.streams.wire import DATA, DeadLetterReason, Decoded, Rejected, decode

_DATA: Final = DATA.encode()
_MAGIC: Final = b"\x89BIN\r\n\x1a\n"
_START: Final = struct.Struct(">HII")  # behind the magic: version, offset of the headers, offset of the body
_SHORT: Final = struct.Struct(">H")


@value
class Opened:
    """The body of an entry, its headers (None: they cannot be read), and in which format they were, in words."""

    body: bytes
    headers: Mapping[str, Any] | None
    form: str = "in plain JSON"


def opened(data: bytes) -> Opened | Rejected:
    """Take the body out of FastStream's formats. It is not looked at."""
    if data.startswith(_MAGIC):
        return _binary(data)
    try:
        found = from_json(data)
    except ValueError:
        return Opened(data, {})
    if isinstance(found, dict) and found.keys() == {"data", "headers"} and isinstance(found["data"], str):
        headers = found["headers"]
        readable = headers if isinstance(headers, dict) else None
        return Opened(found["data"].encode(), readable, "in the JSON envelope of FastStream 0.6")
    return Opened(data, {})


def read_foreign(stream: str, entry: str, fields: Mapping[bytes, bytes], rejected: Rejected) -> Decoded | Rejected:
    """Read an entry of an events stream that `wire.decode` has rejected. Never raises.

    A body's id is its header `id`; without one it is that of its entry, so that the same entry is the same task.
    """
    data = fields.get(_DATA, b"")
    if rejected.reason is not DeadLetterReason.BAD_FIELDS and not (
        rejected.reason is DeadLetterReason.BAD_ENCODING and data.startswith(_MAGIC)
    ):
        return rejected
    found = opened(data)
    if isinstance(found, Rejected):
        return found
    try:
        message = from_json(found.body)
    except ValueError as error:
        return Rejected(DeadLetterReason.BAD_JSON, f"the body {found.form} is not JSON: {error}")
    if not isinstance(message, dict):
        return Rejected(DeadLetterReason.BAD_FIELDS, f"the body {found.form} is not a JSON object, so it is not a task")
    if "type" in message:
        if found.body is data:
            return rejected
        told = f"a message {found.form}"
    else:
        if found.headers is None:
            return Rejected(
                DeadLetterReason.BAD_ENCODING, f"the headers {found.form} cannot be read; they must be ASCII"
            )
        told = f"it has no `type`, so it is read as the body of a task {found.form}"
        message = _submitted(message, found.headers, stream, entry)
    message.setdefault("traceparent", (found.headers or {}).get("traceparent"))
    decoded = decode(Stream.EVENTS, {_DATA: to_json(message, inf_nan_mode="constants")})
    if isinstance(decoded, Rejected):
        return Rejected(decoded.reason, f"{told}: {decoded.detail}"[:1000])
    return decoded


def _submitted(task: dict[str, Any], headers: Mapping[str, Any], stream: str, entry: str) -> dict[str, Any]:
    key = {"id": headers["id"], "source": headers.get("source", "faststream")} if "id" in headers else {}
    return {"type": "task.submitted.v1", "id": entry, "source": stream, **key, "data": task}


def _binary(data: bytes) -> Opened | Rejected:
    """FastStream's binary format: a start, headers, a body to the end; numbers are big-endian."""
    form = "in FastStream's binary format"
    try:
        version, headers_at, body_at = _START.unpack_from(data, len(_MAGIC))
    except struct.error:
        return Rejected(DeadLetterReason.BAD_ENCODING, f"an entry {form} that ends too early")
    if version != 1:
        return Rejected(
            DeadLetterReason.UNKNOWN_VERSION, f"an entry {form}, version {version}; this release reads version 1"
        )
    if body_at > len(data):
        return Rejected(DeadLetterReason.BAD_ENCODING, f"an entry {form} that ends too early")
    return Opened(data[body_at:], _headers(data[:body_at], headers_at), form)


def _headers(data: bytes, at: int) -> dict[str, str] | None:
    """Names and values, which end where the body begins.

    FastStream writes the length of a text in characters, not in bytes: so other than ASCII cannot be read.
    """
    words: list[str] = []
    try:
        (count,) = _SHORT.unpack_from(data, at)
        at += _SHORT.size
        for _ in range(2 * count):
            (length,) = _SHORT.unpack_from(data, at)
            at += _SHORT.size + length
            words.append(data[at - length : at].decode())
    except (struct.error, UnicodeDecodeError):
        return None
    return dict(zip(words[::2], words[1::2], strict=True)) if at == len(data) else None
