"""`haltpoint audit`: who did what, as JSON lines."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer

from haltpoint.cli.errors import usage
from haltpoint.cli.gateway import every, talk
from haltpoint.cli.shell import Shell, verb

if TYPE_CHECKING:
    from haltpoint.client import Client

_MOST: Final = 1000
"""Lines of a page."""

app = typer.Typer(help="Show who did what. Needs a key with the scope admin.", no_args_is_help=True)


@verb(app, "export", gateway=True)
def export(
    shell: Shell,
    since: Annotated[datetime | None, typer.Option(help="The first moment, local time.")] = None,
    until: Annotated[datetime | None, typer.Option(help="The last moment.")] = None,
) -> None:
    """Print the audit as JSON lines, the oldest first."""
    moments = {"since": _moment(since), "until": _moment(until)}

    async def whole(client: "Client") -> None:
        async for line in every(client.audit, limit=_MOST, **moments):
            shell.emit(line)

    talk(shell, whole)


def _moment(local: datetime | None) -> str | None:
    try:
        return None if local is None else local.astimezone().isoformat()
    except (ValueError, OverflowError) as error:
        why = f"{local} is outside of the calendar in another zone"
        raise usage("this time cannot be used", why, "--since 2026-01-31") from error
