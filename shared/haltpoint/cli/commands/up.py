"""`haltpoint up`: one service in the foreground, or all of them under a supervisor."""

from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from haltpoint.cli.errors import usage
from haltpoint.cli.shell import Shell, verb

if TYPE_CHECKING:
    from haltpoint.runtime.config.settings import Settings


class Service(StrEnum):
    """What can be started."""

    PLANNER = "planner"
    EXECUTOR = "executor"
    TOOL_WORKER = "tool-worker"
    GATEWAY = "gateway"


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
        typer.Option(
            "--reload",
            help="Start the tool workers again when their files change.",
        ),
    ] = False,
) -> int:
    """Start all services and an embedded server, or only the services you name."""
    if queue and services and Service.TOOL_WORKER not in services:
        raise usage(
            "--queue is for tool workers",
            "none is started",
            "haltpoint up tool-worker --queue Q",
        )
    if reload and services and Service.TOOL_WORKER not in services:
        raise usage(
            "--reload is for tool workers",
            "none is started",
            "haltpoint up tool-worker --reload",
        )
    settings = shell.load(
        tools=",".join(tools or ()) or None, skills=",".join(skills or ()) or None
    )
    if services and len(services) == 1 and workers == 1 and not reload:
        from haltpoint.cli.local.system import serve

        return serve(services[0], settings, tuple(queue or ()))
    if not services or Service.TOOL_WORKER in services:
        from haltpoint_tool_worker.registry import registry_of

        registry_of(settings, tuple(queue or ()))  # a mistake in it is said alone, and at once
    return _supervised(
        shell, settings, tuple(services or ()), workers, tuple(queue or ()), reload=reload
    )


def _supervised(
    shell: Shell,
    settings: "Settings",
    services: tuple[str, ...],
    workers: int,
    queues: tuple[str, ...],
    *,
    reload: bool,
) -> int:
    """This process keeps the services alive until Ctrl-C or SIGTERM."""
    import asyncio
    import signal

    from haltpoint.cli.gateway import KEY_FILE
    from haltpoint.cli.local.reloading import reload_tools
    from haltpoint.cli.local.system import SERVICES, System

    async def main() -> None:
        loop, whole = asyncio.get_running_loop(), asyncio.current_task()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, whole.cancel if whole else lambda: None)
        shell.note(f"starting {', '.join(services or SERVICES)} ...")
        if settings.redis_url:  # else the embedded server makes it, for its data
            settings.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        system = System(
            settings, services=services or SERVICES, workers=workers, queues=queues, say=shell.note
        )
        async with system:
            shell.note(
                f"ready: {system.url}"
                + ("" if settings.redis_url else f", data in {settings.state_dir}")
            )
            if settings.gateway.admin_key is None and not services:
                shell.note(f"the admin key is in {settings.state_dir / KEY_FILE}; Ctrl-C stops")
            try:
                if reload:
                    await reload_tools(system, shell.note)
                await asyncio.Event().wait()
            finally:
                shell.note("stopping ...")

    with suppress(asyncio.CancelledError):
        asyncio.run(main())
    return 0
