"""For which gateway an admin key is. The gateway writes it down, and whoever would send the key
asks.

A key is a password: it goes to the gateway that it was made for. The record names its key by a
digest, so a record that somebody else has brought, in a folder with settings of its own, fits no
key of ours.
"""

import hashlib
import json
import secrets
from pathlib import Path
from typing import Final

RECORD: Final = "admin-key-origin"
URL_VARIABLE: Final = "HALTPOINT_URL"
KEY_VARIABLE: Final = "HALTPOINT_KEY"
"""Options of commands that talk to a gateway: no settings."""


def remember(state_dir: Path, key: str, origin: str) -> None:
    """Write down that the gateway of this key is at `origin`. Raises OSError when the directory
    takes no file.
    """
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = state_dir / f"{RECORD}.{secrets.token_hex(8)}"
    draft.touch(mode=0o600)
    draft.write_text(json.dumps({"key": _digest(key), "origin": origin}))
    draft.replace(state_dir / RECORD)


def recall(state_dir: Path, key: str) -> str | None:
    """Where the gateway of this key is; None when nothing was written down of it."""
    try:
        record = json.loads((state_dir / RECORD).read_text())
        return str(record["origin"]) if record["key"] == _digest(key) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
