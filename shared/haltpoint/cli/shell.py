"""What every verb shares: the options that each command takes, where its words go, and how it
ends.
"""

import errno
import functools
import inspect
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec

import typer

from haltpoint.cli.errors import CliError, Exit
from haltpoint.runtime.config.errors import HaltpointError, in_words

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod
    from rich.text import Text

    from haltpoint.runtime.config.settings import GatewaySettings, Settings

P = ParamSpec("P")
Verb = Callable[Concatenate["Shell", P], int | None]


@dataclass(frozen=True)
class Shell:
    """One invocation. Results go to `out` (stdout), everything else to `err` (stderr)."""

    json: bool = False
    quiet: bool = False
    redis_url: str | None = None
    config: Path | None = None
    url: str | None = None
    key: str | None = None

    @cached_property
    def out(self) -> "Console":
        """Results. Plain text without control characters when it is no terminal."""
        from rich.console import Console

        return Console(highlight=False, soft_wrap=not sys.stdout.isatty())

    @cached_property
    def err(self) -> "Console":
        """Notes, progress and errors."""
        from rich.console import Console

        return Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())

    @cached_property
    def settings(self) -> "Settings":
        """The settings as flags, environment and files give them."""
        return self.load()

    def load(self, **flags: object) -> "Settings":
        """The settings with more flags of a verb's own."""
        from haltpoint.runtime.config.settings_sources import load

        return load(self.config, redis_url=self.redis_url, **flags)

    @cached_property
    def gateway_outside(self) -> "GatewaySettings":
        """The gateway's settings, in which the files of the current folder have no say."""
        from haltpoint.runtime.config.settings_sources import gateway_outside

        return gateway_outside(self.config)

    @property
    def interactive(self) -> bool:
        """Whether a person sits there who can be asked."""
        return not self.json and sys.stdin.isatty() and sys.stdout.isatty()

    def note(self, text: str) -> None:
        """Say something that is not the result."""
        if not self.quiet:
            self.err.print(text, markup=False, style="dim")

    def emit(self, document: Any) -> None:
        """One JSON document, or one line of a JSON lines output."""
        print(json.dumps(document, ensure_ascii=False, separators=(",", ":")), flush=True)

    def table(
        self,
        names: Sequence[str],
        rows: Iterable[Sequence["str | Text"]],
        *,
        right: Container[str] = (),
    ) -> None:
        """A table at a terminal, without lines where there are no rows; elsewhere cells between
        tabs. `right` are the columns of numbers; the first one has ids, which are never broken.
        """
        from haltpoint.cli.wording import visible

        if not self.out.is_terminal:
            for row in rows:
                print("\t".join(visible(str(cell)) for cell in row))
            return
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
        for name in names:
            justify: JustifyMethod = "right" if name in right else "left"
            table.add_column(name, justify=justify, overflow="fold", no_wrap=name == names[0])
        for row in rows:
            table.add_row(*(Text(visible(cell)) if isinstance(cell, str) else cell for cell in row))
        if table.row_count:
            self.out.print(table)

    def fail(self, error: HaltpointError) -> None:
        """Say what went wrong: for people on stderr, with --json as a document there too."""
        if self.json:
            document = {"code": error.code, "what": error.what, "why": error.why, "fix": error.fix}
            print(json.dumps({"error": document}, ensure_ascii=False), file=sys.stderr)
            return
        from rich.text import Text

        end = "" if error.why[-1:] in ".?!" else "."
        self.err.print(Text.assemble((error.code, "bold red"), f" {error.what}: {error.why}{end}"))
        self.err.print(Text(error.fix, style="dim"))


def _common(kind: Any, *names: str, **settings: Any) -> Any:
    return Annotated[kind, typer.Option(*names, rich_help_panel="Common", **settings)]


_COMMON: dict[str, Any] = {
    "json": _common(bool, "--json", help="One JSON document or JSON lines on stdout."),
    "quiet": _common(bool, "--quiet", "-q", help="Print only the result."),
    "redis_url": _common(
        str | None, "--redis-url", metavar="URL", help="Redis or Valkey server (default: embedded)."
    ),
    "config": _common(
        Path | None, "--config", metavar="FILE", help="Settings file (default: haltpoint.toml)."
    ),
}
_GATEWAY: dict[str, Any] = {
    "url": _common(str | None, "--url", help="The gateway's address."),
    "key": _common(str | None, "--key", help="An API key of the gateway."),
}


