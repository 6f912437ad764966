"""How verbs reach the gateway: its address and its key."""

import re
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from haltpoint.cli.errors import usage
from haltpoint.cli.shell import Shell
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.key_origin import recall

if TYPE_CHECKING:
    from haltpoint.client import Client
    from haltpoint.contracts.views.chains import Page

T = TypeVar("T")
ADDRESS_FILE: Final = "gateway-address"
KEY_FILE: Final = "admin-key"
_TIMEOUT: Final = 3.0
_URL: Final = re.compile(r"https?://[^/?#]*[^/?#:](:[1-9]\d{0,4})?(/|$)")


def address(shell: Shell) -> str:
    """--url, else our own gateway's. Raises HaltpointError for what is no address."""
    from haltpoint.runtime.config.addresses import masked, url_of

    gateway = shell.settings.gateway
    if shell.url is None:
        running = _read(shell.settings.state_dir / ADDRESS_FILE)
        return running or url_of(gateway.host, gateway.port)
    if not _URL.match(shell.url):
        why = (
            f"{masked(shell.url)!r} is not one"
            if shell.url
            else "it is empty; is the variable set?"
        )
        fix = "--url http://127.0.0.1:8700, or leave it out"
        raise usage("--url takes the gateway's address", why, fix)
    return shell.url.rstrip("/")


def _own_key(shell: Shell, where: str) -> str:
    """The admin key of this machine, for the gateway that it was made for: that of the settings, or
    of the state directory. Raises HaltpointError.

    The files of the current folder may name another gateway, whose owner must not get the key: they
    are believed of a key that they hold themselves, and of no other.
    """
    from haltpoint.runtime.config.addresses import masked, url_of

    settings, outside = shell.settings, shell.gateway_outside
    fix = "Give one: --key KEY"
    own = settings.gateway.admin_key
    kept = settings.state_dir / KEY_FILE
    key = own.get_secret_value() if own else _read(kept)
    if not key:
        why = f"none was given and there is no {kept}"
        raise HaltpointError("HP-051", "there is no key for the gateway", why, fix)
    is_of_the_folder = own is not None and outside.admin_key is None
    trusted = settings.gateway if is_of_the_folder else outside
    home = recall(settings.state_dir, key) or url_of(trusted.host, trusted.port)
    if _origin(where) != _origin(home):
        what = f"there is no key for the gateway at {masked(where)}"
        why = f"none was given, and the admin key of this machine is for {home} only"
        raise HaltpointError("HP-051", what, why, fix)
    return key


def talk(shell: Shell, conversation: "Callable[[Client], Awaitable[T]]") -> T:
    """Run one conversation with the gateway. Raises HaltpointError for all that it may refuse."""
    import asyncio

    # httpx imports its own command line (click, pygments) if it can: a tenth of the time of a short
    # command.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
    from haltpoint.client import Client, GatewayError, key_fault
    from haltpoint.contracts.people.humans import COMMAND_LINE
    from haltpoint.runtime.config.addresses import masked

    where = address(shell)
    if shell.key is not None and (fault := key_fault(shell.key)):
        more = "" if shell.key else "; is the variable set?"
        raise usage(
            "--key takes a key of the gateway", fault + more, "Give one, or leave --key out"
        )
    if why := unreachable(where):
        what, fix = f"no gateway answers at {masked(where)}", "Start it: haltpoint up"
        raise HaltpointError("HP-050", what, why, fix)
    secret = shell.key or _own_key(shell, where)

    async def whole() -> T:
        async with Client(
            where, secret, at_once=("redis_refuses_writes",), program=COMMAND_LINE
        ) as client:
            return await conversation(client)

    try:
        return asyncio.run(whole())
    except GatewayError as error:
        from haltpoint.cli.problems import told

        raise told(error, masked(where)) from error


async def every(read: "Callable[..., Awaitable[Page[T]]]", **query: Any) -> AsyncIterator[T]:
    """The items of a list, page by page; `read` gets one."""
    cursor: str | None = None
    while True:
        page = await read(cursor=cursor, **query)
        for item in page.items:
            yield item
        cursor = page.next_cursor
        if cursor is None:
            return


def unreachable(where: str) -> str:
    """Why nothing listens at a URL; empty when something does.

    Clients are patient with a server that is away for a moment; a person at a prompt wants to know
    at once.
    """
    try:
        _, host, port = _origin(where)
        socket.create_connection((host or "", port), _TIMEOUT).close()
    except (OSError, ValueError) as error:
        return (isinstance(error, OSError) and error.strerror) or str(error)
    return ""


def _origin(where: str) -> tuple[str, str | None, int]:
    parts = urlsplit(where)
    usual = 443 if parts.scheme == "https" else 80
    return parts.scheme, parts.hostname, parts.port or usual


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except OSError:
        return None
