"""`haltpoint tool`: what workers can do, and one call of it as a chain of its own."""

from typing import TYPE_CHECKING, Annotated

import typer

from haltpoint.cli.commands.run import watch_to_end
from haltpoint.cli.errors import usage
from haltpoint.cli.gateway import talk
from haltpoint.cli.shell import Shell, verb
from haltpoint.cli.task import texts_of
from haltpoint.runtime.config.errors import HaltpointError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from haltpoint.client import Client
    from haltpoint.contracts.tools import ToolSpec
    from haltpoint.contracts.views.chains import ChainView

_NAME = Annotated[str, typer.Argument(metavar="TOOL", help="The tool's name.")]
_NO_WORKER = "No worker serves any tool. Start one: haltpoint up tool-worker --tools MODULE"
_FLAGS = ("read_only", "idempotent", "destructive", "repeats", "internal")


app = typer.Typer(help="List, show and call tools.", no_args_is_help=True)


@verb(app, "list", gateway=True)
def list_(shell: Shell) -> None:
    """List the tools that workers serve. A tool disappears a minute after its last worker."""
    found = talk(shell, lambda client: client.tools())
    rows = []
    for tool in found:
        about, _, _ = tool.description.strip().partition("\n")
        if not tool.undoes:
            rows.append((tool.name, tool.queue or "-", effects(tool), about))
    shell.items(found, ("tool", "queue", "effects", "description"), rows)
    if not any(tool.queue for tool in found):
        shell.note(_NO_WORKER)


@verb(app, "show", gateway=True)
def show(shell: Shell, name: _NAME) -> None:
    """Show the declaration of one tool."""
    from haltpoint.cli.wording import outline
    from haltpoint.contracts.doors import in_full

    tools = talk(shell, lambda client: client.tools())
    tool = _named(name, tools)
    words = {"effects": effects(tool)}
    if any(other.undoes == name for other in tools):
        words["undo"] = "haltpoint chain undo CHAIN"
    shell.show(tool, outline({**words, **in_full(tool)}))


@verb(app, "call", gateway=True)
def call(
    shell: Shell,
    name: _NAME,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[K=V]...",
            help="Arguments, typed by the tool's schema; lists and objects as JSON.",
        ),
    ] = None,
) -> int:
    """Call one tool, in a new chain."""
    texts = texts_of(arguments or [], "an argument", "haltpoint tool show TOOL")

    async def converse(client: "Client") -> "ChainView":
        from haltpoint.chain.model.schemas import argument_faults, read_arguments

        tool = _named(name, await client.tools())
        given = read_arguments(tool, {**texts})
        if faults := argument_faults(tool, given):
            fix = f"haltpoint tool show {name} lists its arguments"
            raise usage(f"{name} does not accept these arguments", "; ".join(faults), fix)
        action = {"tool": name, "arguments": given}
        plan = {"steps": [{"id": "call", "required_tools": [name], "actions": [action]}]}
        started = await client.run(task={"goal": f"Call {name}", "plan": plan})
        return await watch_to_end(shell, client, started.id, live=not shell.json)

    from haltpoint.cli.render.following import exit_code

    ended = talk(shell, converse)
    return exit_code(ended)


def effects(tool: "ToolSpec") -> str:
    """What a call may do, in words, and whether it is a skill's."""
    flags = [name for name in _FLAGS if getattr(tool, name)]
    words = ", ".join(flags).replace("_", "-") or "effects, started at most once"
    return f"skill, {words}" if tool.kind == "skill" else words


def _named(name: str, tools: "Sequence[ToolSpec]") -> "ToolSpec":
    """The tool of this name. Raises HaltpointError HP-053."""
    from haltpoint.runtime.config.faults import near

    for tool in tools:
        if tool.name == name:
            return tool
    known = [tool.name for tool in tools if not tool.undoes]
    why = f"no worker serves it{near(name, known)}"
    raise HaltpointError("HP-053", f"there is no tool {name!r}", why, "haltpoint tool list")