def verb(
    app: typer.Typer, name: str | None = None, *, gateway: bool = False, **settings: Any
) -> Callable[[Verb[P]], Verb[P]]:
    """Make a function a command: it gets a Shell, its own options and the common ones; its result
    is the exit code.
    """
    common = {**_COMMON, **(_GATEWAY if gateway else {})}

    def decorate(function: Verb[P]) -> Verb[P]:
        @functools.wraps(function)
        def command(**arguments: Any) -> None:
            shell = Shell(**{key: arguments.pop(key) for key in common})
            raise typer.Exit(run(shell, lambda: function(shell, **arguments)))  # type: ignore[call-arg]

        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        kinds = inspect.Parameter.KEYWORD_ONLY
        parameters = [one.replace(kind=kinds) for one in own] + [
            inspect.Parameter(key, kinds, default=getattr(Shell, key), annotation=hint)
            for key, hint in common.items()
        ]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        app.command(name, **settings)(command)
        return function

    return decorate


def run(shell: Shell, body: Callable[[], int | None]) -> int:
    """Run a verb to its exit code. Show every error as a message, never as a traceback."""
    try:
        code = body() or Exit.OK
        sys.stdout.flush()
        return code
    except (KeyboardInterrupt, EOFError):  # Ctrl-C, or Ctrl-D at a prompt
        return Exit.INTERRUPTED
    except BrokenPipeError:  # `haltpoint chain list | head` is no error
        _leave_stdout()
        return Exit.OK
    except typer.Exit as leave:
        return leave.exit_code
    except HaltpointError as error:
        return _ended(shell, error)
    except Exception as error:  # noqa: BLE001 - the last line of defence: people see no traceback
        return _ended(shell, _told(error))


def _leave_stdout() -> None:
    """Nothing more is written there: what is left of it would fail once more at the exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    stdout = sys.stdout.fileno()
    os.dup2(nowhere, stdout)


def _ended(shell: Shell, error: HaltpointError) -> int:
    with suppress(OSError):  # stderr may be full, too
        shell.fail(error)
    return error.exit_code if isinstance(error, CliError) else _EXITS.get(error.code, Exit.FAILED)


_EXITS = {
    **dict.fromkeys(
        ("HP-001", "HP-004", "HP-016", "HP-030", "HP-037", "HP-039", "HP-041"), Exit.USAGE
    ),
    **dict.fromkeys(("HP-010", "HP-021"), Exit.UNREACHABLE),
}
_FROM_SERVER = ("redis.exceptions", "haltpoint.runtime.streams.refused")
_NO_SERVER = (
    *("ConnectionError", "TimeoutError", "RefusedForNow"),
    *("AuthenticationError", "AuthorizationError", "NoPermissionError"),
)


def _told(error: Exception) -> HaltpointError:
    """Any other exception in the words of the catalogue. By name: its module may be slow to
    import.
    """
    kind, why = type(error), str(error)
    match kind.__name__:
        case "SettingsError":
            fix = "See where each value comes from: haltpoint config show --origin"
            return CliError("HP-001", "the settings are not valid", why, fix, exit_code=Exit.USAGE)
        case "EmbeddedServerError":
            what = "the embedded server cannot start"
            fix = "Or use your own server: --redis-url URL"
            return CliError("HP-042", what, why, fix, exit_code=Exit.UNREACHABLE)
        case name if name in _NO_SERVER and kind.__module__ in _FROM_SERVER:
            from haltpoint.runtime.streams.connection import unusable

            return unusable(error)
        case _ if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            _leave_stdout()
            what = "the output cannot be written"
            fix = "Make room, or name another file"
            return CliError("HP-041", what, why, fix)
        case _ if isinstance(error, OSError) and error.filename:
            what = f"{error.filename} cannot be used"
            fix = "Correct the path, or its owner and rights"
            return CliError("HP-041", what, error.strerror or why, fix, exit_code=Exit.USAGE)
        case _:
            return _bug(error)


def _bug(error: Exception) -> CliError:
    """An unexpected exception; the traceback goes into a file."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="haltpoint-fault-", suffix=".txt", delete=False
    ) as file:
        traceback.print_exception(error, file=file)
    return CliError(
        "HP-002",
        "the command failed because of a bug in Haltpoint",
        in_words(error),
        f"Please report it and attach {file.name}",
    )
