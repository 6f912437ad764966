"""`haltpoint model check`: whether a real model can do what the planner asks of one."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haltpoint.cli.errors import Exit
from haltpoint.cli.shell import Shell, verb

if TYPE_CHECKING:
    from haltpoint.runtime.config.settings import ModelSettings
    from haltpoint_planner.checking import Finding

_SLOW = 3
"""So many times as long as the slowest trial a server may be silent."""


app = typer.Typer(help="Try a model.", no_args_is_help=True)


@app.callback()
def _model() -> None:
    """Try a model."""


@verb(app, "check")
def check(
    shell: Shell,
    url: Annotated[str | None, typer.Option(help="Its address, which ends in /v1.")] = None,
    name: Annotated[str | None, typer.Option(help="What it is called there.")] = None,
    provider: Annotated[
        str | None, typer.Option(help="openai, or one of haltpoint[providers].")
    ] = None,
) -> int:
    """Ask a model what the planner asks: the configured one, or another. The key of the settings
    goes to the address of the settings alone.
    """
    import asyncio

    settings = _settings(shell, base_url=url, name=name, provider=provider)
    return asyncio.run(_check(shell, settings))


def _settings(shell: Shell, **given: str | None) -> "ModelSettings":
    from haltpoint.runtime.config.settings import ModelSettings

    configured = shell.settings.model
    flags: dict[str, Any] = {field: value for field, value in given.items() if value is not None}
    if flags.get("base_url", configured.base_url) != configured.base_url:
        flags["api_key"] = None
    return ModelSettings.model_validate({**dict(configured), **flags})


async def _check(shell: Shell, settings: "ModelSettings") -> int:
    from haltpoint_planner.checking import Checking
    from haltpoint_planner.connections import Connections

    found: list[Finding] = []
    async with Connections() as connections:
        checking = Checking(settings, connections)
        async for finding in checking.findings():
            found.append(finding)
            if not shell.json:
                _show(shell, finding)
    refused = checking.refused
    works = _works(found)
    advice = _advice(settings, found) if works else {}
    if shell.json:
        findings = list(map(asdict, found))
        shell.emit({"findings": findings, "refused": refused, "settings": advice})
    else:
        for part in refused:
            shell.out.print(f"refuses {part}: the planner learns that and leaves it out")
        for setting, value in advice.items():
            shell.out.print(f"{setting}={value}", markup=False)
    return Exit.OK if works else Exit.FAILED


def _show(shell: Shell, finding: "Finding") -> None:
    from haltpoint.cli.wording import visible

    outcome = f"{finding.outcome:<7}"
    seconds = f"{finding.seconds:6.1f} s"
    what = f"{finding.what:<46}"
    note = visible(finding.note)
    line = "  ".join((outcome, seconds, what, note))
    shell.out.print(line, markup=False, soft_wrap=True)


def _works(found: "list[Finding]") -> bool:
    """Whether it answers, and calls a tool."""
    outcomes = [finding.outcome for finding in found]
    return outcomes[:2] == ["yes", "yes"]


def _advice(settings: "ModelSettings", found: "list[Finding]") -> dict[str, str]:
    """The settings under which this was tried, and a longer silence where it is slow."""
    seconds = [finding.seconds for finding in found]
    silence = round(_SLOW * max(seconds))
    fields = {"BASE_URL": settings.base_url, "NAME": settings.name, "PROVIDER": settings.provider}
    if silence > settings.silence:
        fields["SILENCE"] = str(silence)
    return {f"HALTPOINT_MODEL__{field}": value for field, value in fields.items() if value}
