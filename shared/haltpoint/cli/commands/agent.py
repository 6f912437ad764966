"""`haltpoint agent`: who works on tasks, and the file that says so."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from haltpoint.cli.gateway import talk
from haltpoint.cli.shell import Shell, verb
from haltpoint.runtime.config.errors import HaltpointError

if TYPE_CHECKING:
    from haltpoint.contracts.base import Contract

_FILE = Annotated[Path, typer.Argument(metavar="FILE", help="The agents file (TOML).")]
_AGENT = "The agent's name, or supervisor."
_NO_AGENTS = (
    "There are no agents: the services have no HALTPOINT_AGENTS_FILE, or the file has no agents"
)


app = typer.Typer(help="Show agents; check the agents file.", no_args_is_help=True)


@verb(app, "show", gateway=True)
def show(
    shell: Shell, name: Annotated[str, typer.Argument(metavar="[AGENT]", help=_AGENT)] = ""
) -> None:
    """List the agents of the file, or show one, or the supervisor, with all that is said of it."""
    from haltpoint.cli.wording import outline
    from haltpoint.contracts.doors import in_full
    from haltpoint.contracts.work.routing import SUPERVISOR

    found = talk(shell, lambda client: client.agents())
    known: dict[str, Contract] = {agent.name: agent for agent in found.items}
    if found.supervisor is not None:
        known[SUPERVISOR] = found.supervisor
    if name in known:
        shell.show(known[name], outline(in_full(known[name])))
    elif name:
        why = f"there are {', '.join(known) or 'none'}"
        raise HaltpointError("HP-053", f"there is no agent {name!r}", why, "haltpoint agent show")
    else:
        rows = [(agent.name, agent.under_way, agent.description) for agent in found.items]
        shell.table(found, ("agent", "under way", "description"), rows, empty=_NO_AGENTS)
    if found.supervisor is not None and not name:
        shell.note("Tasks that name no agent are routed: haltpoint agent show supervisor")


@verb(app, "check")
def check(shell: Shell, file: _FILE) -> None:
    """Check the agents file and list all its faults."""
    from haltpoint.runtime.config.agents_file import read

    found = read(file)
    names = [agent.name for agent in found.agents]
    shell.show({"agents": names}, note=f"{file} is valid; agents: {found.names}")
