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

from haltpoint.chain.model.canonical import spelt_out
from haltpoint.cli.errors import CliError, Exit, exit_of
from haltpoint.runtime.config.errors import HaltpointError, in_words
from haltpoint.runtime.config.key_origin import KEY_VARIABLE, URL_VARIABLE

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod
    from rich.table import Table
    from rich.text import Text

    from haltpoint.runtime.config.settings import GatewaySettings, Settings

_STYLES = {
    **dict.fromkeys(("completed", "done", "yes", "✓"), "green"),
    **dict.fromkeys(("failed", "cancelled", "no", "✗"), "red"),
}
"""Words of a state in a table."""

_ENDLESS = 100_000
"""Columns of a pipe: nothing is wrapped there, for grep."""

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

        return Console(highlight=False, width=None if sys.stdout.isatty() else _ENDLESS)

    @cached_property
    def err(self) -> "Console":
        """Notes, progress and errors."""
        from rich.console import Console

        width = None if sys.stderr.isatty() else _ENDLESS
        return Console(stderr=True, highlight=False, width=width)

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
        """Say something that is not the result; with --json all words are JSON."""
        if not (self.quiet or self.json):
            self.tell(text, "dim")

    def tell(self, text: str, style: str = "") -> None:
        """Say something beside the result that has to be read."""
        from haltpoint.cli.wording import wrapped  # most commands have nothing to tell

        lines = "\n".join(wrapped(text, self.err.width, ""))
        self.err.print(lines, markup=False, style=style, soft_wrap=True)

    def emit(self, document: Any) -> None:
        """One JSON document, or one line of a JSON lines output."""
        from pydantic_core import to_json

        from haltpoint.contracts.doors import in_full

        print(to_json(document, fallback=in_full).decode(), flush=True)

    def show(self, document: Any, lines: "Iterable[str | Text]" = (), note: str = "") -> None:
        """A result as JSON, or in lines, with a note beside them."""
        if self.json:
            self.emit(document)
            return
        for line in lines:
            if isinstance(line, str):
                print(spelt_out(line))
            else:
                self.out.print(line)
        if note:
            self.note(note)

    def table(
        self,
        document: Any,
        names: Sequence[str],
        rows: Iterable[Sequence[object]],
        *,
        empty: str = "",
        right: Container[str] = (),
    ) -> None:
        """A result as JSON, or as a table at a terminal; elsewhere cells between tabs. `right` are
        the columns of numbers; the first one has ids, which are never broken. `empty` is said where
        there are no rows.
        """
        cells = [["" if cell is None else spelt_out(str(cell)) for cell in row] for row in rows]
        if self.json or not cells:
            self.show(document, note=empty)
            return
        if not sys.stdout.isatty():
            for row in cells:
                print(*row, sep="\t")
            return
        self.out.print(_painted(names, cells, right))

    def items(self, found: Sequence[Any], *table: Any, **looks: Any) -> None:
        """The same of a whole list, whose document is a page of it."""
        self.table({"items": found, "next_cursor": None}, *table, **looks)

    def fail(self, error: HaltpointError) -> None:
        """Say what went wrong: for people on stderr, with --json as a document there too."""
        if self.json:
            document = {"code": error.code, "what": error.what, "why": error.why, "fix": error.fix}
            print(json.dumps({"error": document}, ensure_ascii=False), file=sys.stderr)
            return
        from rich.text import Text

        end = "" if error.why[-1:] in ".?!" else "."
        words = f" {error.what}: {error.why}{end}"
        self.err.print(Text.assemble((error.code, "bold red"), words))
        self.err.print(Text(error.fix, style="dim"))


def _painted(names: Sequence[str], rows: Iterable[Sequence[str]], right: Container[str]) -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in names:
        justify: JustifyMethod = "right" if name in right else "left"
        table.add_column(name, justify=justify, overflow="fold", no_wrap=name == names[0])
    for row in rows:
        table.add_row(*map(_cell, row))
    return table


def _cell(text: str) -> "Text":
    """A cell in the colour of the state that it names."""
    from rich.text import Text

    state, _, _ = text.partition(":")
    return Text(text, _STYLES.get(state, ""))


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
    "url": _common(str | None, "--url", envvar=URL_VARIABLE, help="The gateway's address."),
    "key": _common(str | None, "--key", envvar=KEY_VARIABLE, help="An API key of the gateway."),
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
        parameters = [one.replace(kind=kinds) for one in own]
        for key, hint in common.items():
            default = getattr(Shell, key)
            parameters.append(inspect.Parameter(key, kinds, default=default, annotation=hint))
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
    except Exception as error:  # noqa: BLE001 - the last line of defence: people see no traceback
        return ended(shell, error if isinstance(error, HaltpointError) else _told(error))


def ended(shell: Shell, error: HaltpointError) -> int:
    """The exit code, when the error has been shown."""
    with suppress(OSError):  # stderr may be full, too
        shell.fail(error)
    return exit_of(error)


def _leave_stdout() -> None:
    """Nothing more is written there: what is left of it would fail once more at the exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def _told(error: Exception) -> HaltpointError:
    """Any other exception in the words of the catalogue. By name: its module may be slow to
    import.
    """
    why, kind = str(error), type(error)
    if kind.__name__ in _KNOWN:
        code, what, fix = _KNOWN[kind.__name__]
        return HaltpointError(code, what, why, fix)
    if kind.__name__ in _NO_SERVER and kind.__module__ in _FROM_SERVER:
        from haltpoint.runtime.streams.connection import unusable

        return unusable(error)
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        _leave_stdout()
        what, fix = "the output cannot be written", "Make room, or name another file"
        return CliError("HP-041", what, why, fix, exit_code=Exit.FAILED)
    if isinstance(error, OSError) and error.filename:
        what, fix = f"{error.filename} cannot be used", "Name another, or change its rights"
        return HaltpointError("HP-041", what, error.strerror or why, fix)
    return _bug(error)


_KNOWN = {
    "SettingsError": (
        "HP-001",
        "the settings are not valid",
        "See where each value comes from: haltpoint config show --origin",
    ),
    "EmbeddedServerError": (
        "HP-042",
        "the embedded server cannot start",
        "Or use your own server: --redis-url URL",
    ),
}
_FROM_SERVER = ("redis.exceptions", "haltpoint.runtime.streams.refused")
_NO_SERVER = (
    "ConnectionError",
    "TimeoutError",
    "RefusedForNow",
    "CutShort",
    "AuthenticationError",
    "AuthorizationError",
)


def _bug(error: Exception) -> HaltpointError:
    """An unexpected exception; the traceback goes into a file."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="haltpoint-fault-", suffix=".txt", delete=False
    ) as file:
        traceback.print_exception(error, file=file)
    what = "the command failed because of a bug in Haltpoint"
    fix = f"Please report it and attach {file.name}"
    return HaltpointError("HP-002", what, in_words(error), fix)
