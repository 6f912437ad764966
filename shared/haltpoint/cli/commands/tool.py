"""`haltpoint tool`: what workers can do, and one call of it as a chain of its own."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from haltpoint.cli.arguments import texts_of, values_of
from haltpoint.cli.commands.run import watch_to_end
from haltpoint.cli.errors import CliError
from haltpoint.cli.gateway import talk
from haltpoint.cli.shell import Shell, verb

if TYPE_CHECKING:
    from haltpoint.client import Client
    from haltpoint.contracts.tools import ToolSpec

_NAME = Annotated[str, typer.Argument(metavar="TOOL")]


app = typer.Typer(help="List, show and call tools.", no_args_is_help=True)


@verb(app, "list", gateway=True)
def list_(shell: Shell) -> None:
    """List the tools that workers serve. A tool disappears a minute after its last worker."""
    found = talk(shell, lambda client: client.tools())
    if shell.json:
        from haltpoint.contracts.doors import in_full

        shell.emit({"items": [in_full(tool) for tool in found], "next_cursor": None})
        return
    rows = [
        (one.name, one.queue or "-", effects(one), one.description.strip().partition("\n")[0])
        for one in found
    ]
    shell.table(("tool", "queue", "effects", "description"), rows)
    if not any(one.queue for one in found):
        shell.note("No worker serves any tool. Start one: haltpoint up tool-worker --tools MODULE")


@verb(app, "show", gateway=True)
def show(shell: Shell, name: _NAME) -> None:
    """Show the declaration of one tool."""
    found = talk(shell, lambda client: _find(client, name))
    if shell.json:
        from haltpoint.contracts.doors import in_full

        shell.emit(in_full(found))
        return
    for line in _declaration(found):
        shell.out.print(line, markup=False)


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
    """Call one tool, in a chain of its own."""
    texts = texts_of(arguments or [])

    async def converse(client: "Client") -> int:
        called = {
            "tool": name,
            "arguments": values_of(texts, (await _find(client, name)).parameters),
        }
        plan = {"steps": [{"id": "call", "required_tools": [name], "actions": [called]}]}
        started = await client.run(task={"goal": f"Call {name}", "plan": plan})
        return await watch_to_end(shell, client, started.id, live=not shell.json)

    return talk(shell, converse)


def _declaration(tool: "ToolSpec") -> Iterator[str]:
    """What a tool declares, a line each: its effects, the steps of a skill, parameters, targets and
    origins, hooks.
    """
    from haltpoint.chain.checks.knowledge import origins_in_words

    yield f"{tool.name}  ({effects(tool)}; {served(tool)}; {tool.timeout:g} s)"
    yield f"\n{tool.description}\n"
    for step in tool.plan.steps if tool.plan else ():
        called = ", ".join(action.tool for action in step.actions)
        yield f"  step {step.id}: {called}  {step.description}".rstrip()
    required = tool.parameters.get("required", [])
    for name, schema in tool.parameters.get("properties", {}).items():
        kind = f"{schema.get('type', 'any')}{'' if name in required else ', optional'}"
        yield f"  {name}: {kind}  {schema.get('description', '')}".rstrip()
    if tool.targets:
        yield (
            "\ntargets, about which a person is asked unless they are known: "
            f"{', '.join(tool.targets)}"
        )
    if tool.provenance:
        yield "\norigins:"
    for place, origins in tool.provenance.items():
        yield f"  {place}: from {origins_in_words(origins)}"
    if tool.foreign:
        yield f"\nwritten by strangers: {', '.join(tool.foreign)}"
    if tool.hooks:
        yield f"\nhooks, in order: {', '.join(tool.hooks)}"


def effects(tool: "ToolSpec") -> str:
    """What a call may do, in words, and whether it is a skill's."""
    flags = ("read_only", "idempotent", "destructive", "repeats", "internal")
    said = ", ".join(name.replace("_", "-") for name in flags if getattr(tool, name))
    words = said or "effects, started at most once"
    return f"skill, {words}" if tool.kind == "skill" else words


def served(tool: "ToolSpec") -> str:
    """Who carries it out."""
    return f"queue {tool.queue}" if tool.queue else "built in"


async def _find(client: "Client", name: str) -> "ToolSpec":
    tools = {tool.name: tool for tool in await client.tools()}
    if name not in tools:
        why = f"workers serve {', '.join(tools) or 'none'}"
        raise CliError("HP-053", f"there is no tool {name!r}", why, "haltpoint tool list")
    return tools[name]
