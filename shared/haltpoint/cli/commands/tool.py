"""`haltpoint tool`: what workers can do, and one call of it as a chain of its own."""

from typing import TYPE_CHECKING, Annotated

import typer

from haltpoint.cli.arguments import texts_of
from haltpoint.cli.commands.run import watch_to_end
from haltpoint.cli.errors import CliError
from haltpoint.cli.gateway import talk
from haltpoint.cli.shell import Shell, verb

if TYPE_CHECKING:
    from haltpoint.client import Client
    from haltpoint.contracts.views.deployment import ToolView

_NAME = Annotated[str, typer.Argument(metavar="TOOL")]


def add_to(parent: typer.Typer) -> None:
    """Add the verbs."""
    app = typer.Typer(help="List, show and call tools.", no_args_is_help=True)
    parent.add_typer(app, name="tool")

    @verb(app, "list", gateway=True)
    def list_(shell: Shell) -> None:
        """List the tools that workers serve. A tool disappears a minute after its last worker."""
        found = talk(shell, lambda client: client.tools())
        if shell.json:
            shell.emit({"items": [one.model_dump(mode="json") for one in found], "next_cursor": None})
            return
        from rich.text import Text

        for one in found:
            first_line = one.description.strip().partition("\n")[0]
            if shell.out.is_terminal:
                about = (f"\n    {effects(one)}; {served(one)}", "dim")
                shell.out.print(Text.assemble((one.name, "bold"), f"  {first_line}", about))
            else:
                shell.row(one.name, one.queue or "-", effects(one), first_line)
        if not any(one.queue for one in found):
            shell.note("No worker serves any tool. Start one: haltpoint up tool-worker --tools MODULE")

    @verb(app, "show", gateway=True)
    def show(shell: Shell, name: _NAME) -> None:
        """Show the declaration of one tool."""
        found = talk(shell, lambda client: _find(client, name))
        if shell.json:
            shell.emit(found.model_dump(mode="json"))
            return
        from haltpoint.chain.checks.sources import told

        shell.out.print(f"{found.name}  ({effects(found)}; {served(found)}; {found.timeout:g} s)", markup=False)
        shell.out.print(f"\n{found.description}\n", markup=False)
        for step in found.plan.steps if found.plan else ():
            called = ", ".join(one.tool for one in step.actions)
            shell.out.print(f"  step {step.id}: {called}  {step.description}".rstrip(), markup=False)
        properties, required = found.parameters.get("properties", {}), found.parameters.get("required", [])
        for parameter, schema in properties.items():
            origin = f", from {told(found.provenance[parameter])}" if parameter in found.provenance else ""
            kind = f"{schema.get('type', 'any')}{'' if parameter in required else ', optional'}{origin}"
            shell.out.print(f"  {parameter}: {kind}  {schema.get('description', '')}".rstrip(), markup=False)
        for place, origins in found.provenance.items():
            if place not in properties:
                shell.out.print(f"  {place}: from {told(origins)}", markup=False)
        if found.hooks:
            shell.out.print(f"\nhooks, in order: {', '.join(found.hooks)}", markup=False)

    @verb(app, "call", gateway=True)
    def call(
        shell: Shell,
        name: _NAME,
        arguments: Annotated[
            list[str] | None,
            typer.Argument(
                metavar="[K=V]...", help="Arguments, typed by the tool's schema; lists and objects as JSON."
            ),
        ] = None,
    ) -> int:
        """Call one tool, in a chain of its own."""
        texts = texts_of(arguments or [])

        async def converse(client: "Client") -> int:
            from haltpoint.chain.model.typed import typed

            called = {"tool": name, "arguments": typed(texts, (await _find(client, name)).parameters, text=True)}
            plan = {"steps": [{"id": "call", "required_tools": [name], "actions": [called]}]}
            started = await client.run(task={"goal": f"Call {name}", "plan": plan})
            return await watch_to_end(shell, client, started.id, live=not shell.json)

        return talk(shell, converse)


def effects(tool: "ToolView") -> str:
    """What a call may do, in words, and whether it is a skill's."""
    flags = ("read_only", "idempotent", "destructive", "repeats", "polls", "internal")
    said = ", ".join(name.replace("_", "-") for name in flags if getattr(tool, name))
    words = said or "effects, started at most once"
    return f"skill, {words}" if tool.kind == "skill" else words


def served(tool: "ToolView") -> str:
    """Who carries it out."""
    return f"queue {tool.queue}" if tool.queue else "built in"


async def _find(client: "Client", name: str) -> "ToolView":
    tools = {tool.name: tool for tool in await client.tools()}
    if name not in tools:
        why = f"workers serve {', '.join(tools) or 'none'}"
        raise CliError("HP-053", f"there is no tool {name!r}", why, "haltpoint tool list")
    return tools[name]
