"""How verbs reach the gateway: its address and key, and its problems in the words of the command line."""

import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import urlsplit

from haltpoint.cli.errors import CliError, Exit
from haltpoint.cli.shell import Shell

if TYPE_CHECKING:
    from haltpoint.client import Client, GatewayError

T = TypeVar("T")
ADDRESS_FILE: Final = "gateway-address"
KEY_FILE: Final = "admin-key"
_TIMEOUT = 3.0


def address(shell: Shell) -> str:
    """--url, else where `haltpoint up` with the same state directory listens, else what the settings say."""
    if shell.url:
        return shell.url.rstrip("/")
    told = _read(shell.settings.state_dir / ADDRESS_FILE)
    host = shell.settings.gateway.host
    return told or f"http://{f'[{host}]' if ':' in host else host}:{shell.settings.gateway.port}"


def key(shell: Shell) -> str:
    """--key, else the admin key of the settings, else that of the state directory."""
    if shell.key:
        return shell.key
    configured = shell.settings.gateway.admin_key
    found = configured.get_secret_value() if configured else _read(shell.settings.state_dir / KEY_FILE)
    if not found:
        path = shell.settings.state_dir / KEY_FILE
        raise CliError(
            "HP-051", "there is no key for the gateway", f"none was given and there is no {path}", "Give one: --key KEY"
        )
    return found


def talk(shell: Shell, conversation: "Callable[[Client], Awaitable[T]]") -> T:
    """Run one conversation with the gateway. Raises CliError for everything that it may answer."""
    import asyncio

    from haltpoint.client import Client, GatewayError

    where = address(shell)
    _knock(where)
    secret = key(shell)

    async def whole() -> T:
        async with Client(where, secret) as client:
            return await conversation(client)

    try:
        return asyncio.run(whole())
    except GatewayError as error:
        raise told(error, where) from error


def told(error: "GatewayError", where: str) -> CliError:
    """A problem of the gateway as an error that ends the command."""
    why = error.detail.rstrip(".") or f"HTTP {error.status}"
    hint = error.hint.rstrip(".")
    match error.status:
        case 0 | 503:
            return CliError(
                "HP-050", f"the gateway at {where} cannot be reached", why, hint, exit_code=Exit.UNREACHABLE
            )
        case 401 | 403:
            return CliError("HP-051", "the gateway does not accept the key", why, hint)
        case 404:
            return CliError("HP-053", "not found", why, hint)
        case 409 | 410 | 412 if error.code.startswith(("answered", "request")):
            return CliError("HP-054", "the question is not open any more", why, hint)
        case 400 | 422:
            return CliError("HP-052", "the gateway refused", why + _fields(error), hint, exit_code=Exit.USAGE)
        case _:
            return CliError("HP-052", "the gateway refused", why, hint)


def _fields(error: "GatewayError") -> str:
    """All faults that the problem lists, one a line."""
    listed = error.problem.get("errors") or error.problem.get("faults") or ()
    return "".join(f"\n  - {_fault(one)}" for one in listed)


def _fault(one: object) -> str:
    if not isinstance(one, dict):
        return str(one)
    place = one.get("field") or (f"step {one['step_id']!r}" if one.get("step_id") else "")
    return f"{place}: {one.get('message')}" if place else str(one.get("message"))


def _knock(where: str) -> None:
    """The client is patient with a gateway that is away for a moment; a person at a prompt wants to know at once."""
    parts = urlsplit(where)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), _TIMEOUT).close()
    except OSError as error:
        raise CliError(
            "HP-050",
            f"no gateway answers at {where}",
            error.strerror or str(error),
            "Start everything with: haltpoint up",
            exit_code=Exit.UNREACHABLE,
        ) from error


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except OSError:
        return None
