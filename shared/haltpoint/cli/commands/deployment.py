"""`haltpoint init`, `doctor`, `queue list` and `config show`: what a deployment rests on."""

from typing import TYPE_CHECKING, Annotated

import typer

from haltpoint.cli.errors import Exit
from haltpoint.cli.server import opened, wait
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
    from haltpoint.cli.local.system import initialise
    from haltpoint.runtime.store.library import NAME

    wait(initialise(shell.settings))
    partitions = shell.settings.partitions
    note = f"{NAME} is loaded, {partitions} partitions have their streams and groups"
    shell.show({"library": NAME, "partitions": partitions}, note=note)


@verb(app, "doctor")
def doctor(shell: Shell) -> int:
    """Check server, model, tools, services and disk, and say how to fix each problem. Exit code
    1: it found one.
    """
    from haltpoint.cli.local.diagnosis import look_before

    try:
        checks = wait(_examine(shell))
    except HaltpointError as error:
        if error.code == "HP-010":
            _show(shell, wait(look_before(shell.settings)), ok=False)
        raise
    ok = all(check.ok for check in checks)
    _show(shell, checks, ok=ok)
    return Exit.OK if ok else Exit.FAILED


def _show(shell: Shell, checks: "list[Check]", *, ok: bool) -> None:
    rows = [("✓" if check.ok else "✗", check.check, _found(check)) for check in checks]
    shell.table({"ok": ok, "checks": checks}, ("", "look", "found"), rows)


queue = typer.Typer(help="The queues that tool workers read.", no_args_is_help=True)
app.add_typer(queue, name="queue")


@verb(queue, "list")
def list_(shell: Shell) -> None:
    """List the queues: calls that wait for a worker, that run, and that rest, with the limit
    they wait for.
    """
    found = wait(_queues(shell))
    rows = []
    for one in found:
        resting = sum(row.calls for row in one.resting)
        rows.append((one.name, one.waiting, one.running, resting, held_up(one)))
    numbers = ("waiting", "running", "resting")
    empty = "No worker has offered a tool within a day, so there are no queues."
    document = {"items": found, "next_cursor": None}
    shell.table(document, ("queue", *numbers, "held up by"), rows, empty=empty, right=numbers)


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
    settings = {}
    rows = []
    for one in found:
        settings[one.name] = {"value": one.value, "variable": one.variable, "origin": one.origin}
        where = (one.origin, one.variable) if origin else ()
        rows.append((one.name, one.value, *where))
    shell.table(settings, ("setting", "value", "from", "variable")[: len(rows[0])], rows)
    if not faults:
        return Exit.OK
    fix = "haltpoint config show --origin says where each is set"
    shell.fail(HaltpointError("HP-001", "the settings are not valid", faults, fix))
    return Exit.USAGE


async def _examine(shell: Shell) -> "list[Check]":
    from haltpoint.cli.local.diagnosis import look_around
    from haltpoint.runtime.service import preflight
    from haltpoint.runtime.service.address import redis_url
    from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
    from haltpoint.runtime.views.queues import unserved

    async with opened(shell) as (redis, topology, calls):
        tools = await ToolCatalogue(calls, topology).read()
        url = redis_url(shell.settings)
        checks = await preflight.examine(redis, shell.settings, topology, url)
        checks.append(await preflight.writes(redis, topology))
        checks += await look_around(redis, shell.settings, topology, tools)
        for waiting in await unserved(redis, topology, tools.values()):
            checks.append(preflight.failed("workers", waiting.error))
        return checks


async def _queues(shell: Shell) -> "list[QueueState]":
    from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
    from haltpoint.runtime.views.queues import read_queues

    async with opened(shell) as (redis, topology, calls):
        await topology.check(redis)
        tools = await ToolCatalogue(calls, topology).listed()
        return await read_queues(redis, topology, (one.spec.queue for one in tools.values()))


def held_up(queue: "QueueState") -> str:
    """What calls of this queue wait for, in words."""
    reasons = [f"{row.calls} for {row.why}" for row in queue.resting]
    if queue.left_over:
        held = f"{queue.left_over} of its workers' slots are held"
        reasons.append(f"{held} by calls that do not end (HP-036)")
    return "; ".join(reasons)


def _found(check: "Check") -> str:
    wrong = f": {check.why} ({check.code}). {check.fix}."
    return check.what if check.ok else check.what + wrong
