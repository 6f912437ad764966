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


app = typer.Typer(help="List and show agents; check the agents file.", no_args_is_help=True)


@verb(app, "list", gateway=True)
def list_(shell: Shell) -> None:
    """List the agents of the file."""
    found = talk(shell, lambda client: client.agents())
    rows = [(agent.name, agent.under_way, agent.description) for agent in found.items]
    shell.table(found, ("agent", "under way", "description"), rows, empty=_NO_AGENTS)
    if found.supervisor is not None:
        strategy = found.supervisor.strategy
        more = "haltpoint agent show supervisor"
        shell.note(f"Tasks that name no agent are routed by the strategy {strategy} ({more})")


@verb(app, "show", gateway=True)
def show(shell: Shell, name: Annotated[str, typer.Argument(metavar="AGENT", help=_AGENT)]) -> None:
    """Show an agent, or the supervisor: its limits, its open chains, and its latest failures."""
    from haltpoint.cli.wording import outline
    from haltpoint.contracts.doors import in_full
    from haltpoint.contracts.work.routing import SUPERVISOR

    found = talk(shell, lambda client: client.agents())
    known: dict[str, Contract] = {agent.name: agent for agent in found.items}
    if found.supervisor is not None:
        known[SUPERVISOR] = found.supervisor
    if name not in known:
        why = f"there are {', '.join(known) or 'none'}"
        raise HaltpointError("HP-053", f"there is no agent {name!r}", why, "haltpoint agent list")
    shell.show(known[name], outline(in_full(known[name])))


@verb(app, "check")
def check(shell: Shell, file: _FILE) -> None:
    """Check the agents file and list all its faults."""
    from haltpoint.runtime.config.agents_file import read

    found = read(file)
    names = [agent.name for agent in found.agents]
    shell.show({"agents": names}, note=f"{file} is valid; agents: {found.names}")
