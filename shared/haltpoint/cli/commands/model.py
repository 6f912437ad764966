"""`haltpoint model check`: whether a real model can do what the planner asks of one."""

from typing import TYPE_CHECKING, Annotated

import typer

from haltpoint.cli.errors import Exit, usage
from haltpoint.cli.server import wait
from haltpoint.cli.shell import Shell, verb

if TYPE_CHECKING:
    from haltpoint.runtime.config.settings import ModelSettings
    from haltpoint_planner.checking import Finding

_SLOW = 3
"""So many times as long as the slowest trial a server may be silent."""


_URL = "HALTPOINT_MODEL__BASE_URL"

app = typer.Typer(help="Try a model.", no_args_is_help=True)


@verb(app, "check")
def check(
    shell: Shell,
    url: Annotated[str | None, typer.Option(help="The server's address; it ends in /v1.")] = None,
    name: Annotated[str | None, typer.Option(help="The model's name on that server.")] = None,
    provider: Annotated[
        str | None, typer.Option(help="openai, or one of haltpoint[providers].")
    ] = None,
) -> int:
    """Try the configured model, or another one, with requests like the planner's.

    The API key of the settings is sent only to the address of the settings.
    """
    from pydantic import ValidationError

    from haltpoint.runtime.config.faults import in_places
    from haltpoint.runtime.config.settings import ModelSettings

    configured = shell.settings.model
    given = {"base_url": url, "name": name, "provider": provider}
    flags = {field: value for field, value in given.items() if value is not None}
    key = configured.api_key if url in (None, configured.base_url) else None
    try:
        settings = ModelSettings.model_validate({**dict(configured), **flags, "api_key": key})
    except ValidationError as error:
        fix = f"Correct the option, or its setting ({_URL} or --url)"
        raise usage("the model cannot be checked", in_places(error), fix) from error
    return wait(_check(shell, settings))


async def _check(shell: Shell, settings: "ModelSettings") -> int:
    from haltpoint_planner.checking import Checking
    from haltpoint_planner.connections import Connections

    found: list[Finding] = []
    async with Connections() as connections:
        checking = Checking(settings, connections)
        async for finding in checking.findings():
            found.append(finding)
            if not shell.json:
                shell.show(finding, [_line(finding)])
    refused = checking.refused
    outcomes = [finding.outcome for finding in found]
    works = outcomes[:2] == ["yes", "yes"]  # it answers, and calls a tool
    advice = _advice(settings, found) if works else {}
    lines = [f"refuses {part}: the planner learns that and leaves it out" for part in refused]
    for setting, value in advice.items():
        lines.append(f"{setting}={value}")
    shell.show({"findings": found, "refused": refused, "settings": advice}, lines)
    return Exit.OK if works else Exit.FAILED


def _line(finding: "Finding") -> str:
    seconds = f"{finding.seconds:6.1f} s"
    what = f"{finding.what:<46}"
    note = finding.note.replace(_URL, f"{_URL} or --url")
    return f"{finding.outcome:<7}  {seconds}  {what}  {note}"


def _advice(settings: "ModelSettings", found: "list[Finding]") -> dict[str, str]:
    """The settings under which this was tried, and a longer silence where it is slow."""
    silence = round(_SLOW * max(finding.seconds for finding in found))
    fields = {"BASE_URL": settings.base_url, "NAME": settings.name, "PROVIDER": settings.provider}
    if silence > settings.silence:
        fields["SILENCE"] = str(silence)
    return {f"HALTPOINT_MODEL__{field}": value for field, value in fields.items() if value}
