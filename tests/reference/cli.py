"""docs/reference/cli.md: every command, out of the command line itself."""

import re
from collections.abc import Iterator
from enum import Enum, EnumType
from typing import Any, Final, cast, get_args

import typer.main

from haltpoint.cli.main import app
from haltpoint.contracts.base import JsonObject
from tests.reference.markdown import code, page, prose, table, words

INTRODUCTION: Final = """\
`haltpoint --help` lists the commands, `haltpoint COMMAND --help` explains one. Results go to
stdout, notes and errors to stderr. An id may be shortened to a unique beginning.

| exit code | meaning |
| --- | --- |
| 0 | it is done |
| 1 | it failed: a chain, a check, a request |
| 2 | the command line or the settings are not valid |
| 3 | the chain waits for a person |
| 4 | the gateway, the server or the model cannot be reached |"""
COMMON: Final = "Common"
"""The panel of the options that each command takes."""


def written() -> str:
    """The page."""
    root = typer.main.get_command(app)
    parts = [part for path, command in commands(root, "haltpoint") for part in of(path, command)]
    return page("Commands", INTRODUCTION, "## Options of each command", *common(root), *parts)


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every command below this one that does something, by its words."""
    for name, child in sorted(getattr(command, "commands", {}).items()):
        if child.hidden:
            continue
        if hasattr(child, "commands"):
            yield from commands(child, f"{path} {name}")
        else:
            yield f"{path} {name}", child


def common(root: Any) -> tuple[str, str]:
    """The options that every command takes, and those that talk to a gateway."""
    found: JsonObject = {}
    for _, command in commands(root, "haltpoint"):
        found |= {option.name: option for option in command.params if is_common(option)}
    note = "`--url` and `--key` are options of commands that talk to a gateway."
    return table(("option", "meaning"), map(row, found.values())), note


def is_common(parameter: Any) -> bool:
    """Whether each command has it."""
    return getattr(parameter, "rich_help_panel", None) == COMMON


def of(path: str, command: Any) -> Iterator[str]:
    """The section of one command."""
    own = [
        parameter
        for parameter in command.params
        if not is_common(parameter) and parameter.name != "help"
    ]
    arguments = [parameter for parameter in own if not is_option(parameter)]
    options = [parameter for parameter in own if is_option(parameter)]
    yield f"## {path}"
    yield prose(command.help)
    usage = " ".join((path, *map(usage_of, arguments), *(["[OPTIONS]"] if options else [])))
    yield f"    {usage}"
    if own:
        yield table(("argument or option", "meaning"), map(row, arguments + options))


def is_option(parameter: Any) -> bool:
    """Whether it has a name that is typed."""
    return hasattr(parameter, "is_flag")


def usage_of(argument: Any) -> str:
    """An argument as it is typed."""
    name = named(argument)
    return name if argument.required else f"[{name}]"


def named(argument: Any) -> str:
    """The name of an argument, with dots where there may be several."""
    name = re.sub(r"[\[\].]", "", argument.metavar or argument.name).upper()
    return f"{name}..." if argument.nargs == -1 else name


def row(parameter: Any) -> tuple[str, str]:
    """One line of a table: how it is written, and what it means."""
    if not is_option(parameter):
        return code(named(parameter)), words(meaning(parameter))
    names = ", ".join(sorted(parameter.opts, key=len, reverse=True))
    value = "" if parameter.is_flag else f" {value_of(parameter)}"
    return code(f"{names}{value}"), words(meaning(parameter))


def meaning(parameter: Any) -> str:
    """What help says, with the default where there is one to say."""
    text = parameter.help or " or ".join(f"`{choice}`" for choice in choices(parameter))
    default = parameter.default if parameter.show_default is True else None
    is_said = default in (None, False, (), "") or callable(default) or "efault" in text
    return text if is_said else f"{text} Default: `{default}`."


def choices(parameter: Any) -> list[str]:
    """What may be written, where that is a closed set."""
    kind = annotated(parameter)
    is_closed = isinstance(kind, EnumType)
    return [choice.value for choice in cast("type[Enum]", kind)] if is_closed else []


def annotated(parameter: Any) -> Any:
    """The type of one value."""
    kind = parameter.type_descriptor.annotation
    return next((part for part in get_args(kind) if part is not type(None)), kind)


def value_of(option: Any) -> str:
    """What is written behind an option."""
    kinds = {"Path": "PATH", "int": "NUMBER"}
    kind = getattr(annotated(option), "__name__", "")
    return option.metavar or "|".join(choices(option)) or kinds.get(kind, "TEXT")
