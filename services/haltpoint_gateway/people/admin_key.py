"""The admin key: chosen in the settings, or made once and kept in the state directory."""

import ipaddress
import os
import secrets
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import Settings

_FILE: Final = "admin-key"


def ensure_admin_key(state_dir: Path) -> str:
    """The admin key in the state directory (a file that only this user can read), made at the first
    call.

    Two processes that start at once get the same key. Raises HaltpointError HP-001 when the
    directory cannot be used.
    """
    path = state_dir / _FILE
    try:
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            _make(path)
        return path.read_text().strip()
    except OSError as error:
        raise HaltpointError(
            "HP-001",
            f"the state directory {state_dir} cannot be used",
            error.strerror or str(error),
            "Choose another HALTPOINT_STATE_DIR, or set HALTPOINT_GATEWAY__ADMIN_KEY",
        ) from error


def _make(path: Path) -> None:
    """Written whole under a name of its own and then linked: no reader ever sees half a key."""
    with NamedTemporaryFile("w", dir=path.parent, prefix=f"{_FILE}.") as draft:
        draft.write(f"hp_{secrets.token_urlsafe(32)}\n")
        draft.flush()
        with suppress(FileExistsError):  # the other process was first; its key counts
            os.link(draft.name, path)


def admin_key(settings: Settings) -> str:
    """The admin key that this gateway starts with.

    Raises HaltpointError HP-001 when it would listen to the network with a key that no operator
    chose, or without a proxy before it: keys and answers would cross the network in the clear.
    """
    gateway = settings.gateway
    chosen = gateway.admin_key
    is_open = not _is_loopback(gateway.host)
    refused = f"the gateway does not listen on {gateway.host} without"
    if is_open and chosen is None:
        why = "other machines could reach it"
        fix = "Set HALTPOINT_GATEWAY__ADMIN_KEY, or listen on 127.0.0.1"
        raise HaltpointError("HP-001", f"{refused} a key", why, fix)
    if is_open and gateway.trusted_proxy is None:
        why = "it serves plain HTTP, so keys would cross the network unencrypted"
        fix = (
            "Put a proxy that terminates TLS in front of it and name it in "
            "HALTPOINT_GATEWAY__TRUSTED_PROXY"
        )
        raise HaltpointError("HP-001", f"{refused} TLS", why, fix)
    return ensure_admin_key(settings.state_dir) if chosen is None else chosen.get_secret_value()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
