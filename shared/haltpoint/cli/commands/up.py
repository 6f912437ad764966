"""`haltpoint up`: one service in the foreground, or all of them under a supervisor."""

from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from haltpoint.cli.errors import usage
from haltpoint.cli.shell import Shell, verb

if TYPE_CHECKING:
    from haltpoint.runtime.config.settings import Settings


class Service(StrEnum):
    """What can be started; the gateway first, whose imports take longest."""

    GATEWAY = "gateway"
    PLANNER = "planner"
    EXECUTOR = "executor"
    TOOL_WORKER = "tool-worker"


app = typer.Typer()


@verb(app, "up")
def up(
    shell: Shell,
    services: Annotated[
        list[Service] | None,
        typer.Argument(help="Services to start (default: all four and an embedded server)."),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, max=64, help="Number of tool-worker processes.")
    ] = 1,
    queue: Annotated[
        list[str] | None,
        typer.Option(help="Queue for the tool worker; may be repeated (default: all)."),
    ] = None,
    tools: Annotated[
        list[str] | None,
        typer.Option(metavar="MODULE", help="Module with tools; may be repeated."),
    ] = None,
    skills: Annotated[
        list[str] | None,
        typer.Option(metavar="DIR", help="Directory with skills; may be repeated."),
    ] = None,
    reload: Annotated[
        bool,
        typer.Option("--reload", help="Start the tool workers again when their files change."),
    ] = False,
) -> int:
    """Start all services and an embedded server, or only the services you name."""
    names = tuple(services or Service)
    queues = tuple(queue or ())
    for option, given in (("--queue", queue), ("--reload", reload)):
        if given and Service.TOOL_WORKER not in names:
            fix = f"haltpoint up tool-worker {option}"
            raise usage(f"{option} is for tool workers", "none is started", fix)
    modules = ",".join(tools or ()) or None
    folders = ",".join(skills or ()) or None
    settings = shell.load(tools=modules, skills=folders)
    if len(names) == 1 and workers == 1 and not reload:
        from haltpoint.cli.local.system import serve

        return serve(names[0], settings, queues)
    import asyncio

    with suppress(asyncio.CancelledError):
        asyncio.run(_keep_up(shell, settings, names, workers, queues, reload=reload))
    return 0


def _check(settings: "Settings", services: Sequence[str], queues: tuple[str, ...]) -> None:
    """A mistake in what services load is said alone, and at once. Raises HaltpointError."""
    from haltpoint.runtime.config import agents_file, phrases_file, policy_file

    phrases_file.read(settings.phrases_file)
    agents = agents_file.read(settings.agents_file)
    if Service.TOOL_WORKER in services:
        import faulthandler

        from haltpoint_tool_worker.registry import registry_of

        faulthandler.enable(2)  # a module that kills Python says where
        registry_of(settings, queues)
    if Service.GATEWAY in services and settings.policy_file:
        from haltpoint_gateway.notices.channels import channel_of

        for rule in policy_file.read(settings.policy_file).notify:
            channel_of(rule)
    if Service.GATEWAY in services and settings.escalation_handler:
        from haltpoint_gateway.escalations import EscalationHandler

        EscalationHandler.load(settings.escalation_handler)
    if Service.PLANNER in services and (settings.model.provider or agents.models):
        from haltpoint_planner.models import check

        check(settings.model, agents)


async def _keep_up(
    shell: Shell,
    settings: "Settings",
    services: Sequence[str],
    workers: int,
    queues: tuple[str, ...],
    *,
    reload: bool,
) -> None:
    """This process keeps the services alive until Ctrl-C or SIGTERM."""
    import asyncio

    from haltpoint.cli.gateway import KEY_FILE
    from haltpoint.cli.local.reloading import reload_tools
    from haltpoint.cli.local.system import local_system
    from haltpoint.runtime.service.process import on_signals

    _check(settings, services, queues)
    whole, told = asyncio.current_task(), asyncio.Event()

    def stop() -> None:
        """Also where something on the way drops the cancellation, as Python 3.11 may."""
        told.set()
        if whole is not None:
            whole.cancel()

    on_signals(stop)
    place = settings.state_dir
    shell.note(f"starting {', '.join(services)} with the state directory {place} ...")
    if settings.redis_url:  # else the embedded server makes it, for its data
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    async with local_system(
        settings, services=services, workers=workers, queues=queues, say=shell.note
    ) as system:
        shell.note(f"ready: {system.url}")
        if settings.gateway.admin_key is None and Service.GATEWAY in services:
            key = place / KEY_FILE
            shell.note(f"open it in a browser; the admin key is in {key}; Ctrl-C stops")
        try:
            if reload and not told.is_set():
                await reload_tools(system, shell.note)
            await told.wait()
        finally:
            shell.note("stopping ...")
