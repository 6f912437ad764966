"""`haltpoint init`, `doctor`, `queue list` and `config show`: what a deployment rests on."""

from typing import TYPE_CHECKING, Annotated

import typer

from haltpoint.cli.errors import Exit
from haltpoint.cli.shell import Shell, verb
from haltpoint.runtime.config.errors import HaltpointError

if TYPE_CHECKING:
    from haltpoint.runtime.service.preflight import Check
    from haltpoint.runtime.views.queues import QueueState


app = typer.Typer()


@verb(app, "init")
def init(shell: Shell) -> None:
    """Load the function library, create streams and groups, record the number of partitions.
    Safe to repeat.
    """
    import asyncio

    from haltpoint.cli.local.system import initialise
    from haltpoint.runtime.store.library import NAME

    asyncio.run(initialise(shell.settings))
    partitions = shell.settings.partitions
    if shell.json:
        shell.emit({"library": NAME, "partitions": partitions})
    else:
        shell.note(f"{NAME} is loaded, {partitions} partitions have their streams and groups")


@verb(app, "doctor")
def doctor(shell: Shell) -> int:
    """Check server, model, tools, services and disk, and say how to fix each problem. Exit code
    1: it found one.
    """
    import asyncio
    from dataclasses import asdict

    checks = asyncio.run(_examine(shell))
    if shell.json:
        shell.emit(
            {
                "ok": all(check.ok for check in checks),
                "checks": [asdict(check) for check in checks],
            }
        )
    else:
        for check in checks:
            _print(shell, check)
    return Exit.OK if all(check.ok for check in checks) else Exit.FAILED


queue = typer.Typer(help="The queues that tool workers read.", no_args_is_help=True)
app.add_typer(queue, name="queue")


@verb(queue, "list")
def list_(shell: Shell) -> None:
    """List the queues: calls that wait for a worker, that run, and that rest, with the limit
    they wait for.
    """
    import asyncio
    from dataclasses import asdict

    found = asyncio.run(_queues(shell))
    if shell.json:
        shell.emit({"items": [asdict(one) for one in found], "next_cursor": None})
        return
    for one in found:
        _print_queue(shell, one)
    if not found:
        shell.note("No worker has offered a tool within a day, so there are no queues.")


config = typer.Typer(help="Show settings and where they come from.", no_args_is_help=True)
app.add_typer(config, name="config")


@verb(config, "show")
def show(
    shell: Shell,
    origin: Annotated[
        bool, typer.Option("--origin", help="Show where each value comes from.")
    ] = False,
) -> int:
    """Show all settings, invalid ones too (exit code 2). Secrets are masked."""
    from haltpoint.runtime.config.settings_sources import explain

    found, faults = explain(shell.config, redis_url=shell.redis_url)
    if shell.json:
        values = {
            one.name: {"value": one.value, "variable": one.variable, "origin": one.origin}
            for one in found
        }
        shell.emit(values)
    else:
        wide = max(len(one.name) for one in found)
        for one in found:
            where = f"  # {one.origin}, {one.variable}" if origin else ""
            shell.out.print(
                f"{one.name:<{wide}} = {one.value}{where}", markup=False, soft_wrap=True
            )
    if not faults:
        return Exit.OK
    shell.fail(
        HaltpointError(
            "HP-001",
            "the settings are not valid",
            faults,
            "haltpoint config show --origin says where each is set",
        )
    )
    return Exit.USAGE


async def _examine(shell: Shell) -> "list[Check]":
    from haltpoint.cli.local.diagnosis import look_around
    from haltpoint.runtime.service import preflight
    from haltpoint.runtime.service.address import redis_url
    from haltpoint.runtime.streams.broker import UNREACHABLE
    from haltpoint.runtime.streams.connection import AutoPipeline, connect, unusable
    from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
    from haltpoint.runtime.streams.topology import Topology
    from haltpoint.runtime.views.queues import unserved

    url = redis_url(shell.settings)
    topology = Topology(shell.settings.partitions)
    try:
        async with connect(url) as redis:
            async with AutoPipeline(redis, patience=0) as calls:
                tools = await ToolCatalogue(calls, topology).read()
            waiting = [one.error for one in await unserved(redis, topology, tools.values())]
            return [
                *await preflight.examine(redis, shell.settings, topology, url),
                await preflight.writes(redis, topology),
                *await look_around(redis, shell.settings, topology, tools),
                *(
                    preflight.Check(
                        "workers", one.code, ok=False, what=one.what, why=one.why, fix=one.fix
                    )
                    for one in waiting
                ),
            ]
    except UNREACHABLE as error:
        raise unusable(error, url) from error


async def _queues(shell: Shell) -> "list[QueueState]":
    from haltpoint.runtime.service.address import redis_url
    from haltpoint.runtime.streams.broker import UNREACHABLE
    from haltpoint.runtime.streams.connection import AutoPipeline, connect, unusable
    from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
    from haltpoint.runtime.streams.topology import Topology
    from haltpoint.runtime.views.queues import read_queues

    url = redis_url(shell.settings)
    topology = Topology(shell.settings.partitions)
    try:
        async with connect(url) as redis, AutoPipeline(redis, patience=0) as calls:
            await topology.check(redis)
            tools = await ToolCatalogue(calls, topology).listed()
            return await read_queues(redis, topology, (one.spec.queue for one in tools.values()))
    except UNREACHABLE as error:
        raise unusable(error, url) from error


def _print_queue(shell: Shell, one: "QueueState") -> None:
    from haltpoint.cli.wording import visible

    state = (
        f"{one.waiting} waiting, {one.running} running, "
        f"{sum(row.calls for row in one.resting)} resting"
    )
    if one.left_over:
        state += (
            f"; {one.left_over} of its workers' slots are held by calls that do not end (HP-036)"
        )
    shell.out.print(f"{one.name}: {state}", markup=False, soft_wrap=True)
    for row in one.resting:
        shell.out.print(
            f"  {row.calls} for {visible(row.why)}, the first for {row.seconds:.0f} s", markup=False
        )


def _print(shell: Shell, check: "Check") -> None:
    from rich.text import Text

    sign, style = ("✓", "green") if check.ok else ("✗", "red")
    shell.out.print(Text.assemble((sign, style), f" {check.check}: {check.what}"))
    if not check.ok:
        shell.out.print(Text(f"  {check.code}: {check.why}.\n  {check.fix}.", style="dim"))
