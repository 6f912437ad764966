"""Tasks as users of FastStream publish them: in its binary format, or the body of a task alone."""

from collections.abc import Mapping
from typing import Final

from msgspec.json import encode

from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.strict_json import StrictJsonError, read_strictly
from haltpoint.runtime.streams.wire import DATA, DeadLetterReason, Decoded, Rejected, decode

_DATA: Final = DATA.encode()
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
