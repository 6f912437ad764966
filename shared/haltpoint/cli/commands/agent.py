"""`haltpoint agent`: who works on tasks, and the file that says so."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from haltpoint.cli.gateway import talk
from haltpoint.cli.shell import Shell, verb
from haltpoint.runtime.config.errors import HaltpointError

if TYPE_CHECKING:
    from haltpoint.contracts.base import JsonObject
    from haltpoint.contracts.work.routing import Supervisor

_FILE = Annotated[Path, typer.Argument(metavar="FILE", help="The agents file (TOML).")]
_NO_AGENTS = (
    "There are no agents: HALTPOINT_AGENTS_FILE of the services names no file, or it has none"
)


app = typer.Typer(help="List and show agents; check the agents file.", no_args_is_help=True)


@verb(app, "list", gateway=True)
def list_(shell: Shell) -> None:
    """List the agents of the file."""
    found = talk(shell, lambda client: client.agents())
    rows = [(agent.name, agent.under_way, agent.description) for agent in found.items]
    shell.table(found, ("agent", "under way", "description"), rows, empty=_NO_AGENTS)
    if found.supervisor is not None and not shell.json:
        strategy = found.supervisor.strategy
        more = "haltpoint agent show supervisor"
        shell.note(f"Tasks that name no agent are routed by the strategy {strategy} ({more})")


@verb(app, "show", gateway=True)
def show(shell: Shell, name: Annotated[str, typer.Argument(metavar="AGENT")]) -> None:
    """Show one agent: what it may do, its chains under way, and those that failed last. Or the
    supervisor.
    """
    from haltpoint.contracts.doors import in_full
    from haltpoint.contracts.work.routing import SUPERVISOR

    found = talk(shell, lambda client: client.agents())
    if found.supervisor is not None and name == SUPERVISOR:
        shell.show(found.supervisor, _lines(_read_by(found.supervisor)))
        return
    agents = {agent.name: agent for agent in found.items}
    if name not in agents:
        why = f"there are {', '.join(agents) or 'none'}"
        raise HaltpointError("HP-053", f"there is no agent {name!r}", why, "haltpoint agent list")
    shell.show(agents[name], _lines(in_full(agents[name])))


@verb(app, "check")
def check(shell: Shell, file: _FILE) -> None:
    """Check the agents file, and show everything that is wrong with it."""
    from haltpoint.runtime.config.agents_file import read

    found = read(file)
    names = [agent.name for agent in found.agents]
    shell.show({"agents": names}, note=f"{file} is valid; agents: {found.names}")


def _lines(shown: "JsonObject", indent: str = "  ") -> Iterator[str]:
    """Each field that says something, under its name in the file."""
    for name, value in shown.items():
        is_empty = value is None or value is False or value in ("", [], {})
        if isinstance(value, dict) and not is_empty:
            yield f"{indent}{name}:"
            yield from _lines(value, f"{indent}  ")
        elif not is_empty:
            yield f"{indent}{name}: {_plain(value)}"


def _plain(value: object) -> str:
    """A list with commas, and a number without the point of a whole one."""
    from haltpoint.cli.wording import visible

    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    if isinstance(value, dict):
        return " ".join(f"{name}={_plain(inner)}" for name, inner in value.items() if inner)
    return visible(str(value)).removesuffix(".0")


def _read_by(supervisor: "Supervisor") -> "JsonObject":
    """What the strategy reads of it."""
    from haltpoint.contracts.doors import in_full
    from haltpoint.runtime.config.agents_file import READ_BY

    said = in_full(supervisor)
    read = [name for name, readers in READ_BY.items() if supervisor.strategy in readers]
    return {name: said[name] for name in ("strategy", *read)}
