"""The admin key: chosen in the settings, or made once and kept in the state directory."""

import secrets
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import Settings

_FILE: Final = "admin-key"
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


def admin_key(settings: Settings) -> str:
    """The admin key that this gateway starts with.

    Raises HaltpointError HP-001 when it would listen to the network with a key that no operator
    chose, or without a proxy before it: keys and answers would cross the network in the clear.
    """
    gateway = settings.gateway
    chosen = gateway.admin_key
    is_guarded = chosen and gateway.trusted_proxy
    if gateway.host not in _LOOPBACK and not is_guarded:
        what = f"the gateway does not listen on {gateway.host} without a key and TLS"
        why = "other machines could reach it, and it serves plain HTTP"
        fix = (
            "Set HALTPOINT_GATEWAY__ADMIN_KEY, put a proxy that terminates TLS in front of it and "
            "name it in HALTPOINT_GATEWAY__TRUSTED_PROXY; or listen on 127.0.0.1"
        )
        raise HaltpointError("HP-001", what, why, fix)
    return chosen.get_secret_value() if chosen else ensure_admin_key(settings.state_dir)


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
            # Written whole under another name and then linked: no reader ever sees half a key.
            with NamedTemporaryFile("w", dir=state_dir) as draft, suppress(FileExistsError):
                draft.write(new_key())
                draft.flush()
                path.hardlink_to(draft.name)  # unless another process was first; its key counts
        return path.read_text().strip()
    except OSError as error:
        what = f"the state directory {state_dir} cannot be used"
        fix = "Choose another HALTPOINT_STATE_DIR, or set HALTPOINT_GATEWAY__ADMIN_KEY"
        raise HaltpointError("HP-001", what, str(error.strerror), fix) from error


def new_key() -> str:
    """The text of a key: 256 random bits."""
    return f"hp_{secrets.token_urlsafe(32)}"
