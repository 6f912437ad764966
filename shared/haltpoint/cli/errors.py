"""How a command ends: its exit codes, and the errors that carry one."""

from enum import IntEnum

from haltpoint.runtime.config.errors import HaltpointError


class Exit(IntEnum):
    """The exit codes of the command line."""

    OK = 0
    FAILED = 1
    USAGE = 2
    WAITING = 3
    UNREACHABLE = 4
    INTERRUPTED = 130


class CliError(HaltpointError):
    """An error that ends a command with `exit_code`."""

    def __init__(
        self, code: str, what: str, why: str, fix: str, *, exit_code: Exit = Exit.FAILED
    ) -> None:
        super().__init__(code, what, why, fix)
        self.exit_code = exit_code


def usage(what: str, why: str, fix: str) -> CliError:
    """What was typed does not fit."""
    return CliError("HP-040", what, why, fix, exit_code=Exit.USAGE)
