"""Addresses: where the Redis server is, and where a service listens."""

import socket
from typing import Final

from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.service import embedded

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


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises HaltpointError HP-003 when the address cannot be used."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # for its connections too; macOS has it not
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD)
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        listener.close()
        why = error.strerror or str(error)
        fix = (
            "Use what runs there if it is yours; else stop it, or choose another port: "
            "HALTPOINT_GATEWAY__PORT, for /readyz HALTPOINT_HEALTH_PORT, of a scripted model --port"
        )
        raise HaltpointError("HP-003", f"{host}:{port} cannot be used", why, fix) from error
    return listener
