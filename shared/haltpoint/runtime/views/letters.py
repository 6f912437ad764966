"""Dead letters as people read them. A letter's id is that of its place."""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.views.deployment import LetterView
from haltpoint.runtime.streams.wire import DATA, body_of
from haltpoint.runtime.views.log_view import moment

_DATA: Final = DATA.encode()
_OURS: Final = (b"stream", b"reason", b"detail", b"chain", b"at")
"""Fields of ours (store/lua/base.lua)."""
_SHOWN: Final = 1024
"""Characters of a message."""


def letter_of(name: str, values: Sequence[bytes]) -> LetterView:
    """A letter from its entry: our fields come first, then those of the message."""
    pairs = list(zip(values[::2], values[1::2], strict=True))
    fields = dict(reversed(pairs))  # so that no field of the message takes the place of ours
    stream, reason, detail, chain, at = (fields[field].decode(errors="replace") for field in _OURS)
    return LetterView(
        id=name,
        stream=stream,
        reason=reason,
        detail=detail,
        chain_id=chain,
        at=moment(at),
        message=_without_private(body_of(fields.get(_DATA, b"")))[:_SHOWN],
    )


def _without_private(body: bytes) -> str:
    """A message without what its task gives to tools alone (C15)."""
    text = body.decode(errors="replace")
    if '"private"' not in text:
        return text
    with suppress(ValueError, RecursionError):
        message = json.loads(text, object_hook=_public)
        return json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return text


def _public(fields: JsonObject) -> JsonObject:
    fields.pop("private", None)
    return fields
