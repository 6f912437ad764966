"""Addresses: where the Redis server is, and where a service listens."""

import socket
from typing import Final

from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.service import embedded

PORT_SETTING: Final = "HALTPOINT_GATEWAY__PORT (for /readyz: HALTPOINT_HEALTH_PORT)"

UNREAD: Final = 20_000
"""Milliseconds that an answer waits to be read on; then its connection ends."""


def redis_url(settings: Settings) -> str:
    """The server's address: the configured one, else that of the live embedded server
    (state_dir/data).

    Raises HaltpointError HP-010 when there is neither.
    """
    url = settings.redis_url or embedded.running(settings.state_dir / "data")
    if url is None:
        raise HaltpointError(
            "HP-010",
            "no Redis server is configured",
            f"no HALTPOINT_REDIS_URL is set and no embedded server runs in {settings.state_dir}",
            "Set HALTPOINT_REDIS_URL, or start everything with: haltpoint up",
        )
    return url


def listen(
    host: str, port: int, backlog: int = 1, *, chosen_by: str = PORT_SETTING
) -> socket.socket:
    """A socket that listens there. Raises HaltpointError HP-003 when the address cannot be used.

    `chosen_by`: the setting or option with which another port is chosen.
    """
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # for its connections too; macOS has it not
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD)
        listener.bind((host, port))
        listener.listen(backlog)
    except OSError as error:
        listener.close()
        why = error.strerror or str(error)
        fix = f"Use what runs there if it is yours; else stop it, or set {chosen_by}"
        raise HaltpointError("HP-003", f"{host}:{port} cannot be used", why, fix) from error
    return listener
