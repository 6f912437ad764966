"""`haltpoint agent`: who works on tasks, and the file that says so."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from haltpoint.cli.errors import CliError
from haltpoint.cli.gateway import talk
from haltpoint.cli.shell import Shell, verb

if TYPE_CHECKING:
    from haltpoint.contracts.views.deployment import AgentsView, AgentView
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
    for line in _lines(found[name]) if supervisor is None else _routing(supervisor, said):
        shell.out.print(line, markup=False)


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


def _lines(agent: "AgentView") -> Iterator[str]:
    under_way = _under_way(agent)
    yield f"{agent.name}  ({under_way})" if under_way else agent.name
    yield f"\n{agent.description}\n"
    yield f"  model: {agent.model or 'the configured one'}"
    tools = "all that are not internal" if agent.tools is None else ", ".join(agent.tools)
    yield f"  tools: {tools}"
    if agent.unserved:
        yield f"  no worker serves: {', '.join(agent.unserved)}"
    if agent.is_tool:
        yield "  a tool has this name, too: a call by this name is one of the tool"
    if agent.agents:
        yield f"  may hand on to: {', '.join(agent.agents)}"
    if agent.skills:
        yield f"  skills: {', '.join(agent.skills)}"
    if agent.verbose:
        yield "  prompts and replies go into the planner's log"
    limits = {name: getattr(agent, name) for name in ("mode", "style", "strikes", "max_turns")}
    limits |= {
        f"budget {name}": getattr(agent.budget, name) for name in agent.budget.__struct_fields__
    }
    yield from (f"  {name}: {_plain(value)}" for name, value in limits.items() if value is not None)
    yield from (
        f"  failed: {one.id}  {one.error.code if one.error else ''} {one.goal}"
        for one in agent.failures
    )


def _routing(said: "Supervisor", found: "AgentsView") -> Iterator[str]:
    """What its strategy reads of the supervisor, with what holds where the file says nothing."""
    from msgspec.structs import asdict

    from haltpoint.runtime.config.agents_file import READ_BY

    yield f"supervisor  (strategy {said.strategy})\n"
    for rule in said.rules:
        looks_at = (
            f"match {rule.match}" if rule.match else "",
            f"context {rule.context}" if rule.context else "",
        )
        yield f"  rule {rule.id}: {rule.agent}  ({', '.join(filter(None, looks_at))})"
    values = asdict(said) | {"agents": said.agents or tuple(one.name for one in found.items)}
    for name in (name for name, readers in READ_BY.items() if said.strategy in readers):
        value = values[name]
        if name not in ("rules", "verbose") and value not in (None, "", ()):
            yield f"  {name}: {', '.join(value) if isinstance(value, tuple) else _plain(value)}"
    if found.unserved:
        yield f"  no worker serves: {', '.join(found.unserved)}"
    if said.verbose:
        yield "  prompts and replies go into the planner's log"


def _plain(value: object) -> str:
    """A value without the point of a whole number."""
    return str(value).removesuffix(".0")
