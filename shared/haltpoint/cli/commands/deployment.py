"""`haltpoint init`, `doctor` and `config show`: what a deployment rests on."""

from typing import TYPE_CHECKING, Annotated

import typer

from haltpoint.cli.errors import Exit
from haltpoint.cli.server import opened, wait
from haltpoint.cli.shell import Shell, verb
from haltpoint.runtime.config.errors import HaltpointError

if TYPE_CHECKING:
    from haltpoint.runtime.service.preflight import Check


app = typer.Typer()
_TOLD_WHEN_WRONG = ("test clock", "functions", "deployment", "policy", "servers")
"""Looks that tell people nothing when all is well; as JSON they are always there."""


@verb(app, "init")
def init(shell: Shell) -> None:
    """Prepare a server: load the function library, create streams and groups.

    It also records the number of partitions, and removes libraries that no service uses. Safe to
    repeat.
    """
    from haltpoint.cli.local.system import initialise
    from haltpoint.runtime.streams.topology import LIBRARY

    wait(initialise(shell.settings))
    partitions = shell.settings.partitions
    note = f"{LIBRARY} is loaded, {partitions} partitions have their streams and groups"
    shell.show({"library": LIBRARY, "partitions": partitions}, note=note)


@verb(app, "doctor")
def doctor(shell: Shell) -> int:
    """Check server, model, tools, services and disk, and say how to fix each problem.

    Exit code 1: there is a problem.
    """
    from haltpoint.cli.local.diagnosis import Scene, look_around
    from haltpoint.runtime.streams.topology import Topology

    try:
        checks = wait(_examine(shell))
    except HaltpointError as error:
        if error.code == "HP-010":  # before the first `haltpoint up`
            before = Scene(shell.settings, Topology(shell.settings.partitions))
            checks = wait(look_around(before))
            _show(shell, checks)
        raise
    return _show(shell, checks)


def _show(shell: Shell, checks: "list[Check]") -> int:
    from haltpoint.cli.local.diagnosis import NONE

    rows = []
    for check in checks:
        if check.ok and check.check in _TOLD_WHEN_WRONG:
            continue
        sign, what = "✓", check.what
        if what.startswith(NONE):
            sign = "·"
        if not check.ok:
            sign = "✗"
            what += f": {check.why} ({check.code}). {check.fix}."
        rows.append((sign, check.check, what))
    ok = all(check.ok for check in checks)
    shell.table({"ok": ok, "checks": checks}, ("", "look", "found"), rows)
    return Exit.OK if ok else Exit.FAILED


config = typer.Typer(help="Show settings and where they come from.", no_args_is_help=True)
app.add_typer(config, name="config")


@verb(config, "show")
def show(
    shell: Shell,
    origin: Annotated[
        bool, typer.Option("--origin", help="Show where each value comes from.")
    ] = False,
) -> None:
    """Show all settings, invalid ones too (exit code 2). Secrets are masked."""
    from haltpoint.runtime.config.settings import SettingsError
    from haltpoint.runtime.config.settings_sources import explain

    found, faults = explain(shell.config, redis_url=shell.redis_url)
    settings = {}
    rows = []
    for one in found:
        settings[one.name] = {"value": one.value, "variable": one.variable, "origin": one.origin}
        rows.append((one.name, one.value, one.origin)[: 2 + origin])
    shell.table(settings, ("setting", "value", "from")[: 2 + origin], rows)
    if faults:
        raise SettingsError(faults)


async def _examine(shell: Shell) -> "list[Check]":
    from haltpoint.cli.local.diagnosis import Scene, history, look_around
    from haltpoint.runtime.service import preflight
    from haltpoint.runtime.service.address import redis_url
    from haltpoint.runtime.store.recovery import Recovery
    from haltpoint.runtime.streams.presence import alive
    from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
    from haltpoint.runtime.views.queues import unserved

    async with opened(shell) as (redis, topology, calls):
        tools = await ToolCatalogue(calls, topology).read()
        url = redis_url(shell.settings)
        checks = await preflight.examine(redis, shell.settings, topology, url)
        checks.append(await preflight.writes(redis, topology))
        checks.append(await preflight.tried("history", "", history(Recovery(calls, topology))))
        services = await alive(redis, topology)
        checks += await look_around(Scene(shell.settings, topology, redis, tools, services))
        for waiting in await unserved(redis, topology, tools.values()):
            checks.append(preflight.failed("workers", waiting.error))
        return checks
