"""`haltpoint agent`: who works on tasks, and the file that says so."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from haltpoint.cli.errors import CliError
from haltpoint.cli.gateway import talk
from haltpoint.cli.shell import Shell, verb

if TYPE_CHECKING:
    from haltpoint.contracts.base import JsonObject
    from haltpoint.contracts.views.deployment import AgentView
    from haltpoint.contracts.work.routing import Supervisor

_FILE = Annotated[Path, typer.Argument(metavar="FILE", help="The agents file (TOML).")]


app = typer.Typer(help="List and show agents; check the agents file.", no_args_is_help=True)


@verb(app, "list", gateway=True)
def list_(shell: Shell) -> None:
    """List the agents of the file."""
    found = talk(shell, lambda client: client.agents())
    if shell.json:
        shell.emit(found.model_dump(mode="json"))
        return
    rows = [(one.name, _under_way(one), one.description) for one in found.items]
    shell.table(("agent", "chains", "description"), rows)
    if found.supervisor is not None:
        how = (
            f"are routed by the strategy {found.supervisor.strategy} (haltpoint "
            "agent show supervisor)"
        )
        shell.note(f"Tasks that name no agent {how}")
    if not found.items:
        shell.note(
            "There are no agents: HALTPOINT_AGENTS_FILE of the services names no "
            "file, or it has none"
        )


@verb(app, "show", gateway=True)
def show(shell: Shell, name: Annotated[str, typer.Argument(metavar="AGENT")]) -> None:
    """Show one agent: what it may do, its chains under way, and those that failed last. Or the
    supervisor.
    """
    from haltpoint.contracts.doors import in_full
    from haltpoint.contracts.work.routing import SUPERVISOR

    said = talk(shell, lambda client: client.agents())
    found = {one.name: one for one in said.items}
    supervisor = said.supervisor if name == SUPERVISOR else None
    if supervisor is None and name not in found:
        why, fix = f"there are {', '.join(found) or 'none'}", "haltpoint agent list"
        raise CliError("HP-053", f"there is no agent {name!r}", why, fix)
    if shell.json:
        shell.emit(in_full(found[name]) if supervisor is None else said.model_dump()["supervisor"])
        return
    shown = in_full(found[name]) if supervisor is None else _read_by(supervisor)
    for line in _lines(shown):
        shell.out.print(line, markup=False, soft_wrap=True)


@verb(app, "check")
def check(shell: Shell, file: _FILE) -> None:
    """Check the agents file, and show everything that is wrong with it."""
    from haltpoint.runtime.config.agents_file import read

    found = read(file)
    if shell.json:
        shell.emit({"agents": [one.name for one in found.agents]})
    else:
        shell.note(f"{file} is valid; agents: {found.names}")


def _under_way(agent: "AgentView") -> str:
    return "" if agent.under_way is None else f"{agent.under_way} under way"


def _lines(shown: "JsonObject", indent: str = "  ") -> Iterator[str]:
    """Each field that says something, under its name in the file."""
    for name, value in shown.items():
        if value is None or value is False or value in ("", [], {}):
            continue
        if isinstance(value, dict):
            yield f"{indent}{name}:"
            yield from _lines(value, f"{indent}  ")
        else:
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
