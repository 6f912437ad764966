"""How a command ends: its exit codes, and the errors that carry one."""

from enum import IntEnum
from typing import Final

from haltpoint.runtime.config.errors import HaltpointError


class Exit(IntEnum):
    """The exit codes of the command line."""

    OK = 0
    FAILED = 1
    USAGE = 2
    WAITING = 3
    UNREACHABLE = 4
    INTERRUPTED = 130


_EXITS: Final = {
    **dict.fromkeys(
        (
            *("HP-001", "HP-004", "HP-016", "HP-030", "HP-037", "HP-039"),
            *("HP-040", "HP-041"),
        ),
        Exit.USAGE,
    ),
    **dict.fromkeys(("HP-010", "HP-011", "HP-021", "HP-025", "HP-042", "HP-050"), Exit.UNREACHABLE),
}


class CliError(HaltpointError):
    """An error that ends a command with `exit_code`."""

    def __init__(self, code: str, what: str, why: str, fix: str, *, exit_code: Exit) -> None:
        super().__init__(code, what, why, fix)
        self.exit_code = exit_code


def exit_of(error: HaltpointError) -> Exit:
    """The exit code of a command that an error ends."""
    if isinstance(error, CliError):
        return error.exit_code
    return _EXITS.get(error.code, Exit.FAILED)


def usage(what: str, why: str, fix: str) -> HaltpointError:
    """What was typed does not fit."""
    return HaltpointError("HP-040", what, why, fix)
